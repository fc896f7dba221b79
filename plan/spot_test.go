package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/memory"
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
			p, m := plan.Decide(cluster.New(Start, objects, groups), policy.Default(), memory.Memory{})
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

func TestASpotMachineThatLeavesUnannouncedCountsAsTakenAway(t *testing.T) {
	gone := func(g *cluster.Group) { g.Instances, g.Capacity = g.Instances[1:], 1 }
	in := func(state cluster.State) func(*cluster.Group) {
		return func(g *cluster.Group) { g.Instances[0].State, g.Capacity = state, 1 }
	}
	named := func(n *corev1.Node) {
		n.Spec.ProviderID, n.Status.NodeInfo.SystemUUID = "cloud:///machines/0", "vm-0"
	}
	silent := Node("a-0", NotReady(Start.Add(-time.Minute)), named)
	other, same := []string{"grow b 0 -> 1"}, []string{"grow a 1 -> 2"}
	for name, c := range map[string]struct {
		node  *corev1.Node
		group func(*cluster.Group)
		want  []string // of all that is done the growth
		rests bool     // the size, for that reason
	}{
		"it is being deleted":                   {Node("a-0"), in(cluster.StateDeleting), other, true},
		"it is switched off":                    {silent, func(g *cluster.Group) { in(cluster.StateStopped)(g); g.Capacity = 2 }, other, true},
		"it is in no list any more":             {silent, gone, other, true},
		"sluice itself has it deleted":          {Node("a-0", Removing(Start.Add(-time.Minute), marked("0"))), in(cluster.StateDeleting), same, false},
		"its node is Ready, and the list lacks": {Node("a-0", named), gone, same, false},
		"the list is not whole":                 {silent, func(g *cluster.Group) { gone(g); g.Capacity = 2 }, nil, false},
		"the list is incomplete":                {silent, func(g *cluster.Group) { gone(g); g.Read.Complete = false }, []string{"grow b 0 -> 1"}, false},
		"it is no spot machine":                 {Node("a-0"), func(g *cluster.Group) { in(cluster.StateDeleting)(g); g.Spot = false }, same, false},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := Group("a", 0, 5, Machine("0", "a-0"), Machine("9", "a-9")), Group("b", 0, 5)
			a.Spot, a.PriceUSDPerHour, b.PriceUSDPerHour = true, 0.01, 1
			c.group(a)
			objects := Objects(c.node, Pod("w", On("a-0"), CPU("3")), Node("a-9"), Pod("x", On("a-9"), CPU("3")), Pod("p", CPU("3")))
			p, m := plan.Decide(cluster.New(Start, objects, []*cluster.Group{a, b}), policy.Default(), memory.Memory{Since: Start.Add(-time.Hour)})
			var grown []string
			for _, line := range told(p) {
				if strings.HasPrefix(line, "grow") {
					grown = append(grown, line)
				}
			}
			if diff := cmp.Diff(c.want, grown); diff != "" {
				t.Errorf("growth (-want +got):\n%s", diff)
			}
			if code := m.Groups["a"].Backoff.Code; (code == "SpotTaken") != c.rests {
				t.Errorf("back-off %q, want SpotTaken: %t", code, c.rests)
			}
			unread := *a
			unread.Capacity++ // and lists one less
			later := m
			for i, g := range []*cluster.Group{a, &unread, a} { // a list that is not whole in between does not make it two
				_, later = plan.Decide(cluster.New(Start.Add(time.Duration(i+1)*time.Minute), objects, []*cluster.Group{g, b}), policy.Default(), later)
			}
			if was, is := m.Groups["a"].Backoff, later.Groups["a"].Backoff; was != is {
				t.Errorf("the same machine counts twice: %v, then %v", was, is)
			}
		})
	}
}
