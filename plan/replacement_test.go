package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// TestNoReplacementIsBoughtBeyondALimitOfTheCluster has a node whose pod would run on a cheaper machine.
func TestNoReplacementIsBoughtBeyondALimitOfTheCluster(t *testing.T) {
	for most, want := range map[int][]string{0: {"grow b 0 -> 1"}, 2: {"grow b 0 -> 1"}, 1: {}} {
		a, b := Group("a", 0, 5, Machine("0", "a-0")), Group("b", 0, 5)
		a.Size, a.PriceUSDPerHour, b.Size, b.PriceUSDPerHour = "Standard_D8s_v5", 3, "Standard_D4s_v5", 1
		allowed := policy.Default()
		allowed.Removal.Consolidation.Groups, allowed.Growth.Max.Nodes = []cluster.GroupID{policy.AllGroups}, most
		m := memory.Memory{
			Since: Start.Add(-3 * time.Hour), Removing: memory.Removing{Consolidation: memory.Consolidation{Node: "a-0", Since: Start.Add(-time.Hour), Group: "b", Saving: 2}},
		}
		s := cluster.New(Start, Objects(Node("a-0"), Pod("p", On("a-0"), CPU("3"), OwnedBy("ReplicaSet", "o"))), []*cluster.Group{a, b})
		p, _ := plan.Decide(s, allowed, m)
		if d := cmp.Diff(want, told(p)); d != "" {
			t.Errorf("at most %d nodes (-want +got):\n%s", most, d)
		}
	}
}

// TestANodeThatWaitsForItsReplacementIsLookedAtAnew has the replacement of node a-0 come, Ready and empty, while something else has
// changed.
func TestANodeThatWaitsForItsReplacementIsLookedAtAnew(t *testing.T) {
	for name, c := range map[string]struct {
		asked   time.Duration // ago
		emptied bool          // another node of its group was, a minute ago
		owner   string        // of its pod
		want    string        // what becomes of the consolidation
	}{
		"nothing has":                      {asked: 5 * time.Minute, owner: "ReplicaSet", want: "moves"},
		"it came in its last moment":       {asked: 30 * time.Minute, owner: "ReplicaSet", want: "moves"},
		"it took too long":                 {asked: 31 * time.Minute, owner: "ReplicaSet", want: "given up"},
		"another node was emptied already": {asked: 5 * time.Minute, emptied: true, owner: "ReplicaSet", want: "waits"},
		"its pod may not be evicted":       {asked: 5 * time.Minute, owner: "Job", want: "given up"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := Group("a", 0, 5, Machine("0", "a-0")), Group("b", 0, 5, Machine("1", "b-0"))
			a.Size, a.PriceUSDPerHour, b.Size, b.PriceUSDPerHour = "Standard_D8s_v5", 3, "Standard_D4s_v5", 1
			allowed := policy.Default()
			allowed.Removal.Consolidation.Groups = []cluster.GroupID{policy.AllGroups}
			m := memory.Memory{
				Since: Start.Add(-time.Hour),
				Removing: memory.Removing{Consolidation: memory.Consolidation{
					Node: "a-0", Since: Start.Add(-time.Hour), Group: "b", Asked: Start.Add(-c.asked), Saving: 2,
				}},
			}
			young := func(n *corev1.Node) { n.CreationTimestamp.Time = Start.Add(-time.Minute) }
			objects := Objects(Node("a-0"), Node("b-0", young), Pod("p", On("a-0"), CPU("3"), OwnedBy(c.owner, "o")))
			s := cluster.New(Start, objects, []*cluster.Group{a, b})
			if c.emptied {
				at := fleet.At(Start.Add(-time.Minute))
				s.Fleet = ledgerOf(s, 2*time.Hour).Observe(at, fleet.Nodes{Group: "a", At: at, Seen: []fleet.NodeSeen{{Group: "a", UID: "vm-0", Ready: true}, {Group: "a", UID: "vm-9", Ready: true}}},
					fleet.Asked{Group: "a", At: at, Verb: fleet.Empty, Charge: []fleet.UID{"vm-9"}})
			}
			_, after := plan.Decide(s, allowed, m)
			became := "given up"
			switch now := after.Consolidation; {
			case now.Stepped:
				became = "moves"
			case !now.Asked.IsZero():
				became = "waits"
			}
			if d := cmp.Diff(c.want, became); d != "" {
				t.Errorf("the consolidation (-want +got):\n%s", d)
			}
		})
	}
}
