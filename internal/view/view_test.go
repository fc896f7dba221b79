package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

var now = clustertest.Start

// world is a cluster with a group of machines 0 to n-1, each a Ready node "n0" and so on in zone "1" or "2".
type world struct {
	objects []any
	group   *cluster.Group
	kept    memory.Memory
}

func newWorld(low, high, n int) *world {
	w := &world{group: clustertest.Group("agents", low, high)}
	w.group.PriceUSDPerHour = .5
	for i := range n {
		w.node(i)
	}
	return w
}

func (w *world) node(i int, change ...func(*corev1.Node)) {
	name := fmt.Sprintf("n%d", i)
	m := clustertest.Machine(fmt.Sprint(i), name)
	n := clustertest.Node(name, append([]func(*corev1.Node){func(n *corev1.Node) {
		n.Spec.ProviderID = m.ProviderID
		n.Labels[corev1.LabelTopologyZone] = fmt.Sprint(i%2 + 1)
	}}, change...)...)
	w.add(m)
	w.objects = append(w.objects, n)
}

// add adds a machine.
func (w *world) add(m *cluster.Instance) {
	m.Group = w.group.ID
	w.group.Instances = append(w.group.Instances, m)
	w.group.Capacity = len(w.group.Instances)
}

func (w *world) pod(name, cpu, node string, change ...func(*corev1.Pod)) {
	all := append([]func(*corev1.Pod){clustertest.CPU(cpu)}, change...)
	if node != "" {
		all = append(all, clustertest.On(node))
	} else {
		all = append(all, func(p *corev1.Pod) {
			p.CreationTimestamp = metav1.NewTime(now.Add(-time.Minute))
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.NewTime(now.Add(-30 * time.Second))}}
		})
	}
	w.objects = append(w.objects, clustertest.Pod(name, all...))
}

func (w *world) look() *Now {
	s := cluster.New(now, clustertest.Objects(w.objects...), []*cluster.Group{w.group})
	s.Fleet = clustertest.Ledger(s, time.Hour)
	e := journal.Entry{Cycle: 7, Seen: s, Policy: policy.Default(), Before: w.kept}
	e.Plan, e.After = plan.Decide(s, e.Policy, w.kept)
	return New(e)
}

func tileOf(t *testing.T, n *Now, name string) Tile {
	t.Helper()
	for _, g := range n.Groups {
		for _, tile := range g.Tiles {
			if tile.About.Name == name {
				return tile
			}
		}
	}
	t.Fatalf("no tile %s in %+v", name, n.Groups)
	return Tile{}
}

func TestEachMachineIsATile(t *testing.T) {
	w := newWorld(0, 9, 3)
	w.pod("busy", "3", "n0", clustertest.OwnedBy("Job", "render"))
	w.pod("low", "1", "n1", clustertest.Annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"))
	w.kept.Removable = map[string]time.Time{"n2": now.Add(-4 * time.Minute)}
	w.node(3, func(n *corev1.Node) { n.Spec.Unschedulable = true })
	w.node(4, clustertest.Silent(now.Add(-2*time.Minute)))
	leaves := clustertest.Machine("5", "n5")
	leaves.Group = w.group.ID
	w.node(5, clustertest.Removing(now.Add(-time.Second), leaves.Machine()), clustertest.For("idle"))
	w.kept.Cordoned = map[string]memory.Cordoned{"n5": {Said: now.Add(-time.Second), By: now.Add(-time.Second)}}
	w.add(clustertest.Machine("6", "", clustertest.Born(now.Add(-time.Minute))))
	n := w.look()
	for name, want := range map[string]struct {
		state State
		jobs  int
		cpu   float64
	}{
		"n0": {Busy, 1, .75}, "n1": {Busy, 0, .25}, "n2": {Idle, 0, 0}, "n3": {Held, 0, 0}, "n4": {Silent, 0, 0}, "n5": {Leaves, 0, 0}, "agents/6": {Coming, 0, -1},
	} {
		got := tileOf(t, n, name)
		if got.State != want.state || got.Jobs != want.jobs || got.Load.CPU != want.cpu {
			t.Errorf("%s: %s with %d jobs and %v of its CPU, want %s, %d, %v (%s)", name, got.State, got.Jobs, got.Load.CPU, want.state, want.jobs, want.cpu, got.Code)
		}
	}
	if got := tileOf(t, n, "n2").Until; !got.Equal(now.Add(6 * time.Minute)) {
		t.Errorf("the idle node goes at %v, want six minutes from now", got)
	}
	if got := tileOf(t, n, "n4").Since; !got.Equal(now.Add(-2 * time.Minute)) {
		t.Errorf("the silent node is silent since %v", got)
	}
	g := n.Groups[0]
	if g.Nodes != 6 || g.Coming != 1 || g.Busy != 3 || g.Idle != 1 || g.Leaving != 1 || g.Silent != 1 || n.Nodes != 6 || n.Coming != 1 {
		t.Errorf("group %+v, cluster %d + %d", g, n.Nodes, n.Coming)
	}
	if g.USD == nil || *g.USD != 3.5 || n.USD != 3.5 || n.Unpriced != 0 {
		t.Errorf("costs %v, in all %v and %d unknown", g.USD, n.USD, n.Unpriced)
	}
	if strings.Join(n.Zones, " ") == "" || tileOf(t, n, "n1").Zone != "2" {
		t.Errorf("zones %q", n.Zones)
	}
}

func TestAnUnknownPriceIsNoZero(t *testing.T) {
	w := newWorld(0, 9, 2)
	w.group.PriceUSDPerHour = 0
	n := w.look()
	if n.Groups[0].USD != nil || n.USD != 0 || n.Unpriced != 2 {
		t.Errorf("group %v, in all %v and %d unknown, want unknown and 2", n.Groups[0].USD, n.USD, n.Unpriced)
	}
}

func TestPodsThatAreStuckForTheSameAreOneNeed(t *testing.T) {
	w := newWorld(0, 9, 1)
	w.pod("busy", "4", "n0")
	for i := range 3 {
		w.pod(fmt.Sprintf("huge-%d", i), "64", "")
	}
	w.pod("web", "2", "")
	n := w.look()
	if n.Pending != 4 || n.Stuck != 3 || len(n.Needs) != 1 {
		t.Fatalf("%d wait, %d stuck, needs %+v", n.Pending, n.Stuck, n.Needs)
	}
	need := n.Needs[0]
	if !strings.Contains(need.Title, " and 2 more are stuck") || need.Code != reason.NoGroupFits || !strings.Contains(need.Cause, "needs 64") ||
		!strings.HasPrefix(need.Command, "sluice explain pod default/huge-") || !need.Since.Equal(now.Add(-30*time.Second)) {
		t.Errorf("need %+v", need)
	}
	if n.Headline != "1 thing needs you." || !strings.Contains(n.Detail, "4 pods wait") || !strings.Contains(n.Detail, "3 stuck") {
		t.Errorf("%q %q", n.Headline, n.Detail)
	}
	if len(n.Waiting) != 2 || n.Waiting[0].Outcome != action.PodStuck || n.Waiting[0].Pods != 3 || n.Waiting[1].Pods != 1 {
		t.Errorf("waiting %+v", n.Waiting)
	}
}

func TestACalmClusterSaysSo(t *testing.T) {
	w := newWorld(1, 9, 1)
	w.pod("busy", "4", "n0")
	n := w.look()
	if n.Headline != "All is calm." || len(n.Needs) != 0 || len(n.Next) != 0 || !strings.HasPrefix(n.Detail, "No pod waits.") {
		t.Errorf("%q %q, needs %v, next %v", n.Headline, n.Detail, n.Needs, n.Next)
	}
	if len(n.Stays) != 1 || n.Stays[0].Code != reason.NodeBusy || n.Stays[0].Nodes != 1 {
		t.Errorf("stays %+v", n.Stays)
	}
}

func TestAGroupThatCannotBeReadNeedsSomebody(t *testing.T) {
	w := newWorld(1, 9, 1)
	w.group.Problem = "Azure answers 403: the identity lacks virtualMachineScaleSets/read"
	n := w.look()
	if len(n.Needs) != 1 || !n.Needs[0].Bad || n.Needs[0].Title != "group agents cannot be managed" || !strings.Contains(n.Needs[0].Cause, "403") || !n.Groups[0].Bad {
		t.Errorf("needs %+v, group %+v", n.Needs, n.Groups[0])
	}
}

// TestEachMarkedTileIsANeed holds that picture and headline say the same.
func TestEachMarkedTileIsANeed(t *testing.T) {
	w := newWorld(0, 9, 4)
	for i := range 4 {
		w.pod(fmt.Sprintf("busy-%d", i), "4", fmt.Sprintf("n%d", i))
	}
	for i := range 3 {
		w.node(4+i, clustertest.Silent(now.Add(-2*time.Minute)))
	}
	n := w.look()
	w.pod("job", "4", "n4", clustertest.OwnedBy("Job", "render"))
	for _, need := range w.look().Needs {
		if !strings.Contains(need.Cause, "Ready") || strings.Contains(need.Remedy, "threshold") {
			t.Errorf("a silent node is told %q, and %q", need.Cause, need.Remedy)
		}
	}
	if len(n.Needs) != 1 || n.Needs[0].Title != "node n4 and 2 more are not Ready" || !n.Needs[0].Bad || n.Headline != "3 of 7 machines fell silent together. None of them is removed in the first hour." {
		t.Errorf("%q, needs %+v", n.Headline, n.Needs)
	}
}

// TestANodeWhoseMachineGoesIsExpectedToBeSilent, unlike one that fell silent.
func TestANodeWhoseMachineGoesIsExpectedToBeSilent(t *testing.T) {
	w := newWorld(0, 9, 0)
	w.node(0, clustertest.Silent(now.Add(-time.Minute)))
	for outcome, want := range map[action.Outcome]State{
		action.NodeGone: Leaves, action.NodeDeleting: Leaves, action.NodeParking: Leaves, action.NodeDraining: Silent, action.NodeKeep: Silent, action.NodeIdle: Silent,
	} {
		e := journal.Entry{Seen: cluster.New(now, clustertest.Objects(w.objects...), []*cluster.Group{w.group}), Policy: policy.Default()}
		about := reason.Node("n0")
		e.Plan.Verdicts = []action.Verdict{{Subject: about, Outcome: outcome, Because: []reason.Reason{reason.New(reason.NodeDrained, about, "but", "", "fate", "deleted")}}}
		n := New(e)
		if got := tileOf(t, n, "n0").State; got != want || len(n.Needs) != map[State]int{Silent: 1}[want] {
			t.Errorf("%s: %s with needs %+v, want %s", outcome, got, n.Needs, want)
		}
	}
}

func TestAMachineThatSaysWhyItDoesNotJoinIsHeard(t *testing.T) {
	w := newWorld(0, 9, 0)
	w.add(clustertest.Machine("0", ""))
	about := reason.Instance("agents", "0")
	e := journal.Entry{Seen: cluster.New(now, clustertest.Objects(w.objects...), []*cluster.Group{w.group}), Policy: policy.Default()}
	e.Plan.Verdicts = []action.Verdict{{Subject: about, Outcome: action.MachineHold, Because: []reason.Reason{
		reason.New(reason.MachineNeverJoined, about, "age", "16m0s", "limit", "15m0s"),
		reason.New(reason.MachineDiagnosed, about, "cause", "its disk is full", "remedy", "give it a larger disk"),
	}}}
	if n := New(e).Needs; len(n) != 1 || !strings.Contains(n[0].Cause, "its disk is full") || n[0].Remedy != "give it a larger disk" || n[0].Title != "agents/0 has not joined" {
		t.Errorf("needs %+v", n)
	}
}

// TestNothingIsNoPanic looks at cycles that lack nearly everything.
func TestNothingIsNoPanic(t *testing.T) {
	e := journal.Entry{Seen: cluster.New(now, cluster.Objects{}, nil), Policy: policy.Default()}
	e.Plan, e.After = plan.Decide(e.Seen, e.Policy, memory.Memory{})
	if n := New(e); n.Headline != "No node group is managed." || n.Needs == nil || n.Groups == nil {
		t.Errorf("%+v", n)
	}
	e.Plan = action.Plan{Verdicts: []action.Verdict{{Subject: reason.Pod("a", "b"), Outcome: action.PodStuck}, {Subject: reason.Node("gone"), Outcome: action.NodeKeep}}}
	New(e)
}

func TestShortNamesTellMachinesApart(t *testing.T) {
	tiles := []Tile{{About: reason.Node("agents000001")}, {About: reason.Node("agents000101")}, {About: reason.Instance("agents", "7")}}
	shorten(tiles)
	if tiles[0].Short != "001" || tiles[1].Short != "101" || tiles[2].Short != "7" {
		t.Errorf("%+v", tiles)
	}
}

// BenchmarkNew looks at 5,000 nodes with 110,000 pods of a hundred classes.
func BenchmarkNew(b *testing.B) {
	w := &world{group: clustertest.Group("agents", 0, 9000)}
	var pods []*corev1.Pod
	for i := range 5000 {
		w.node(i)
		for j := range 22 {
			pods = append(pods, clustertest.Pod(fmt.Sprintf("p-%d-%d", i, j), clustertest.CPU(fmt.Sprintf("%dm", 100+(i+j)%100)), clustertest.On(fmt.Sprintf("n%d", i))).Object())
		}
	}
	objects := clustertest.Objects(w.objects...)
	objects.Pods = cluster.NewPods(pods...)
	s := cluster.New(now, objects, []*cluster.Group{w.group})
	e := journal.Entry{Seen: s, Policy: policy.Default()}
	e.Plan, _ = plan.Decide(s, e.Policy, memory.Memory{})
	b.ResetTimer()
	for b.Loop() {
		New(e)
	}
}

// TestNodesThatFallSilentTogetherAreSaidBeforeTheContractJudges has some of twenty nodes fall silent two minutes ago.
func TestNodesThatFallSilentTogetherAreSaidBeforeTheContractJudges(t *testing.T) {
	for name, c := range map[string]struct {
		silent  []time.Duration // for so long
		machine int             // in the box, 0 for none
	}{
		"two of twenty": {[]time.Duration{2 * time.Minute, 3 * time.Minute}, 2}, "one of twenty": {[]time.Duration{2 * time.Minute}, 0},
		"two, one long ago": {[]time.Duration{2 * time.Minute, 14 * time.Minute}, 0}, "none": {nil, 0},
	} {
		w := newWorld(0, 30, 20-len(c.silent))
		for i, ago := range c.silent {
			w.node(20+i, clustertest.Silent(now.Add(-ago)))
		}
		n := w.look()
		switch got := n.Lost; {
		case c.machine == 0 && got != nil:
			t.Errorf("%s: %+v", name, got)
		case c.machine > 0 && (got == nil || got.Machines != c.machine || got.Of != 20 || !got.Early || !got.Until.IsZero() || !got.Since.Equal(now.Add(-3*time.Minute))):
			t.Errorf("%s: %+v, want %d", name, got, c.machine)
		case c.machine > 0 && n.Headline != "2 of 20 machines fell silent together. None of them is removed in the first hour.":
			t.Errorf("%s: %s", name, n.Headline)
		}
	}
}

// TestTroubleOfMachinesComesBeforePods has more kinds of stuck pods than a page shows, and one node that is in trouble.
func TestTroubleOfMachinesComesBeforePods(t *testing.T) {
	w := newWorld(0, 3, 3)
	e := journal.Entry{Seen: cluster.New(now, clustertest.Objects(w.objects...), []*cluster.Group{w.group}), Policy: policy.Default()}
	for i := range 30 {
		e.Plan.Verdicts = append(e.Plan.Verdicts, action.Verdict{
			Subject: reason.Pod("default", fmt.Sprint("p", i)), Outcome: action.PodStuck, Because: []reason.Reason{reason.New(reason.GroupAtMax, reason.Group("agents"), "capacity", i, "max", i)},
		})
	}
	about := reason.Node("n1")
	e.Plan.Verdicts = append(e.Plan.Verdicts, action.Verdict{Subject: about, Outcome: action.NodeKeep, Because: []reason.Reason{reason.New(reason.EvictionRests, about)}})
	if n := New(e).Needs; len(n) != 31 || n[0].About != about {
		t.Errorf("%d needs, the first about %s", len(n), n[0].About)
	}
}

// TestNodesWhoseObjectsWentAreSaidAtOnce has the Node objects of five of six machines deleted a minute ago.
func TestNodesWhoseObjectsWentAreSaidAtOnce(t *testing.T) {
	w := newWorld(0, 9, 1)
	e := journal.Entry{Policy: policy.Default()}
	for i := range 5 {
		w.add(clustertest.Machine(fmt.Sprint(1+i), ""))
		about := reason.Instance("agents", fmt.Sprint(1+i))
		e.Plan.Verdicts = append(e.Plan.Verdicts, action.Verdict{Subject: about, Outcome: action.MachineHold, Because: []reason.Reason{
			reason.New(reason.MachineLost, about, "age", time.Minute),
			reason.New(reason.NodeObjectsMissing, reason.Group("agents"), "missing", 5, "nodes", 6).By("S-20"),
		}})
	}
	group := reason.Group("agents")
	e.Plan.Verdicts = append(e.Plan.Verdicts, action.Verdict{Subject: group, Outcome: action.GroupSteady, Because: []reason.Reason{
		reason.New(reason.GroupLost, group, "machines", 5, "until", "an operator acknowledges it"),
	}})
	e.Seen = cluster.New(now, clustertest.Objects(w.objects...), []*cluster.Group{w.group})
	n := New(e)
	if want := "5 of 6 machines lost their Node objects. None of them is removed until an operator acknowledges it."; n.Headline != want {
		t.Errorf("%q, want %q", n.Headline, want)
	}
	if len(n.Needs) != 1 || n.Needs[0].Title != "agents/1 and 4 more lost their Node objects" || !n.Needs[0].Since.Equal(now.Add(-time.Minute)) {
		t.Errorf("needs %+v", n.Needs)
	}
	if n.Coming != 0 || n.Groups[0].Coming != 0 || len(n.Next) != 0 {
		t.Errorf("coming %d, next %+v", n.Coming, n.Next)
	}
}

// TestAViewAfterAnotherIsTheViewItself has a pod come, one go and a node change between two cycles.
func TestAViewAfterAnotherIsTheViewItself(t *testing.T) {
	w := newWorld(0, 9, 3)
	w.pod("job", "3", "n0", clustertest.OwnedBy("Job", "render"))
	w.pod("web", "1", "n1")
	entry := func(s *cluster.Snapshot) journal.Entry {
		e := journal.Entry{Cycle: 1, Seen: s, Policy: policy.Default()}
		e.Plan, e.After = plan.Decide(s, e.Policy, memory.Memory{})
		return e
	}
	first := cluster.New(now, clustertest.Objects(w.objects...), []*cluster.Group{w.group})
	last := New(entry(first))
	w.pod("more", "2", "n2", clustertest.OwnedBy("Job", "render"))
	w.pod("again", "1", "n1")
	next := first.Next(now.Add(time.Minute), clustertest.Objects(w.objects...), []*cluster.Group{w.group})
	got, want := After(last, entry(next)), New(entry(next))
	of := func(n *Now) string {
		var b strings.Builder
		if err := Write(&b, n); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if of(got) != of(want) || tileOf(t, got, "n2").Jobs != 1 || tileOf(t, got, "n0").Jobs != 1 || tileOf(t, got, "n1").Load.CPU != .5 {
		t.Errorf("after another\n%+v\nby itself\n%+v", got.Groups, want.Groups)
	}
}
