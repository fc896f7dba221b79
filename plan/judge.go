package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/reason"
)

// nodeState is a node of a managed group within one cycle, about which its sight has not said the last word.
type nodeState struct {
	*sight
	group *removeGroup // nil when it is of none that is managed
	at    int          // its place among the snapshot's nodes
	wait
	going      bool // steps on the ladder in this cycle
	pinned     bool // idle, but its group is at its minimum
	kept       bool // needed after all
	counted    bool // among its group's leaving nodes and those in flight
	passedOver bool // no pending pod is welcome on it
	exit       exit // how its machine is to go, once it is counted
}

// judgeNodes says of every node whether it could go. Nodes on the ladder and nodes that may step on it are left to climbLadder.
func (d *removing) judgeNodes() {
	d.states = make([]*nodeState, len(d.s.Nodes))
	d.removable = make([]*nodeState, 0, len(d.facts.watched))
	unready, nodes := 0, len(d.s.Nodes) // nodes that are neither Ready nor starting, and all but those whose machines are switched off or known to be lost
	d.watch(func(at int, v *sight) {
		switch {
		case v.Parked.UID != "" && !v.ready, !v.ready && d.departed(v.Node), !v.ready && d.acknowledged(v.Node):
			nodes--
		case !v.ready && !d.starting(v.Node) && !d.restarts(v.Node):
			unready++
		}
		if v.settled {
			d.facts.said[at] = v.verdict
			return
		}
		st := &nodeState{sight: v, group: d.outgoing(v), at: at}
		d.states[at] = st
		d.removable = append(d.removable, st)
	})
	if !d.allowed.Health.Tolerates(unready, nodes) {
		d.unhealthy = []reason.Reason{reason.New(reason.UnhealthyCluster, reason.Ref{Kind: reason.KindCluster},
			"unready", unready, "nodes", nodes, "tolerated", fmt.Sprintf("%d or %g%%", d.allowed.Health.UnreadyCount, d.allowed.Health.UnreadyPercent))}
	}
	if right, halts := d.s.Objects.Lacks.Halting(); halts {
		d.unhealthy = []reason.Reason{missing(reason.Ref{Kind: reason.KindCluster}, right)}
	}
}

// acknowledged says whether a person knows that the node's machine is lost.
func (d *view) acknowledged(n *cluster.Node) bool {
	return d.fleet != nil && n.Instance != nil && d.fleet.Acknowledged(fleet.GroupID(n.Instance.Group), fleet.UID(n.Instance.UID))
}

// untouched says of nodes that sluice leaves alone why it does.
func (d *view) untouched(v *sight) (Outcome, []reason.Reason, bool) {
	n, about := v.Node, reason.Node(v.Name())
	keep := func(code reason.Code, facts ...any) (Outcome, []reason.Reason, bool) {
		return NodeKeep, []reason.Reason{reason.New(code, about, facts...)}, true
	}
	switch {
	case len(n.Suspects) > 0 && !n.Outlived():
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
	case v.controls && !d.allowed.Removal.ControlPlane && !(v.onLadder && n.Instance != nil): // which is given back
		return keep(reason.NodeControlPlane)
	case d.groups[n.Group].servers && !(v.onLadder && n.Instance != nil):
		return NodeKeep, []reason.Reason{d.controlled(n.Group)}, true
	case n.Parked.UID != "":
		return NodeParked, []reason.Reason{reason.New(reason.NodeMachineParked, about, "instance", n.Parked.ID)}, true
	case !v.ready && wasParked(n) && d.restarts(n):
		return keep(reason.NodeStarting, "age", d.waited(n.Instance))
	case v.onLadder:
		return "", nil, false
	case n.Instance == nil:
		return "", nil, false
	case n.Instance.State == cluster.StateDeleting:
		return leaves(d.parks(d.groups[n.Group], n)), []reason.Reason{reason.New(reason.NodeLeaving, about, "instance", n.Instance.ID, "fate", fate(d.parks(d.groups[n.Group], n)))}, true
	case cluster.Noticed(n.Object) && !n.CameTrue():
		return NodeKeep, []reason.Reason{noticed(n)}, true
	case d.ofIncumbent(n) != nil:
		return NodeKeep, inVain(n, *d.ofIncumbent(n)), true
	case n.Object.Spec.Unschedulable:
		return NodeKeep, inVain(n, reason.New(reason.NodeHeldByPerson, about)), true
	case cluster.Kept(n.Object):
		return NodeKeep, inVain(n, reason.New(reason.NodeScaleDownOff, about)), true
	case d.held(n) != nil:
		return NodeKeep, inVain(n, *d.held(n)), true
	case n.Instance.Protected:
		return NodeKeep, inVain(n, reason.New(reason.NodeProtected, about, "instance", n.Instance.ID)), true
	case len(n.Awaits) > 0 && d.starting(n):
		return keep(reason.NodeAwaitsDevices, "age", age(d.now, n.Object.CreationTimestamp), "devices", deviceNames(n))
	case d.starting(n) && v.ready && len(d.awaitsTaint(n)) > 0:
		return keep(reason.NodeAwaitsTaint, d.awaitsTaint(n)...)
	case d.starting(n):
		return keep(reason.NodeStarting, "age", age(d.now, n.Object.CreationTimestamp))
	case !v.ready && d.restarts(n):
		return keep(reason.NodeStarting, "age", d.waited(n.Instance))
	}
	return "", nil, false
}

// awaitsTaint is what a reason says of the startup taint that the node bears, nil when it bears none: of several the first.
func (d *view) awaitsTaint(n *cluster.Node) []any {
	taints := d.allowed.Growth.Taints.Awaited(n.Object.Spec.Taints)
	if len(taints) == 0 {
		return nil
	}
	return []any{
		"age", age(d.now, n.Object.CreationTimestamp), "taint", taints[0].ToString(), "who", d.allowed.Growth.Taints.Remover(taints[0].Key),
		"limit", d.allowed.Growth.Startup,
	}
}

// controlled says why the group is taken for one of control-plane nodes.
func (d *view) controlled(g cluster.GroupID) reason.Reason {
	return reason.New(reason.GroupControlPlane, reason.Group(string(g)), "role", string(d.groups[g].ControlPlane))
}

// inVain is why people keep the node, and that another one has asked for it to be emptied meanwhile, where that is so.
func inVain(n *cluster.Node, why reason.Reason) []reason.Reason {
	all := []reason.Reason{why}
	if asked := askedFor(n); asked != nil {
		all = append(all, *asked)
	}
	return all
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

// age is how long ago t was, in whole seconds.
func age(now time.Time, t metav1.Time) time.Duration { return now.Sub(t.Time).Truncate(time.Second) }

// percent prints a share, with halves as they read in decimals.
func percent(share float64) string {
	p := math.RoundToEven(math.Round(share*1e6) / 1e4)
	if p >= 0 && p < float64(len(percents)) {
		return percents[int(p)]
	}
	return fmt.Sprintf("%.0f%%", p)
}

// percents are the words for the shares of most nodes.
var percents = func() (words [101]string) {
	for i := range words {
		words[i] = fmt.Sprintf("%d%%", i)
	}
	return words
}()
