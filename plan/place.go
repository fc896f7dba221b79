package plan

import (
	"fmt"
	"maps"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// openRoom shows the checker the room that will be there soon: nodes that are starting count as Ready, and machines that are
// coming count as nodes such as their group's template says.
func (d *decision) openRoom() {
	for _, n := range d.s.Nodes {
		if d.arriving(n) {
			d.check.Remove(n.Name())
			d.check.Add(equipped(n), n.Pods...)
			d.groups[n.Group].coming++
			d.wake(n.Object.CreationTimestamp.Add(d.allowed.Growth.Provision))
		}
	}
	for _, g := range d.s.Groups {
		st := d.groups[g.ID]
		machines := d.expected(st)
		st.coming += machines
		if g.Template == nil {
			continue
		}
		for i := range machines {
			d.addFuture(g, comingName(g.ID, i))
		}
	}
}

// arriving says whether a node that is not Ready is room that is coming: its machine runs, and nobody has cordoned it.
func (d *decision) arriving(n *cluster.Node) bool {
	_, onLadder := cluster.RemovalOf(n.Object)
	return d.starting(n) && n.Instance != nil && n.Instance.State.Expected() && !onLadder && !n.Object.Spec.Unschedulable
}

// expected counts the machines of a group that have no node yet but should become one: those listed as creating or running
// that are not overdue, and those that capacity promises beyond the list.
func (d *decision) expected(st *groupState) int {
	if !st.Usable() {
		return 0
	}
	listed := 0
	for _, in := range st.Instances {
		if in.Node == "" && in.State.Expected() && !d.overdue(in) {
			listed++
		}
	}
	capacity := st.Capacity
	if m := d.m.Groups[st.ID]; m.Requested.After(st.Read.At) && m.Capacity > capacity {
		capacity = m.Capacity // accepted after the last read: planned with, never written from
	}
	return listed + max(0, capacity-st.Standing())
}

// overdue says whether a machine without a node has had its time.
func (d *decision) overdue(in *cluster.Instance) bool {
	since, known := d.m.Nodeless[in.UID]
	due := since.Add(d.allowed.Growth.Provision)
	d.wake(due)
	return known && !d.now.Before(due)
}

func comingName(g cluster.GroupID, i int) string { return fmt.Sprintf("coming:%s:%d", g, i) }

// addFuture adds a node such as the group's next machine will be, with the daemons it will carry.
func (d *decision) addFuture(g *cluster.Group, name string) (undo func()) {
	n := scheduling.Future(g.Template, name)
	return d.check.Add(n, d.check.Daemons(n)...)
}

// equipped is the settled node with the devices that it has not announced yet.
func equipped(n *cluster.Node) *corev1.Node {
	out := settled(n.Object)
	if len(n.Awaits) > 0 {
		out.Status.Allocatable = maps.Clone(out.Status.Allocatable)
		maps.Copy(out.Status.Allocatable, n.Awaits)
	}
	return out
}

// settled is the node without the taints of its present condition and without a cordon.
func settled(n *corev1.Node) *corev1.Node {
	out := n.DeepCopy()
	out.Spec.Unschedulable = false
	out.Spec.Taints = nil
	for _, t := range n.Spec.Taints {
		if !cluster.Transient(t) {
			out.Spec.Taints = append(out.Spec.Taints, t)
		}
	}
	return out
}

// placePending finds room for pending pods, the largest first as they are hardest to place: on nodes that are there; on
// nodes of the removal ladder, which a pod takes back; on machines that are coming. Pods that are left want a machine.
func (d *decision) placePending() {
	var there, coming []string
	for _, name := range d.check.Nodes() {
		if _, future := d.comingGroup(name); future {
			coming = append(coming, name)
		} else {
			there = append(there, name)
		}
	}
	var pods []*cluster.Pod
	for _, p := range d.s.Pending {
		about := reason.Pod(p.Namespace, p.Name)
		if gates := p.Spec.SchedulingGates; len(gates) > 0 {
			d.judge(about, PodIgnored, reason.New(reason.PodGated, about, "gate", gates[0].Name))
			continue
		}
		pods = append(pods, p)
	}
	sortBySize(pods)
	pods = d.placeOn(there, pods, func(p *cluster.Pod, node string) {
		about := reason.Pod(p.Namespace, p.Name)
		d.counted[node] = p.String()
		d.judge(about, PodScheduling, reason.New(reason.FitsNode, about, "node", node))
	})
	pods = d.rescueNodes(pods)
	pods = d.placeOn(coming, pods, func(p *cluster.Pod, node string) {
		about := reason.Pod(p.Namespace, p.Name)
		g, _ := d.comingGroup(node)
		d.judge(about, PodWaiting, reason.New(reason.FitsComingMachine, about, "group", g))
	})
	for _, p := range pods {
		about := reason.Pod(p.Namespace, p.Name)
		switch name := p.Spec.SchedulerName; {
		case p.Unschedulable():
			d.homeless = append(d.homeless, p)
		case name != "" && name != corev1.DefaultSchedulerName:
			d.judge(about, PodIgnored, reason.New(reason.OtherScheduler, about, "scheduler", name))
		default:
			d.judge(about, PodIgnored, reason.New(reason.NotYetScheduled, about))
		}
	}
}

// comingGroup is the group of a node that is not there yet, and of one that is starting.
func (d *decision) comingGroup(node string) (cluster.GroupID, bool) {
	if n := d.s.Node(node); n != nil {
		return n.Group, d.arriving(n)
	}
	for _, g := range d.s.Groups {
		prefix := "coming:" + string(g.ID) + ":"
		if len(node) > len(prefix) && node[:len(prefix)] == prefix {
			return g.ID, true
		}
	}
	return "", false
}

// placeOn places pods on the first node of the list that takes them, tells found, and returns those that found none.
func (d *decision) placeOn(nodes []string, pods []*cluster.Pod, found func(p *cluster.Pod, node string)) []*cluster.Pod {
	var rest []*cluster.Pod
	done := searched{}
	for _, p := range pods {
		i := done.first(d.classes.class(p), len(nodes), func(i int) bool { return d.check.Fits(p, nodes[i]) })
		if i < 0 {
			rest = append(rest, p)
			continue
		}
		d.check.Place(p, nodes[i])
		found(p, nodes[i])
	}
	return rest
}

// rescueNodes lets pods take back nodes from the ladder whose machine is not being deleted yet. Every such node that any
// waiting pod fits is taken back, one after the other, the one cordoned last first: it has lost least.
func (d *decision) rescueNodes(pods []*cluster.Pod) []*cluster.Pod {
	type rung struct {
		node  *cluster.Node
		since time.Time
	}
	var rungs []rung
	for _, n := range d.s.Nodes {
		if r, on := cluster.RemovalOf(n.Object); on && n.Instance != nil && !cluster.ControlPlane(n.Object) && n.Instance.State == cluster.StateRunning && cluster.Ready(n.Object) {
			rungs = append(rungs, rung{n, r.Since})
		}
	}
	sort.SliceStable(rungs, func(i, j int) bool { return rungs[i].since.After(rungs[j].since) })
	for _, r := range rungs {
		if len(pods) == 0 {
			break
		}
		name := r.node.Name()
		restore := d.check.Remove(name)
		drop := d.check.Add(settled(r.node.Object), r.node.Pods...)
		before := len(pods)
		pods = d.placeOn([]string{name}, pods, func(p *cluster.Pod, node string) {
			if _, ok := d.rescues[node]; !ok {
				d.rescues[node] = p.String()
			}
			about := reason.Pod(p.Namespace, p.Name)
			d.judge(about, PodRescues, reason.New(reason.RescuesNode, about, "node", node))
		})
		if len(pods) == before {
			drop()
			restore()
		}
	}
	return pods
}

// sortBySize orders pods by what they ask for, the largest first, and leaves equals in their order.
func sortBySize(pods []*cluster.Pod) {
	sizes := make(map[*cluster.Pod]float64, len(pods))
	for _, p := range pods {
		sizes[p] = weight(scheduling.Requests(p))
	}
	sort.SliceStable(pods, func(i, j int) bool { return sizes[pods[i]] > sizes[pods[j]] })
}

// weight makes one number of resources: cores, 4 GiB of memory for a core as in common sizes, and 16 cores for a device.
func weight(r corev1.ResourceList) float64 {
	var w float64
	for name, q := range r {
		switch name {
		case corev1.ResourceCPU:
			w += q.AsApproximateFloat64()
		case corev1.ResourceMemory:
			w += q.AsApproximateFloat64() / (4 << 30)
		case corev1.ResourceEphemeralStorage, corev1.ResourcePods:
		default:
			w += 16 * q.AsApproximateFloat64()
		}
	}
	return w
}
