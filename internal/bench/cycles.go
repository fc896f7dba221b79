package bench

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/bench/workload"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// planner decides cycle after cycle.
type planner struct {
	plan.Planner
	allowed *policy.Policy
	kept    memory.Memory
}

// decide is one cycle's decision, whose requests the cloud accepts at once.
func (p *planner) decide(s *cluster.Snapshot) action.Plan {
	made, kept := p.Decide(s, p.allowed, p.kept)
	results := make([]memory.Result, len(made.Actions))
	for i := range results {
		results[i] = memory.Result{Status: memory.Accepted, At: s.Time}
	}
	p.kept = kept.After(made, results, p.allowed)
	return made
}

// turning is a cluster over which cycle after cycle turns.
type turning struct {
	planner
	table   cluster.Classes
	at      time.Time
	objects cluster.Objects
	groups  []*cluster.Group
	seen    *cluster.Snapshot // by the last cycle
	made    action.Plan       // by the last cycle
}

// cycle joins the snapshot that follows the last one and decides.
func (t *turning) cycle() Made {
	t.seen = t.seen.Next(t.at, t.objects, t.groups)
	t.made = t.decide(t.seen)
	return Made{t.seen, t.made}
}

// start turns the first cycle over a world.
func start(w *workload.World) *turning {
	allowed := policy.Default()
	allowed.Growth.BurstWindow = 0 // so that every cycle weighs what came
	t := &turning{planner: planner{allowed: allowed}, at: workload.At, groups: w.Groups}
	t.objects = w.Objects(&t.table)
	t.seen = cluster.New(t.at, t.objects, t.groups)
	t.made = t.decide(t.seen)
	return t
}

// read advances the clock and lets the cloud tell of all groups anew, as a cloud does: in objects that nobody has seen before, with the
// capacities that the last cycle asked for. The machines that it makes are not listed yet.
func (t *turning) read(passed time.Duration) {
	t.at = t.at.Add(passed)
	asked := map[cluster.GroupID]int{}
	for _, a := range t.made.Actions {
		if grow, ok := a.(action.SetCapacity); ok {
			asked[grow.Group] = grow.To
		}
	}
	groups := make([]*cluster.Group, len(t.groups))
	for i, g := range t.groups {
		again := workload.Reread(g, t.at)
		again.Capacity = max(g.Capacity, asked[g.ID])
		if seen := t.seen.Group(g.ID); seen != nil {
			again.Learned = seen.Learned
		}
		groups[i] = again
	}
	t.groups = groups
}

// quietCycle is a cycle ten seconds after the last, in which nothing happened but that the cloud was read.
func quietCycle(w *workload.World) Case {
	t := start(w)
	t.read(10 * time.Second)
	t.cycle()
	return Case{Pods: len(w.Pods), Fresh: func() { t.read(10 * time.Second) }, Decide: t.cycle, Right: both([]expectation{allHoused, still})}
}

// nextCycle is a cycle a second after the last. In between half of the changed pods were bound to the nodes that the last plan saw them
// fit, a quarter ended, and as many appeared.
func nextCycle(w *workload.World, changed int) Case {
	c, _ := next(w, changed)
	return c
}

func next(w *workload.World, changed int) (Case, *turning) {
	t := start(w)
	n := 0
	return Case{
		Pods: w.Pending(),
		Fresh: func() {
			t.read(time.Second)
			t.objects.Pods = t.change(changed, n)
			n++
		},
		Decide: t.cycle,
		Right:  both([]expectation{allHoused}),
	}, t
}

// stirredCycle is such a cycle in which nodes change as well: kubelets reported, the labels of two nodes changed, and a machine became a
// node.
func stirredCycle(w *workload.World, changed int) Case {
	c, t := next(w, changed)
	fresh, n := c.Fresh, 0
	c.Fresh = func() {
		fresh()
		t.stir(changed/5, n)
		n++
	}
	return c
}

// stir lets so many kubelets report, and one machine join; n numbers the cycles.
func (t *turning) stir(reports, n int) {
	nodes := slices.Clone(t.objects.Nodes)
	for k := range reports {
		i := (k*len(nodes)/reports + n) % len(nodes)
		nodes[i] = workload.Heartbeat(nodes[i], t.at)
		if k < 2 {
			nodes[i] = workload.Relabelled(nodes[i], strconv.Itoa(n))
		}
	}
	g := slices.MaxFunc(t.groups, func(a, b *cluster.Group) int { // that waits for most machines, of those that have some
		return cmp.Or(min(1, len(a.Instances))-min(1, len(b.Instances)), a.Capacity-len(a.Instances)-b.Capacity+len(b.Instances))
	})
	like := g.Instances[0]
	in, node := workload.Joined(like, t.seen.Node(t.seen.Group(g.ID).Instance(like.ID).Node).Object, n, t.at)
	g.Instances = append(g.Instances, in)
	g.Capacity = max(g.Capacity, len(g.Instances))
	t.objects.Nodes = append(nodes, node)
	slices.SortFunc(t.objects.Nodes, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
}

// room is the node on which the last plan saw room for a pod, by the pod's key.
func (t *turning) room() map[string]string {
	nodes := map[string]string{}
	for _, v := range t.made.Verdicts {
		if v.Outcome == action.PodScheduling && v.Subject.Kind == reason.KindPod {
			nodes[v.Subject.Name] = v.Because[0].Facts["node"]
		}
	}
	return nodes
}

// change is the list of pods after so many of them changed, from all over it; n numbers the changes. Pods that did not change are the same
// pointers.
func (t *turning) change(changed, n int) []*cluster.Pod {
	pods, room := t.objects.Pods, t.room()
	stop := changed / 4
	appear := changed / 4
	var waits, fits, runs []int
	for i, p := range pods {
		switch {
		case p.Node == "" && room[p.String()] != "":
			fits = append(fits, i)
		case p.Node == "":
			waits = append(waits, i)
		case !p.Daemon():
			runs = append(runs, i)
		}
	}
	next := slices.Clone(pods)
	for _, i := range pick(fits, changed-stop-appear, n) {
		next[i] = t.table.Pod(workload.Bound(pods[i].Object(), room[pods[i].String()], t.at))
	}
	for _, i := range pick(waits, appear, n) {
		next = append(next, t.table.Pod(workload.Again(pods[i].Object(), n, t.at)))
	}
	for _, i := range pick(runs, stop, n) {
		next[i] = nil
	}
	next = slices.DeleteFunc(next, func(p *cluster.Pod) bool { return p == nil })
	slices.SortFunc(next, func(a, b *cluster.Pod) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return next
}

// pick takes k of all at equal distances, or all when they are fewer; n moves where it begins.
func pick(all []int, k, n int) []int {
	if len(all) <= k {
		return all
	}
	var picked []int
	for i := range k {
		picked = append(picked, all[(i*len(all)/k+n)%len(all)])
	}
	return picked
}
