package guard

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

func checkCordon(w Cordon, e Evidence, allowed *policy.Policy) error {
	n, about := e.Newest.Node(w.Node), reason.Node(w.Node)
	if n == nil || n.Object.UID != w.UID {
		return refuse("S-14", reason.NodeReplaced, about)
	}
	removal, on := cluster.RemovalOf(n.Object)
	quiesced := on && removal.Why == cluster.RunsDry // it is sluice's own cordon, and the next phase follows
	switch {
	case checkControlPlane(n, e, allowed) != nil:
		return checkControlPlane(n, e, allowed)
	case checkServers(n.Group, e, allowed) != nil:
		return checkServers(n.Group, e, allowed)
	case checkKept(n, e) != nil:
		return checkKept(n, e)
	case quiesced && !n.Object.Spec.Unschedulable:
		return refuse("S-18", reason.NodeFreedByPerson, about)
	case n.Object.Spec.Unschedulable && !quiesced:
		return refuse("S-18", reason.NodeHeldByPerson, about)
	case cluster.Noticed(n.Object) && !n.CameTrue() && !quiesced:
		notice, _ := cluster.NoticeOf(n.Object)
		return refuse("S-18", reason.NodeNoticed, about, "kind", notice.Kind, "at", notice.Deadline.Format(time.RFC3339))
	case n.Instance == nil || n.Instance.Machine() != w.Machine:
		return refuse("S-12", reason.NodeMatchUnclear, about, "machine", w.Machine)
	case n.Instance.Protected:
		return refuse("S-18", reason.NodeProtected, about, "instance", w.Machine.ID)
	}
	if w.Why != cluster.RunsDry { // nobody is told to leave
		if err := checkEmpty(n, e, allowed); err != nil {
			return err
		}
	}
	return checkWanted(n, e, allowed)
}

// checkOwner holds what another sluice has put on a node of no group of this one's: only that one takes it back. On a node of its own
// groups a sluice gives room back whoever has taken it.
func checkOwner(node string, e Evidence, allowed *policy.Policy) error {
	n := e.Newest.Node(node)
	if n == nil || n.Instance != nil || len(n.Suspects) > 0 || e.Newest.Group(n.Group) != nil {
		return nil
	}
	if owner := cluster.OwnerOf(n.Object); owner != "" && owner != allowed.Installation {
		return refuse("S-37", reason.NodeOfOtherSluice, reason.Node(node), "owner", owner, "this", allowed.Installation)
	}
	return nil
}

// checkCandidateTaint holds nodes that are not sluice's to steer pods away from.
func checkCandidateTaint(w CandidateTaint, e Evidence) error {
	n, about := e.Newest.Node(w.Node), reason.Node(w.Node)
	switch {
	case n == nil || n.Object.UID != w.UID:
		return refuse("S-14", reason.NodeReplaced, about)
	case cluster.ControlPlane(n.Object):
		return refuse("S-17", reason.NodeControlPlane, about)
	case checkKept(n, e) != nil:
		return checkKept(n, e)
	case n.Instance == nil:
		return refuse("S-12", reason.NodeUnmanaged, about)
	case n.Instance.Protected:
		return refuse("S-18", reason.NodeProtected, about, "instance", n.Instance.ID)
	}
	return nil
}

func checkEvict(w Evict, e Evidence, allowed *policy.Policy) error {
	n, about := e.Newest.Node(w.Node), reason.Node(w.Node)
	if n == nil {
		return refuse("S-14", reason.NodeReplaced, about)
	}
	if err := checkSeen(w.Node, e); err != nil {
		return err
	}
	if _, on := cluster.RemovalOf(n.Object); !on {
		return refuse("S-15", reason.NodeNotRemoving, about)
	}
	if err := checkActors(n, e); err != nil {
		return err
	}
	if n.Instance != nil && n.Instance.Protected {
		return refuse("S-18", reason.NodeProtected, about, "instance", n.Instance.ID)
	}
	p := podOf(n, w)
	if p == nil {
		return refuse("S-15", reason.PodReplaced, reason.Pod(w.Namespace, w.Pod))
	}
	if allowed.Belongs(p, e.on(n), e.Newest.Time) {
		return checkDismiss(p, n, e, allowed)
	}
	why, keeps := allowed.Uncontrolled(p, e.Newest.Objects.Controllers)
	if !keeps {
		why, keeps = allowed.Keeps(p, e.on(n), e.Newest.Time)
	}
	if keeps {
		return refuseFor("S-15", why)
	}
	return checkEmpty(n, e, allowed)
}

// checkDismiss holds the daemons of nodes that others still have to leave, and those that the policy leaves alone.
func checkDismiss(daemon *cluster.Pod, n *cluster.Node, e Evidence, allowed *policy.Policy) error {
	if !allowed.Removal.Dismisses(daemon, true) && !allowed.Removal.Dismisses(daemon, false) {
		return refuse("S-15", reason.PodStays, reason.Node(n.Name()), "pod", daemon)
	}
	for _, p := range n.Pods {
		if !allowed.Belongs(p, e.on(n), e.Newest.Time) && !p.Leaving() && !p.Finished() {
			return refuse("S-15", reason.PodStillThere, reason.Node(n.Name()), "pod", p)
		}
	}
	return nil
}

func podOf(n *cluster.Node, w Evict) *cluster.Pod {
	for _, p := range n.Pods {
		if p.Namespace == w.Namespace && p.Name == w.Pod && p.UID == w.UID {
			return p
		}
	}
	return nil
}
