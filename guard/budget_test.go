package guard_test

import (
	"errors"
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/guard"
)

// emptying cordons a node with a pod.
func emptying() *world {
	w := cordoning()
	w.objects.Pods = append(w.objects.Pods, Pod("web", On("agents-0")))
	return w
}

// resuming evicts from a node that the process before has cordoned.
func resuming() *world {
	w := evicting()
	w.evidence.Started = Start
	return w
}

// again evicts from a node that is being emptied, beside another one that was put on its way before.
func again() *world {
	w := evicting()
	w.evidence.Emptied = []guard.Emptied{{Node: "uid-agents-9", Group: "agents", At: Start}, {Node: "uid-agents-1", Group: "agents", At: Start}}
	return w
}

// rested cordons a node in a group of which one was emptied before the window, and in which the emptied node of another group does not count.
func rested() *world {
	w := emptying()
	w.evidence.Emptied = []guard.Emptied{{Node: "uid-agents-9", Group: "agents", At: Start.Add(-9 * time.Minute)}, {Node: "uid-other", Group: "other", At: Start}}
	return w
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
	for name, c := range map[string]struct {
		open  func() *world
		spoil func(*world)
		held  bool
	}{
		"a node with a pod":                                        {open: emptying},
		"a drain that began before the start":                      {open: resuming},
		"one more eviction from a node that is emptied":            {open: again},
		"a node beside one that was emptied long ago":              {open: rested},
		"a node that a person asks for":                            {open: asked},
		"a node that runs dry, from which nobody has to leave yet": {open: drying},
		"a node beside another one, where half of them may go": {open: again, spoil: func(w *world) {
			w.evidence.Emptied, w.policy.Removal.Emptied = w.evidence.Emptied[:1], 70
		}},
		"a node beside another one, where half of them may go and a third one's machine has gone": {again, func(w *world) {
			w.evidence.Emptied, w.policy.Removal.Emptied = w.evidence.Emptied[:1], 70
			w.objects.Nodes[2].Annotations = map[string]string{cluster.MachineAnnotation: w.groups[0].Instances[2].Machine().String()}
			w.groups[0].Instances = w.groups[0].Instances[:2:2]
		}, true},
		"a node beside another one, where half of them may go and a third one's machine is being deleted": {again, func(w *world) {
			w.evidence.Emptied, w.policy.Removal.Emptied = w.evidence.Emptied[:1], 70
			w.groups[0].Instances[2].State = cluster.StateDeleting
		}, true},
		"a node a moment after the start, where there is no bound":          {open: emptying, spoil: func(w *world) { w.evidence.Started, w.policy.Removal.Window = Start, 0 }},
		"a drain that began before the start, of a node that was idle then": {resuming, func(w *world) { For(cluster.Idle)(w.objects.Nodes[1]) }, true},
		"an eviction beyond the budget, on a node that another one goes before": {evicting, func(w *world) {
			w.evidence.Emptied = []guard.Emptied{{Node: "uid-agents-9", Group: "agents", At: Start.Add(-8 * time.Minute)}}
		}, true},
		"a cordon of a node with pods while another one is emptied": {emptying, func(w *world) {
			w.objects.Pods = append(w.objects.Pods, Pod("last", On("agents-1")))
		}, true},
		"a cordon of a node with pods a moment after the start": {emptying, func(w *world) { w.evidence.Started = Start }, true},
		"an eviction from a node that was cordoned before another one that is emptied": {evicting, func(w *world) {
			w.objects.Nodes[2].Spec.Taints = append(w.objects.Nodes[2].Spec.Taints, cluster.Removal{Since: Start.Add(-time.Hour), Why: "underused"}.Taint())
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := c.open()
			if c.spoil != nil {
				c.spoil(w)
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
		got, empties := guard.Emptying(w.write, w.evidence, w.policy)
		if empties != c.empties || empties && (got.Group != "agents" || got.At != w.evidence.Newest.Time || got.Node == "") {
			t.Errorf("%s: %+v, %t; want %t", name, got, empties, c.empties)
		}
	}
}
