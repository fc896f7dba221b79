package scheduling

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"sluice.dev/sluice/cluster"
)

// world is a small cluster in which everything matters: ports, taints, affinity, spread.
func world(t *rapid.T) (*cluster.Snapshot, []*cluster.Pod) {
	var objects []any
	nodes := rapid.IntRange(1, 5).Draw(t, "nodes")
	for i := range nodes {
		n := node(fmt.Sprint("n", i), nodeLabel(zone, rapid.SampledFrom([]string{"1", "2"}).Draw(t, "zone")), allocatable("pods", "5"))
		if rapid.IntRange(0, 3).Draw(t, "tainted") == 0 {
			taint("spot", "", corev1.TaintEffectNoSchedule)(n)
		}
		objects = append(objects, n)
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "running") {
		objects = append(objects, anyPod(t, fmt.Sprint("r", i), on(fmt.Sprint("n", rapid.IntRange(0, nodes-1).Draw(t, "on")))))
	}
	var asked []*cluster.Pod
	for i := range rapid.IntRange(1, 6).Draw(t, "pending") {
		asked = append(asked, anyPod(t, fmt.Sprint("p", i)))
	}
	return snapshot(objects...), asked
}

func anyPod(t *rapid.T, name string, options ...func(*corev1.Pod)) *cluster.Pod {
	apps := rapid.SampledFrom([]string{"db", "web"})
	options = append(options, app(apps.Draw(t, "app")), requests("cpu", rapid.SampledFrom([]string{"100m", "1", "3"}).Draw(t, "cpu")))
	keys := rapid.SampledFrom([]string{zone, corev1.LabelHostname})
	traits := []func() func(*corev1.Pod){
		func() func(*corev1.Pod) { return near(apps.Draw(t, "near"), keys.Draw(t, "key")) },
		func() func(*corev1.Pod) { return awayFrom(apps.Draw(t, "away"), keys.Draw(t, "key")) },
		func() func(*corev1.Pod) { return spread(apps.Draw(t, "spread"), keys.Draw(t, "key"), 1) },
		func() func(*corev1.Pod) { return hostPort(80, "", "") },
		func() func(*corev1.Pod) { return tolerates("spot") },
	}
	for _, trait := range traits {
		if rapid.IntRange(0, 2).Draw(t, "trait") == 0 {
			options = append(options, trait())
		}
	}
	return pod(name, options...)
}

// step makes one random what-if.
func step(t *rapid.T, c *Checker, s *cluster.Snapshot, asked []*cluster.Pod, serial int) (undo func()) {
	present := c.Nodes()
	kind := rapid.IntRange(0, 3).Draw(t, "kind")
	if len(present) == 0 {
		kind = 3
	}
	if kind == 3 {
		name := fmt.Sprint("new", serial)
		return c.Add(Future(s.Nodes[0].Object, name), anyPod(t, "on-"+name))
	}
	on := rapid.SampledFrom(present).Draw(t, "node")
	switch kind {
	case 0:
		return c.Place(rapid.SampledFrom(asked).Draw(t, "pod"), on)
	case 1:
		if pods := c.Pods(on); len(pods) > 0 {
			return c.Evict(rapid.SampledFrom(pods).Draw(t, "pod"), on)
		}
		return c.Evict(asked[0], on)
	default:
		return c.Remove(on)
	}
}

// answers are all that a checker says.
func answers(c *Checker, asked []*cluster.Pod) map[string][]string {
	out := map[string][]string{"nodes": slices.Clone(c.Nodes())}
	for _, n := range c.Nodes() {
		out[n] = names(c.Pods(n))
		for _, p := range asked {
			out[p.Name+" on "+n] = sentences(c.Refusals(p, n))
		}
	}
	return out
}

// again is a checker without a memory, of the cluster that the first one pretends.
func again(c *Checker) *Checker {
	var objects []any
	for _, ns := range c.snapshot.Objects.Namespaces {
		objects = append(objects, ns)
	}
	for _, name := range c.Nodes() {
		objects = append(objects, c.Node(name))
	}
	fresh := NewChecker(snapshot(objects...))
	for _, name := range c.Nodes() {
		for _, p := range c.Pods(name) {
			fresh.Place(p, name)
		}
	}
	return fresh
}

func TestUndoRestoresEveryAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, asked := world(t)
		c := NewChecker(s)
		var undo []func()
		var want []map[string][]string
		for i := range rapid.IntRange(1, 8).Draw(t, "steps") {
			want = append(want, answers(c, asked))
			undo = append(undo, step(t, c, s, asked, i))
			if rapid.Bool().Draw(t, "ask between") {
				answers(c, asked)
			}
		}
		for i := len(undo); i > 0; {
			i -= rapid.IntRange(1, i).Draw(t, "undone at once")
			undo[i]()
			undo[i]()
			if diff := cmp.Diff(want[i], answers(c, asked)); diff != "" {
				t.Fatalf("after taking back what-if %d (-want +got):\n%s", i, diff)
			}
		}
	})
}

func TestWhatIfsAnswerAsAClusterMadeThatWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, asked := world(t)
		c := NewChecker(s)
		for i := range rapid.IntRange(1, 6).Draw(t, "steps") {
			undo := step(t, c, s, asked, i)
			got := answers(c, asked)
			if diff := cmp.Diff(answers(again(c), asked), got); diff != "" {
				t.Fatalf("after what-if %d (-fresh +pretended):\n%s", i, diff)
			}
			for key := range got {
				for _, p := range asked {
					for _, n := range c.Nodes() {
						if key == p.Name+" on "+n && c.Fits(p, n) != (got[key] == nil) {
							t.Fatalf("%s: Fits is %v and refusals are %q", key, c.Fits(p, n), got[key])
						}
					}
				}
			}
			if rapid.Bool().Draw(t, "take back") {
				undo()
			}
		}
	})
}

func TestPretendedNodesAreDomainsOfTheirOwn(t *testing.T) {
	template := node("", nodeLabel(zone, "1"))
	fresh := func(pods ...any) *Checker {
		return NewChecker(snapshot(append(pods, node("a", nodeLabel(zone, "1")))...))
	}
	t.Run("anti-affinity needs a node for each", func(t *testing.T) {
		c := fresh(pod("db-0", app("db"), on("a"), awayFrom("db", corev1.LabelHostname)))
		for i := range 3 {
			name, p := fmt.Sprint("new-", i), pod(fmt.Sprint("db-1", i), app("db"), awayFrom("db", corev1.LabelHostname))
			for _, n := range c.Nodes() {
				if c.Fits(p, n) {
					t.Errorf("%s fits %s, which has one", p.Name, n)
				}
			}
			c.Add(Future(template, name))
			if got := c.Refusals(p, name); got != nil {
				t.Errorf("%s does not fit its own node: %v", p.Name, got)
			}
			c.Place(p, name)
		}
	})
	t.Run("affinity finds a pod placed on a pretended node of another zone", func(t *testing.T) {
		c := fresh()
		c.Add(Future(node("", nodeLabel(zone, "2")), "new"))
		follower := pod("web", near("db", zone))
		if c.Fits(follower, "new") {
			t.Error("it fits before there is anybody to follow")
		}
		undo := c.Place(pod("db-0", app("db")), "new")
		if !c.Fits(follower, "new") || c.Fits(follower, "a") {
			t.Errorf("fits new: %v, a: %v, want true, false", c.Fits(follower, "new"), c.Fits(follower, "a"))
		}
		undo()
		if c.Fits(follower, "new") {
			t.Error("it still fits when the one to follow is gone")
		}
	})
	t.Run("an empty pretended node makes room in a spread and takes it from others", func(t *testing.T) {
		c := fresh(pod("w-0", app("web"), on("a")))
		p := pod("w-1", app("web"), spread("web", corev1.LabelHostname, 1))
		if !c.Fits(p, "a") {
			t.Error("does not fit the only node there is")
		}
		c.Add(Future(template, "new"))
		if c.Fits(p, "a") || !c.Fits(p, "new") {
			t.Errorf("fits a: %v, new: %v, want false, true", c.Fits(p, "a"), c.Fits(p, "new"))
		}
		c.Remove("new")
		if !c.Fits(p, "a") {
			t.Error("does not fit when the other node is gone again")
		}
	})
	t.Run("daemons take their share of a pretended node", func(t *testing.T) {
		c := NewChecker(snapshot(daemonSet("logs", requests("cpu", "500m")), node("a")))
		n := Future(template, "new")
		c.Add(n, c.Daemons(n)...)
		want := []string{"node new: Insufficient cpu (needs 4, free 3500m)"}
		if diff := cmp.Diff(want, sentences(c.Refusals(pod("p", requests("cpu", "4")), "new"))); diff != "" {
			t.Errorf("refusals (-want +got):\n%s", diff)
		}
	})
	t.Run("a node may come again under its name", func(t *testing.T) {
		c := fresh(pod("x", on("a"), requests("cpu", "4")))
		p := pod("p", requests("cpu", "4"))
		c.Remove("a")
		undo := c.Add(Future(template, "a"))
		if !c.Fits(p, "a") {
			t.Error("the new node has the old one's pods")
		}
		undo()
		if diff := cmp.Diff([]string{}, c.Nodes()); diff != "" {
			t.Errorf("nodes (-want +got):\n%s", diff)
		}
	})
}

func TestEvictionFreesWhatThePodHeld(t *testing.T) {
	held := pod("held", on("a"), app("db"), requests("cpu", "4"), hostPort(80, "", ""), awayFrom("web", zone))
	c := NewChecker(snapshot(node("a", nodeLabel(zone, "1")), held, pod("same-port", on("a"), hostPort(80, "", ""))))
	p := pod("p", app("web"), requests("cpu", "4"))
	c.Evict(pod("held"), "a")
	if got := c.Refusals(p, "a"); got != nil {
		t.Errorf("still refused: %v", got)
	}
	want := []string{"node a: host port 80/TCP is taken"}
	if diff := cmp.Diff(want, sentences(c.Refusals(pod("q", hostPort(80, "", "")), "a"))); diff != "" {
		t.Errorf("the port of the pod that stayed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"same-port"}, names(c.Pods("a"))); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}

func TestWhatIsNotThereCannotLeave(t *testing.T) {
	c := NewChecker(snapshot(node("a"), pod("x", on("a"))))
	before := answers(c, nil)
	for name, leave := range map[string]func() func(){
		"a pod from a node that has others": func() func() { return c.Evict(pod("other"), "a") },
		"a pod from a node that is not":     func() func() { return c.Evict(pod("x"), "z") },
		"a node":                            func() func() { return c.Remove("z") },
	} {
		undo := leave()
		if diff := cmp.Diff(before, answers(c, nil)); diff != "" {
			t.Errorf("%s left (-want +got):\n%s", name, diff)
		}
		c.Place(pod("later"), "a")
		undo()
		if diff := cmp.Diff(before, answers(c, nil)); diff != "" {
			t.Errorf("%s did not leave, and what came later was not taken back (-want +got):\n%s", name, diff)
		}
	}
}

func TestWhatWouldLieIsRefusedLoudly(t *testing.T) {
	c := NewChecker(snapshot(node("a")))
	for name, do := range map[string]func(){
		"placing on a node that is not there": func() { c.Place(pod("p"), "z") },
		"adding a node that is there":         func() { c.Add(node("a")) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			do()
		})
	}
}

func TestASpentUndoTakesNothingBack(t *testing.T) {
	c := NewChecker(snapshot(node("a")))
	spent := c.Place(pod("first"), "a")
	spent()
	c.Place(pod("second"), "a")
	spent()
	if diff := cmp.Diff([]string{"second"}, names(c.Pods("a"))); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}

func TestNamesHandedOutStay(t *testing.T) {
	c := NewChecker(snapshot(node("b"), node("a")))
	before := c.Nodes()
	c.Remove("a")
	c.Add(node("aa"))
	if diff := cmp.Diff([]string{"a", "b"}, before); diff != "" {
		t.Errorf("names from before (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"aa", "b"}, c.Nodes()); diff != "" {
		t.Errorf("names now (-want +got):\n%s", diff)
	}
}
