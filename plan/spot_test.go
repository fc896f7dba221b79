package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/policy"
)

// announced has the cloud announce something to a node's machine.
func announced(kind string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		notice := cluster.Notice{ID: "e", Kind: kind, Deadline: Start.Add(30 * time.Second)}
		n.Spec.Taints = append(n.Spec.Taints, notice.Taint())
		n.Annotations = map[string]string{cluster.NoticeAnnotation: notice.Annotation()}
	}
}

func TestASpotSizeRestsWhereItIsTakenAway(t *testing.T) {
	spot := func(change ...func(*cluster.Group)) *cluster.Group {
		g := Group("a", 0, 5, Machine("0", "a-0"))
		g.Spot, g.PriceUSDPerHour = true, 0.01
		for _, c := range change {
			c(g)
		}
		return g
	}
	regular := func() *cluster.Group {
		g := Group("b", 0, 5)
		g.PriceUSDPerHour = 1
		return g
	}
	for name, c := range map[string]struct {
		kind   string
		group  *cluster.Group
		others []*cluster.Group
		want   []string
	}{
		"another group has the replacement":                 {"Preempt", spot(), []*cluster.Group{regular()}, []string{"grow b 0 -> 1"}},
		"without another group the same one is asked":       {"Preempt", spot(), nil, []string{"grow a 1 -> 2"}},
		"another group that is full is none":                {"Preempt", spot(), []*cluster.Group{Group("b", 0, 0)}, []string{"grow a 1 -> 2"}},
		"another group of the size that is spot is none":    {"Preempt", spot(), []*cluster.Group{func() *cluster.Group { g := regular(); g.Spot = true; return g }()}, []string{"grow a 1 -> 2"}},
		"a reboot says nothing of the size":                 {"Reboot", spot(), []*cluster.Group{regular()}, []string{"grow a 1 -> 2"}},
		"a machine that is no spot machine is not the size": {"Preempt", spot(func(g *cluster.Group) { g.Spot = false }), []*cluster.Group{regular()}, []string{"grow a 1 -> 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			objects := Objects(Node("a-0", announced(c.kind)), Pod("p", CPU("3")))
			groups := append([]*cluster.Group{c.group}, c.others...)
			p, m := plan.Decide(cluster.New(Start, objects, groups), policy.Default(), plan.Memory{})
			if diff := cmp.Diff(c.want, told(p)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			_, again := plan.Decide(cluster.New(Start.Add(time.Minute), objects, groups), policy.Default(), m)
			if was, is := m.Groups["a"].Backoff, again.Groups["a"].Backoff; was != is {
				t.Errorf("the same machine counts twice: %v, then %v", was, is)
			}
		})
	}
}
