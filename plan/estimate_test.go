package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/grow"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// sized is an empty group of machines with so many cores.
func sized(id, cores string, most int, price float64) *cluster.Group {
	g := Group(id, 0, most)
	g.Template.Status.Capacity = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cores), corev1.ResourceMemory: resource.MustParse("64Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	g.Template.Status.Allocatable = g.Template.Status.Capacity
	g.PriceUSDPerHour = price
	return g
}

func TestAnExpanderThatIsSetIsObeyed(t *testing.T) {
	ranking := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: cluster.RankingName}, Data: map[string]string{"priorities": "10: [large]\n1: [small]\n"}}
	for name, tc := range map[string]struct {
		chain []policy.Expander
		want  []string
	}{
		"none: the mix that costs least":      {nil, []string{"grow small 0 -> 2"}},
		"least-nodes: one large machine":      {[]policy.Expander{policy.LeastNodes}, []string{"grow large 0 -> 1"}},
		"least-waste: machines that are full": {[]policy.Expander{policy.LeastWaste}, []string{"grow small 0 -> 2"}},
		"price: what costs least":             {[]policy.Expander{policy.Price}, []string{"grow small 0 -> 2"}},
		"priority: what the operator ranks":   {[]policy.Expander{policy.Priority}, []string{"grow large 0 -> 1"}},
		"most-pods, then least-nodes":         {[]policy.Expander{policy.MostPods, policy.LeastNodes}, []string{"grow large 0 -> 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			objects := Objects(pods(8)...)
			objects.ConfigMaps = []*corev1.ConfigMap{ranking}
			allowed := policy.Default()
			allowed.Growth.Expanders = tc.chain
			p, _ := plan.Decide(cluster.New(Start, objects, []*cluster.Group{sized("large", "16", 5, 0.9), sized("small", "4", 5, 0.2)}), allowed, memory.Memory{})
			if diff := cmp.Diff(tc.want, told(p)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatAnExpanderLeavesIsServedByTheNextGroupAtOnce(t *testing.T) {
	allowed := policy.Default()
	allowed.Growth.Expanders = []policy.Expander{policy.LeastNodes}
	groups := []*cluster.Group{sized("large", "16", 1, 0.9), sized("small", "4", 5, 0.2)}
	p, _ := plan.Decide(cluster.New(Start, Objects(pods(24)...), groups), allowed, memory.Memory{})
	if diff := cmp.Diff([]string{"grow large 0 -> 1", "grow small 0 -> 2"}, told(p)); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}

func TestAnExpandersServerIsAskedOnce(t *testing.T) {
	allowed := policy.Default()
	allowed.Growth.Expanders = []policy.Expander{policy.GRPC}
	s := cluster.New(Start, Objects(pods(8)...), []*cluster.Group{sized("large", "16", 5, 0.9), sized("small", "4", 5, 0.2)})
	p, m := plan.Decide(s, allowed, memory.Memory{})
	if len(p.Actions) != 1 || action.KindOf(p.Actions[0]) != "AskExpander" {
		t.Fatalf("actions %v, want one question", p.Actions)
	}
	m = m.After(p, []memory.Result{{Status: memory.Accepted, At: Start, Chosen: []cluster.GroupID{"large"}}}, allowed)
	p, _ = plan.Decide(s, allowed, m)
	if diff := cmp.Diff([]string{"grow large 0 -> 1"}, told(p)); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}

// TestSimilarGroupsShareWhatAnExpanderChooses has two groups of one size in two zones, where the operator wants like groups balanced.
func TestSimilarGroupsShareWhatAnExpanderChooses(t *testing.T) {
	in := func(zone string, change ...func(*corev1.Node)) *cluster.Group {
		g := sized("zone-"+zone, "4", 9, 0.2)
		g.Template.Labels = map[string]string{corev1.LabelTopologyZone: zone}
		for _, c := range change {
			c(g.Template)
		}
		return g
	}
	rack := func(n *corev1.Node) { n.Labels["rack"] = "7" }
	onRack := func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"rack": "7"} }
	for name, tc := range map[string]struct {
		pods    []any
		groups  []*cluster.Group
		balance bool
		want    []string
	}{
		"evenly": {
			pods(24), []*cluster.Group{in("1"), in("2")}, true, []string{"grow zone-1 0 -> 3", "grow zone-2 0 -> 3"},
		},
		"not where nobody asked for it": {
			pods(24), []*cluster.Group{in("1"), in("2")}, false, []string{"grow zone-1 0 -> 6"},
		},
		"not where pods would lose the place near each other": {
			pods(24, Labelled("app", "near"), nearTo("near")), []*cluster.Group{in("1"), in("2")}, true, []string{"grow zone-1 0 -> 6"},
		},
		"not with a group that does not take them, however alike": {
			pods(24, onRack), []*cluster.Group{in("1", rack), in("2")}, true, []string{"grow zone-1 0 -> 6"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			allowed := policy.Default()
			allowed.Growth.Expanders = []policy.Expander{policy.MostPods, policy.LeastNodes}
			allowed.Growth.Balance.Similar, allowed.Growth.Balance.IgnoreLabels = tc.balance, []string{"rack"}
			p, _ := plan.Decide(cluster.New(firstByLot(t, tc.groups), Objects(tc.pods...), tc.groups), allowed, memory.Memory{})
			if diff := cmp.Diff(tc.want, told(p)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

// firstByLot is a time at which the first of the groups wins the lot among all of them.
func firstByLot(t *testing.T, groups []*cluster.Group) time.Time {
	t.Helper()
	var options []grow.Option
	for _, g := range groups {
		options = append(options, grow.Option{Group: g.ID, Nodes: 1})
	}
	for i := range 100 {
		at := Start.Add(time.Duration(i) * time.Second)
		if grow.Expand(options, []policy.Expander{policy.Random}, grow.Ranking{}, nil, at).Group == groups[0].ID {
			return at
		}
	}
	t.Fatal("the first group never wins the lot")
	return Start
}
