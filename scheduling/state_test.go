package scheduling

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
)

// TestAStateTellsWhatIsPretended makes one what-if at a time: each leads to a state of its own, to the same one when it is made again, and
// back when it is taken back.
func TestAStateTellsWhatIsPretended(t *testing.T) {
	small, large := pod("s", requests("cpu", "1")), pod("l", requests("cpu", "2"))
	runs := pod("r", requests("cpu", "1"), on("a"))
	leaving := pod("d", requests("cpu", "1"), func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(midnight)) })
	c := NewChecker(snapshot(node("a"), node("b"), runs))
	a, _ := c.Handle("a")
	open := func(volumes int, name string) func() {
		return func() { c.Open(c.Template(node("")).Attaching(volumes), name) }
	}
	whatIfs := map[string]func(){
		"a pod is placed":                     func() { c.Place(small, "a") },
		"a pod is placed elsewhere":           func() { c.Place(small, "b") },
		"a pod of another class is placed":    func() { c.Place(large, "a") },
		"a pod that is leaving is placed":     func() { c.Place(leaving, "a") },
		"two pods are placed":                 func() { c.PlaceMany(small.Class, 2, a) },
		"a pod is evicted":                    func() { c.Evict(runs, "a") },
		"a node is removed":                   func() { c.Remove("a") },
		"another node is removed":             func() { c.Remove("b") },
		"a node joins":                        func() { c.Add(node("c")) },
		"a node of another name joins":        func() { c.Add(node("d")) },
		"a node with another label joins":     func() { c.Add(node("c", nodeLabel("x", "y"))) },
		"a node with a pod joins":             func() { c.Add(node("c"), small) },
		"a machine is opened":                 open(0, "c"),
		"a machine that attaches few volumes": open(2, "c"),
		"a machine of another name is opened": open(0, "d"),
	}
	begin := c.State()
	known := map[State]string{begin: "nothing"}
	for name, pretend := range whatIfs {
		undo := c.Mark()
		pretend()
		state := c.State()
		undo()
		if c.State() != begin {
			t.Errorf("%s: taken back, the state is another one", name)
		}
		if other, taken := known[state]; taken {
			t.Errorf("%s: the same state as when %s", name, other)
		}
		known[state] = name
		undo = c.Mark()
		pretend()
		if c.State() != state {
			t.Errorf("%s: made again, the state is another one", name)
		}
		undo()
	}
}

// TestAStateTellsSnapshotsApart turns a cluster over: the state is the same for as long as nodes and their pods are.
func TestAStateTellsSnapshotsApart(t *testing.T) {
	first := snapshot(node("a"), node("b"))
	same := first.Next(midnight, first.Objects, nil)
	objects := first.Objects
	objects.Pods = []*cluster.Pod{pod("p", on("a"))}
	landed := same.Next(midnight, objects, nil)
	objects.Pods = []*cluster.Pod{pod("p", on("a")), pod("w", func(p *corev1.Pod) { p.Status.NominatedNodeName = "b" })}
	nominated := landed.Next(midnight, objects, nil)
	c := NewChecker(first)
	begin := c.State()
	if c = NewChecker(same, After(c)); c.State() != begin {
		t.Error("nothing happened, and the state is another one")
	}
	c = NewChecker(landed, After(c))
	then := c.State()
	if then == begin {
		t.Error("a pod landed, and the state is the same")
	}
	if c = NewChecker(nominated, After(c)); c.State() == then {
		t.Error("room was made for a pod, and the state is the same")
	}
}
