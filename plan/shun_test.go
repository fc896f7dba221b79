package plan_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// shunned is a node that bears the soft taint.
func shunned(n *corev1.Node) {
	n.Spec.Taints = append(n.Spec.Taints, cluster.CandidateSince(Start.Add(-time.Minute)))
}

// softened are the nodes that get a soft taint or lose it, in order.
func softened(p action.Plan) []string {
	lines := []string{}
	for _, a := range p.Actions {
		switch a := a.(type) {
		case action.CandidateTaint:
			lines = append(lines, "taint "+a.Node)
		case action.CandidateUntaint:
			lines = append(lines, "untaint "+a.Node)
		}
	}
	return lines
}

// cooling is a memory of a scale-up a minute ago.
func cooling(m memory.Memory) memory.Memory {
	m.LastGrowth = Start.Add(-time.Minute)
	return m
}

func TestPodsAreSteeredAwayFromNodesThatCouldGo(t *testing.T) {
	job := OwnedBy("Job", "j")
	busy := Pod("busy", CPU("3"), On("a-0"), job)
	cases := map[string]struct {
		objects []any
		group   func(*cluster.Group)
		kept    memory.Memory
		allowed func(*policy.Policy)
		want    []string
	}{
		"an idle node at once, long before its time": {
			objects: []any{busy, Node("a-0"), Node("a-1")}, want: []string{"taint a-1"},
		},
		"and only once": {
			objects: []any{busy, Node("a-0"), Node("a-1", shunned)}, want: []string{},
		},
		"an underused node whose pods may move": {
			objects: []any{Pod("few", On("a-1")), Pod("half", CPU("2500m"), On("a-0")), Node("a-0"), Node("a-1")}, want: []string{"taint a-1"},
		},
		"not a node that a Job keeps": {
			objects: []any{Pod("few", On("a-1"), job), busy, Node("a-0"), Node("a-1")}, want: []string{},
		},
		"a node that is needed again takes pods like any other": {
			objects: []any{busy, Node("a-0", shunned), Node("a-1")}, want: []string{"untaint a-0", "taint a-1"},
		},
		"so does one that a pending pod fits": {
			objects: []any{busy, Pod("p", CPU("2")), Node("a-0"), Node("a-1", shunned)}, want: []string{"untaint a-1"},
		},
		"a node that its group cannot spare is not shunned": {
			objects: []any{busy, Node("a-0"), Node("a-1")}, group: func(g *cluster.Group) { g.Min = 2 }, want: []string{},
		},
		"nor one that steps on the ladder now": {
			objects: []any{busy, Node("a-0"), Node("a-1")}, kept: removable("a-1"), want: []string{},
		},
		"nor one that is kept by hand": {
			objects: []any{busy, Node("a-0"), Node("a-1", func(n *corev1.Node) {
				n.Annotations = map[string]string{"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}
			})},
			want: []string{},
		},
		"nor one that kubelet is silent about": {
			objects: []any{busy, Node("a-0"), Node("a-1", NotReady(Start.Add(-time.Hour)))}, want: []string{},
		},
		"a node that is nobody's stays as it is": {
			objects: []any{busy, Node("a-0"), Node("x", shunned)}, want: []string{},
		},
		"one that leaves keeps the taint": {
			objects: []any{busy, Node("a-0"), Node("a-1", Removing(Start.Add(-time.Second), marked("1")), shunned)}, want: []string{},
		},
		"one that waits until others are gone": {
			objects: []any{busy, Node("a-0"), Node("a-1"), Node("a-2")}, kept: removable("a-1", "a-2"), allowed: func(p *policy.Policy) { p.Removal.Parallelism = 1 },
			want: []string{"taint a-2"},
		},
		"one that waits after a scale-up": {
			objects: []any{busy, Node("a-0"), Node("a-1")}, kept: cooling(removable("a-1")), want: []string{"taint a-1"},
		},
		"without removal no node is shunned": {
			objects: []any{busy, Node("a-0"), Node("a-1", shunned), Node("a-2")}, allowed: func(p *policy.Policy) { p.Removal.Enabled = false }, want: []string{"untaint a-1"},
		},
		"a count of 0 puts none on and takes those off that are there": {
			objects: []any{busy, Node("a-0"), Node("a-1", shunned), Node("a-2")}, allowed: func(p *policy.Policy) { p.Removal.MaxCandidateTaints = 0 }, want: []string{"untaint a-1"},
		},
		"a cycle writes no more often than allowed, and frees nodes first": {
			objects: []any{busy, Node("a-0", shunned), Node("a-1"), Node("a-2")}, allowed: func(p *policy.Policy) { p.Removal.MaxCandidateTaints = 2 },
			want: []string{"untaint a-0", "taint a-1"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			allowed := policy.Default()
			if c.allowed != nil {
				c.allowed(allowed)
			}
			g := three()
			if c.group != nil {
				c.group(g)
			}
			p, _ := plan.Decide(known(cluster.New(Start, Objects(c.objects...), []*cluster.Group{joined(g, c.objects)})), allowed, c.kept)
			if diff := cmp.Diff(c.want, softened(p)); diff != "" {
				t.Errorf("(-want +got):\n%s%s", diff, fmt.Sprint(p.Verdicts))
			}
			complete(t, p)
		})
	}
}
