package node

import (
	"math"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// roll is what a group's machines come to.
type roll struct {
	Nodeless []*cluster.Instance // machines without a node, whatever they do, in their order
	Faulty   []*cluster.Instance // machines that failed, in their order
	Nodes    int                 // machines with a node
	deleting int
	standing int
	usable   bool // see [cluster.Group.Usable]
}

// GroupFacts is what a group shows within one cycle.
type GroupFacts struct {
	*cluster.Group
	roll
	At        int             // its place among the snapshot's groups
	Removal   policy.Removal  // that holds for its nodes
	Servers   bool            // it has control-plane nodes, which are not opted in: nothing is done to it (S-17)
	Restarted []*cluster.Node // of machines that are started again: not Ready yet, and not for too long
	Contract  contract        // what the safety contract says of it
	Paused    *reason.Reason  // that somebody has paused it, nil when nobody has
}

// Parks says whether the node's machine is parked when it leaves. A pod that goes with it would stay bound to the Node object for as long as that is there, and
// nobody would make it again, and a volume that is attached still would not come off: then the machine is deleted.
func (d *View) Parks(st *GroupFacts, n *cluster.Node) bool {
	return st.Parks && len(d.Attachments()[n.Name()]) <= d.KeptAttached(n) && !slices.ContainsFunc(n.Pods, func(p *cluster.Pod) bool { return !p.Daemon() })
}

// Fate is what becomes of a machine that leaves.
func Fate(parks bool) string {
	if parks {
		return "parked"
	}
	return "deleted"
}

// Leaves is what is said of a node whose machine is on its way to that fate.
func Leaves(parks bool) action.Outcome {
	if parks {
		return action.NodeParking
	}
	return action.NodeDeleting
}

// Usable is [cluster.Group.Usable], found once a cycle.
func (st *GroupFacts) Usable() bool { return st.usable }

// Standing is [cluster.Group.Standing], counted once a cycle.
func (st *GroupFacts) Standing() int { return st.standing }

// Deleting is [cluster.Group.Deleting], counted once a cycle.
func (st *GroupFacts) Deleting() int { return st.deleting }

// callRoll counts the group's machines.
func callRoll(g *cluster.Group) roll {
	r := roll{deleting: g.Deleting(), standing: g.Standing(), usable: g.Usable()}
	for _, in := range g.Instances {
		if in.Node == "" {
			r.Nodeless = append(r.Nodeless, in)
		} else {
			r.Nodes++
		}
		if in.State == cluster.StateFailed {
			r.Faulty = append(r.Faulty, in)
		}
	}
	return r
}

// leavesSpot says of a node whether its machine may be a spot machine that is taken away: something is announced to it, or it leaves or has
// left by no doing of sluice's.
func (d *View) leavesSpot(v *Facts) bool {
	g := d.groups[v.Group]
	if g == nil || !g.Spot {
		return false
	}
	return v.noticed || !v.OnLadder && (v.Instance == nil || v.Instance.State == cluster.StateDeleting || v.Instance.Stopped())
}

// Loss is what the pods are worth that leave with a node.
type Loss struct {
	Cost     int64 // of their deletion, summed up
	Priority int64 // the highest of them, counted from 1 for the least that there is; 0 where nobody leaves
}

// add counts a pod.
func (l *Loss) add(p *cluster.Pod) {
	if said, ok := p.Annotations[corev1.PodDeletionCost]; ok {
		cost, _ := strconv.ParseInt(said, 10, 32) // what is no number says nothing, as in Kubernetes
		l.Cost += cost
	}
	l.Priority = max(l.Priority, int64(p.Priority())-math.MinInt32+1)
}

// Noticed is what the cloud has announced to the node's machine.
func Noticed(n *cluster.Node) reason.Reason {
	notice, _ := cluster.NoticeOf(n.Object)
	if !notice.Stops() && notice.Kind != "Freeze" {
		return reason.New(reason.NodeNoticeUnclear, reason.Node(n.Name()), "annotation", cluster.NoticeAnnotation)
	}
	at := "now"
	if !notice.Deadline.IsZero() {
		at = notice.Deadline.Format(time.RFC3339)
	}
	return reason.New(reason.NodeNoticed, reason.Node(n.Name()), "kind", notice.Kind, "at", at)
}
