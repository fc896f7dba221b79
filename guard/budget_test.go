package guard_test

import (
	"errors"
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/guard"
)

// emptying cordons a node with a pod.
func emptying() *world {
	w := cordoning()
	w.objects.Pods = append(w.objects.Pods, Pod("web", On("agents-0")))
	return w
}

// watched is a ledger that has known the group's nodes since then, and for which the budget was charged so long before now.
func watched(since time.Duration, charged map[fleet.UID]time.Duration) *fleet.View {
	now := fleet.At(Start.Add(time.Minute))
	began := now.Add(-since)
	listed := fleet.Listed{Group: "agents", Asked: began, Counted: true, Capacity: 3, Whole: true}
	nodes := fleet.Nodes{Group: "agents", At: began}
	for _, uid := range []fleet.UID{"vm-0", "vm-1", "vm-2"} {
		listed.Machines = append(listed.Machines, fleet.Sighted{UID: uid, State: fleet.Running})
		nodes.Seen = append(nodes.Seen, fleet.NodeSeen{Group: "agents", UID: uid, At: began, Ready: true})
	}
	l := fleet.New(fleet.Usual(), began).Observe(began, listed, nodes)
	for uid, ago := range charged {
		at := now.Add(-ago)
		l = l.Observe(at, fleet.Asked{Group: "agents", At: at, Verb: fleet.Empty, Charge: []fleet.UID{uid}})
	}
	return l.At(now)
}

// asked cordons a node that a person wants emptied, a moment after the start.
func asked() *world {
	w := emptying()
	w.evidence.Started = Start
	w.objects.Nodes[0].Annotations = map[string]string{cluster.DrainAnnotation: "2026-01-05T09:00:00Z"}
	return w
}

// drying cordons a node that runs dry, a moment after the start.
func drying() *world {
	w := emptying()
	w.evidence.Started = Start
	c := w.write.(guard.Cordon)
	c.Why = cluster.RunsDry
	w.write = c
	return w
}

func TestNodesAreEmptiedWithinTheirBudget(t *testing.T) {
	const long = 2 * time.Hour
	for name, c := range map[string]struct {
		open   func() *world
		ledger *fleet.View
		share  float64 // of the group, in percent; 0 for the usual one
		held   bool
	}{
		"a node with a pod":                                           {open: emptying, ledger: watched(long, nil)},
		"one more eviction from a node that is emptied":               {open: evicting, ledger: watched(long, map[fleet.UID]time.Duration{"vm-1": time.Minute, "vm-2": time.Minute})},
		"a node beside one that was emptied long ago":                 {open: emptying, ledger: watched(long, map[fleet.UID]time.Duration{"vm-1": 11 * time.Minute})},
		"a node that a person asks for":                               {open: asked, ledger: watched(time.Minute, nil)},
		"a node that runs dry, from which nobody has to leave yet":    {open: drying, ledger: watched(time.Minute, nil)},
		"a node beside another one, where two of three may go":        {open: emptying, ledger: watched(long, map[fleet.UID]time.Duration{"vm-1": time.Minute}), share: 70},
		"a node a moment after the start, of which nobody kept watch": {open: emptying, ledger: watched(time.Minute, nil), held: true},
		"an eviction beyond the budget":                               {open: evicting, ledger: watched(long, map[fleet.UID]time.Duration{"vm-0": time.Minute}), held: true},
		"a cordon of a node with pods while another one is emptied":   {open: emptying, ledger: watched(long, map[fleet.UID]time.Duration{"vm-1": time.Minute}), held: true},
		"a cordon of a node without pods while another one is":        {open: cordoning, ledger: watched(long, map[fleet.UID]time.Duration{"vm-1": time.Minute})},
	} {
		t.Run(name, func(t *testing.T) {
			w := c.open()
			if w.evidence.Fleet = c.ledger; c.share > 0 {
				w.policy.Removal.Emptied.Percent = c.share
			}
			err := w.check()
			var refusal *guard.Refusal
			if held := errors.As(err, &refusal) && refusal.Property == "S-19"; held != c.held || err != nil && !held {
				t.Errorf("check = %v, want held by S-19: %t", err, c.held)
			}
		})
	}
}

func TestWhatEmptiesANodeCountsForItsGroup(t *testing.T) {
	for name, c := range map[string]struct {
		open    func() *world
		empties bool
	}{
		"a cordon of a node with a pod":      {emptying, true},
		"an eviction":                        {evicting, true},
		"a cordon of an idle node":           {cordoning, false},
		"a cordon of a node that runs dry":   {drying, false},
		"an eviction of a daemon":            {dismissing, false},
		"an eviction of a daemon's work":     {dismissingWork, true},
		"a removal of a machine":             {deleting, false},
		"a cordon of a node that is unknown": {func() *world { w := emptying(); w.objects.Nodes = nil; return w }, false},
	} {
		w := c.open()
		_ = w.check()
		if got := guard.Emptying(w.write, w.evidence, w.policy); (got != nil) != c.empties {
			t.Errorf("%s: %+v, want one: %t", name, got, c.empties)
		}
	}
}
