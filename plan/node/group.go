package node

import (
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// Parks says whether the node's machine is parked when it leaves. A pod that goes with it would stay bound to the Node object for as long
// as that is there, and nobody would make it again, and a volume that is attached still would not come off: then the machine is deleted.
// Scenario parked-under-a-pod holds this.
func (d *View) Parks(st *GroupFacts, n *cluster.Node) bool {
	return st.Parks && len(d.Attachments()[n.Name()]) == 0 && !slices.ContainsFunc(n.Pods, func(p *cluster.Pod) bool { return !p.Daemon() })
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

// count counts the group's machines.
func count(g *cluster.Group) counts {
	r := counts{deleting: g.Deleting(), standing: g.Standing(), usable: g.Usable()}
	for _, in := range g.Instances {
		if in.Node == "" {
			r.Unregistered = append(r.Unregistered, in)
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
// Package grow lets the size rest for it: the next spot machine would be taken away as well (scenarios spot-loss-rests,
// spot-loss-unannounced).
func (d *View) leavesSpot(v *Facts) bool {
	g := d.groups[v.Group]
	if g == nil || !g.Spot {
		return false
	}
	return v.noticed || !v.Leaves && (v.Instance == nil || v.Instance.State == cluster.StateDeleting || v.Instance.Stopped())
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
