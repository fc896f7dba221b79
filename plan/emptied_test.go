package plan_test

import (
	"cmp"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// TestNodesAreEmptiedWithinTheBudgetOfTheirGroup plans for a-1, whose pod a-0 has room for, in a group of which one node may be emptied in
// ten minutes.
func TestNodesAreEmptiedWithinTheBudgetOfTheirGroup(t *testing.T) {
	machine := func(id string) cluster.Machine {
		return cluster.Machine{Group: "a", ID: cluster.InstanceID(id), UID: "vm-" + id}
	}
	charged := func(l fleet.Ledger, uid string, ago time.Duration) fleet.Ledger {
		at := fleet.At(Start.Add(-ago))
		return l.Observe(at, fleet.Asked{Group: "a", At: at, Verb: fleet.Empty, Charge: []fleet.UID{fleet.UID(uid)}})
	}
	another := func(ago time.Duration) func(fleet.Ledger) fleet.Ledger {
		return func(l fleet.Ledger) fleet.Ledger { return charged(l, "vm-2", ago) }
	}
	for name, c := range map[string]struct {
		policy  func(*policy.Policy)
		ledger  func(fleet.Ledger) fleet.Ledger
		began   time.Duration // before now; 0 for two hours
		objects []any
		want    []string
		verdict string // about a-1
	}{
		"nothing was emptied lately":        {want: []string{"cordon a-1 underused"}, verdict: "cordoned NodeUnderused"},
		"another one was, nine minutes ago": {ledger: another(9 * time.Minute), verdict: "idle EmptiedBudget NodeUnderused"},
		"another one was, before the window": {
			ledger: another(10 * time.Minute), want: []string{"cordon a-1 underused"}, verdict: "cordoned NodeUnderused",
		},
		"another one was, and two of three may be": {
			policy: func(p *policy.Policy) { p.Removal.Emptied.Percent = 70 }, ledger: another(time.Minute),
			want: []string{"cordon a-1 underused"}, verdict: "cordoned NodeUnderused",
		},
		"the process has just begun, and nothing is recorded": {began: time.Minute, verdict: "idle EmptiedUnknown NodeUnderused"},
		"the node was on its way before the process began": {
			began: time.Minute, ledger: func(l fleet.Ledger) fleet.Ledger { return charged(l, "vm-1", time.Minute) },
			objects: []any{Node("a-1", Removing(Start.Add(-time.Minute), machine("1")))},
			want:    []string{"evict web from a-1 grace 30s"}, verdict: "draining NodeDraining",
		},
		"the node was on its way before the process began, and had no pods then": {
			began: time.Minute, objects: []any{Node("a-1", Removing(Start.Add(-time.Minute), machine("1")), For(cluster.Idle))}, verdict: "draining NodeDraining EmptiedUnknown",
		},
		"the node is on its way, and another one was emptied meanwhile": {
			ledger: another(time.Minute), objects: []any{Node("a-1", Removing(Start.Add(-2*time.Minute), machine("1")))},
			verdict: "draining NodeDraining EmptiedBudget",
		},
	} {
		t.Run(name, func(t *testing.T) {
			allowed, kept := policy.Default(), removable("a-1")
			if c.policy != nil {
				c.policy(allowed)
			}
			if c.objects == nil {
				c.objects = []any{Node("a-1")}
			}
			objects := append(c.objects, Node("a-0"), Pod("big", On("a-0"), CPU("3")), Pod("web", On("a-1"), CPU("100m"), made(time.Hour)), Node("a-2"), Pod("busy", On("a-2"), CPU("3")))
			s := cluster.New(Start, Objects(objects...), []*cluster.Group{joined(three(), objects)})
			if s.Fleet = ledgerOf(s, cmp.Or(c.began, 2*time.Hour)); c.ledger != nil {
				s.Fleet = c.ledger(s.Fleet)
			}
			p, m := plan.Decide(s, allowed, sawCordons(kept, objects))
			if c.want == nil {
				c.want = []string{}
			}
			if diff := gocmp.Diff(c.want, told(p)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			if got := verdictOf(p, ref("node a-1")); got != c.verdict {
				t.Errorf("verdict %q, want %q", got, c.verdict)
			}
			if _, counts := m.Emptied["a-1"]; counts != (len(c.want) > 0) {
				t.Errorf("the node counts as emptied: %t", counts)
			}
		})
	}
}

// made has a pod be so old.
func made(ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(Start.Add(-ago)) }
}

// TestANodeThatReceivesPodsOfADrainIsLookedAtAnew has two nodes that could both have gone for long. The less used one goes first, unless a
// pod has come to it that a drain made homeless: then the other one goes, and the pod stays where it is.
func TestANodeThatReceivesPodsOfADrainIsLookedAtAnew(t *testing.T) {
	drained := func(node string, ago time.Duration) map[string]memory.Emptied {
		return map[string]memory.Emptied{node: {Group: "a", At: Start.Add(-ago)}}
	}
	for name, c := range map[string]struct {
		emptied map[string]memory.Emptied
		came    time.Duration // how long ago the pod was made
		window  time.Duration // of the budget
		goes    string
	}{
		"nothing was drained":                        {came: time.Minute, window: time.Hour, goes: "a-1"},
		"it came from a drain":                       {emptied: drained("a-9", time.Minute), came: time.Minute, window: time.Hour, goes: "a-0"},
		"it came from a drain some seconds before":   {emptied: drained("a-9", 80*time.Second), came: time.Minute, window: time.Hour, goes: "a-0"},
		"there is no budget":                         {emptied: drained("a-9", 50*time.Second), came: 40 * time.Second, goes: "a-0"},
		"it came long after the drain":               {emptied: drained("a-9", 5*time.Minute), came: time.Minute, window: time.Hour, goes: "a-1"},
		"it was there before the drain":              {emptied: drained("a-9", time.Minute), came: 2 * time.Minute, window: time.Hour, goes: "a-1"},
		"the drain was its own node's, given back":   {emptied: drained("a-1", time.Minute), came: time.Minute, window: time.Hour, goes: "a-1"},
		"it was seen there when the time began anew": {emptied: drained("a-9", 25*time.Minute), came: 25 * time.Minute, window: time.Hour, goes: "a-1"},
	} {
		t.Run(name, func(t *testing.T) {
			allowed, kept := policy.Default(), removable("a-0")
			allowed.Removal.Emptied.Percent, allowed.Removal.Emptied.Window = 100, c.window
			kept.Removable = map[string]time.Time{"a-0": Start.Add(-20 * time.Minute), "a-1": Start.Add(-20 * time.Minute)}
			kept.Emptied = c.emptied
			objects := []any{
				Node("a-0"), Pod("web", On("a-0"), CPU("800m"), made(time.Hour)),
				Node("a-1"), Pod("moved", On("a-1"), CPU("300m"), made(c.came)), Node("a-2"), Pod("busy", On("a-2"), CPU("2500m")),
			}
			p, m := plan.Decide(cluster.New(Start, Objects(objects...), []*cluster.Group{joined(three(), objects)}), allowed, kept)
			if diff := gocmp.Diff([]string{"cordon " + c.goes + " underused"}, told(p)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			if anew := m.Removable["a-1"].Equal(Start); anew != (c.goes == "a-0") {
				t.Errorf("its time begins anew: %t", anew)
			}
		})
	}
}
