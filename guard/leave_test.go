package guard_test

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/guard"
)

// listed is what a whole list says of machine 1 so long before [Start]; nothing when it lacks it.
func listed(before time.Duration, states ...fleet.State) fleet.Observation {
	o := fleet.Listed{Group: "agents", Asked: fleet.At(Start.Add(-before)), Counted: true, Capacity: len(states), Whole: true}
	for _, s := range states {
		o.Machines = append(o.Machines, fleet.Sighted{UID: "vm-1", ID: "1", State: s, Created: fleet.At(Start.Add(-24 * time.Hour))})
	}
	return o
}

// silent is what is seen of the node of machine 1, which has been silent since so long before [Start].
func silent(before time.Duration) fleet.Observation { return seen(before, false) }

func seen(before time.Duration, ready bool) fleet.NodeSeen {
	at := fleet.At(Start.Add(-before))
	return fleet.NodeSeen{Group: "agents", UID: "vm-1", At: at, Since: at, Ready: ready}
}

// ledgered is what the ledger of machines says after that.
func ledgered(all ...fleet.Observation) *fleet.View {
	return fleet.New(fleet.Usual(), fleet.At(Start.Add(-time.Hour))).Observe(fleet.At(Start), all...).At(fleet.At(Start))
}

// burying deletes the Node object of machine 1, which was seen to leave, and is gone.
func burying() *world {
	w := agents()
	w.groups[0].Instances = append(w.groups[0].Instances[:1:1], w.groups[0].Instances[2])
	w.groups[0].Capacity = 2
	Silent(Start.Add(-2 * time.Minute))(w.objects.Nodes[1])
	w.evidence.Fleet = ledgered(listed(30*time.Minute, fleet.Running), listed(5*time.Minute, fleet.Deleting), silent(2*time.Minute), listed(time.Minute))
	w.write = guard.DeleteNode{Node: "agents-1", UID: "uid-agents-1", Machine: cluster.Machine{Group: "agents", ID: "1", UID: "vm-1"}}
	return w
}

// lost is node agents-1 without sluice's taint and annotation.
func lost(change ...func(*corev1.Node)) *corev1.Node {
	return Node("agents-1", append([]func(*corev1.Node){Silent(Start.Add(-time.Minute)), func(n *corev1.Node) {
		n.Spec.ProviderID, n.Status.NodeInfo.SystemUUID = "cloud:///machines/1", "VM-1"
		n.CreationTimestamp = metav1.NewTime(Start.Add(-time.Hour))
	}}, change...)...)
}

// missing deletes the Node object of machine 1, which nobody saw leave: lists have lacked it for long enough.
func missing() *world {
	w := burying()
	w.objects.Nodes[1] = lost()
	w.evidence.Fleet = ledgered(listed(30*time.Minute, fleet.Running), silent(20*time.Minute), listed(12*time.Minute), listed(7*time.Minute), listed(time.Minute))
	w.write = guard.DeleteNode{Node: "agents-1", UID: "uid-agents-1", Machine: cluster.Machine{Group: "agents", UID: "vm-1"}}
	return w
}

// succeeded deletes it when a younger machine has its name.
func succeeded() *world {
	w := missing()
	w.groups[0].Instances = append(w.groups[0].Instances, Machine("9", "agents-1", Born(Start.Add(-time.Minute)), func(in *cluster.Instance) { in.Group = "agents" }))
	w.groups[0].Capacity++
	return w
}

// park has machine 1 switched off, to be started again.
func (w *world) park() {
	w.groups[0].Parks, w.groups[0].Parked = true, []*cluster.Instance{Machine("1", "agents-1")}
	w.objects.Nodes[1].Status.NodeInfo.SystemUUID = "VM-1"
	w.evidence.Fleet = ledgered(listed(30*time.Minute, fleet.Running), listed(20*time.Minute, fleet.Off), silent(20*time.Minute), listed(time.Minute, fleet.Off))
}

// parking cordons the node of machine 1, which is parked.
func parking() *world {
	w := burying()
	w.park()
	w.write = guard.Mark{Node: "agents-1", UID: "uid-agents-1", Machine: cluster.Machine{Group: "agents", ID: "1", UID: "vm-1"}, Parked: true}
	return w
}

// adopting takes over the removal of machine 1, which another sluice has begun.
func adopting() *world {
	w := agents()
	w.write = guard.Mark{Node: "agents-1", UID: "uid-agents-1", Machine: cluster.Machine{Group: "agents", ID: "1", UID: "vm-1"}}
	return w
}

// TestANodeObjectStaysUnlessItsMachineIsGoneForCertain holds S-14 to what the ledger of machines says.
func TestANodeObjectStaysUnlessItsMachineIsGoneForCertain(t *testing.T) {
	was := listed(30*time.Minute, fleet.Running)
	for name, view := range map[string]*fleet.View{
		"nobody keeps a ledger":                   nil,
		"the ledger does not know the machine":    ledgered(listed(time.Minute)),
		"it runs":                                 ledgered(was, silent(20*time.Minute), listed(time.Minute, fleet.Running)),
		"it is off":                               ledgered(was, silent(20*time.Minute), listed(time.Minute, fleet.Off)),
		"it is being deleted":                     ledgered(was, silent(20*time.Minute), listed(time.Minute, fleet.Deleting)),
		"lists have lacked it for nine minutes":   ledgered(was, silent(20*time.Minute), listed(10*time.Minute), listed(time.Minute)),
		"it has been silent for nine minutes":     ledgered(was, seen(30*time.Minute, true), silent(9*time.Minute), listed(15*time.Minute), listed(7*time.Minute), listed(time.Minute)),
		"its node is Ready":                       ledgered(was, seen(20*time.Minute, true), listed(5*time.Minute, fleet.Deleting), listed(time.Minute)),
		"no list was asked for since it leaves":   ledgered(was, silent(20*time.Minute), listed(time.Minute, fleet.Deleting)),
		"the newest list is not whole":            ledgered(was, silent(20*time.Minute), fleet.Listed{Group: "agents", Asked: fleet.At(Start), Counted: true, Capacity: 1}),
		"its deletion was sent, and not answered": ledgered(was, silent(20*time.Minute), fleet.Asked{Group: "agents", At: fleet.At(Start.Add(-2 * time.Minute)), Verb: fleet.Delete, Machines: []fleet.UID{"vm-1"}}, listed(time.Minute)),
	} {
		for _, open := range []func() *world{burying, missing} {
			w := open()
			w.evidence.Fleet = view
			var refusal *guard.Refusal
			if err := w.check(); !errors.As(err, &refusal) || refusal.Property != "S-14" {
				t.Errorf("%s: check = %v, want a refusal by S-14", name, err)
			}
		}
	}
	for _, open := range []func() *world{burying, missing, succeeded} {
		if err := open().check(); err != nil {
			t.Error(err)
		}
	}
}
