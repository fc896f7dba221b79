package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// nodeState is a node of a managed group within one cycle.
type nodeState struct {
	*cluster.Node
	movers    []*cluster.Pod // pods that have to leave before the machine may go, those already on their way out included
	resource  corev1.ResourceName
	used      float64   // share of the resource that is asked for
	threshold float64   // at or below which it is underused
	since     time.Time // since when it could go without a break
	going     bool      // steps on the ladder in this cycle
	pinned    bool      // idle, but its group is at its minimum
	moves     []func()  // undoes the moves of its pods that the checker holds
}

// judgeNodes says of every node whether it could go. Nodes on the ladder and nodes that may step on it are left to climbLadder.
func (d *decision) judgeNodes() {
	unready := 0 // nodes that are neither Ready nor starting
	for _, n := range d.s.Nodes {
		if !cluster.Ready(n.Object) && !d.starting(n) {
			unready++
		}
	}
	if !d.allowed.Health.Tolerates(unready, len(d.s.Nodes)) {
		d.unhealthy = []reason.Reason{reason.New(reason.UnhealthyCluster, reason.Ref{Kind: reason.KindCluster},
			"unready", unready, "nodes", len(d.s.Nodes), "tolerated", fmt.Sprintf("%d or %g%%", d.allowed.Health.UnreadyCount, d.allowed.Health.UnreadyPercent))}
	}
	for _, n := range d.s.Nodes {
		about := reason.Node(n.Name())
		if outcome, because, settledNow := d.untouched(n); settledNow {
			delete(d.m.Removable, n.Name())
			d.judge(about, outcome, because...)
			continue
		}
		st := &nodeState{Node: n, movers: d.movers(n)}
		st.resource, st.used = scheduling.Utilization(n.Object, append(daemons(n), st.movers...))
		st.threshold = d.removal(st).Threshold
		if st.resource != corev1.ResourceCPU && st.resource != corev1.ResourceMemory {
			st.threshold = d.removal(st).GPUThreshold
		}
		d.nodes[n.Name()] = st
	}
	for name := range d.m.Removable {
		if d.nodes[name] == nil {
			delete(d.m.Removable, name)
		}
	}
}

// untouched says of nodes that sluice leaves alone why it does.
func (d *decision) untouched(n *cluster.Node) (Outcome, []reason.Reason, bool) {
	about := reason.Node(n.Name())
	_, onLadder := cluster.RemovalOf(n.Object)
	keep := func(code reason.Code, facts ...any) (Outcome, []reason.Reason, bool) {
		return NodeKeep, []reason.Reason{reason.New(code, about, facts...)}, true
	}
	switch {
	case len(n.Suspects) > 0:
		names := ""
		for i, in := range n.Suspects {
			if i > 0 {
				names += ", "
			}
			names += fmt.Sprintf("%s/%s", in.Group, in.ID)
		}
		return NodeHold, []reason.Reason{reason.New(reason.NodeAmbiguous, about, "instances", names)}, true
	case n.Group == "" || d.groups[n.Group] == nil:
		return keep(reason.NodeUnmanaged)
	case cluster.ControlPlane(n.Object):
		return keep(reason.NodeControlPlane)
	case onLadder:
		return "", nil, false
	case n.Instance == nil:
		return NodeHold, []reason.Reason{reason.New(reason.NodeMachineMissing, about, "group", n.Group)}, true
	case n.Instance.State == cluster.StateDeleting:
		return NodeGone, []reason.Reason{reason.New(reason.NodeLeaving, about, "instance", n.Instance.ID)}, true
	case n.Object.Spec.Unschedulable:
		return keep(reason.NodeHeldByPerson)
	case cluster.Kept(n.Object):
		return keep(reason.NodeScaleDownOff)
	case n.Instance.Protected:
		return keep(reason.NodeProtected, "instance", n.Instance.ID)
	case len(n.Awaits) > 0 && d.starting(n):
		return keep(reason.NodeAwaitsDevices, "age", age(d.now, n.Object.CreationTimestamp), "devices", deviceNames(n))
	case d.starting(n):
		return keep(reason.NodeStarting, "age", age(d.now, n.Object.CreationTimestamp))
	}
	return "", nil, false
}

// deviceNames are the devices that the node awaits, in one word.
func deviceNames(n *cluster.Node) string {
	var names []string
	for name := range n.Awaits {
		names = append(names, string(name))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// movers are the pods that have to leave before a node's machine may go: all but daemons and those that should have ended by now.
func (d *decision) movers(n *cluster.Node) []*cluster.Pod {
	return slices.DeleteFunc(slices.Clone(n.Pods), func(p *cluster.Pod) bool { return p.Daemon() || p.Overstayed(d.now) })
}

// daemons are the pods that stay with a node.
func daemons(n *cluster.Node) []*cluster.Pod {
	return slices.DeleteFunc(slices.Clone(n.Pods), func(p *cluster.Pod) bool { return !p.Daemon() })
}

// age is how long ago t was, in whole seconds.
func age(now time.Time, t metav1.Time) time.Duration { return now.Sub(t.Time).Truncate(time.Second) }

// percent prints a share.
func percent(share float64) string { return fmt.Sprintf("%.0f%%", share*100) }
