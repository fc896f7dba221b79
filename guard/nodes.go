package guard

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
)

func checkCordon(w Cordon, e Evidence, allowed *policy.Policy) error {
	n := e.Newest.Node(w.Node)
	if n == nil || n.Object.UID != w.UID {
		return refuse("S-14", "node %s is not the object that the decision saw", w.Node)
	}
	removal, on := cluster.RemovalOf(n.Object)
	dried := on && removal.Why == cluster.RunsDry // it is sluice's own cordon, and the next rung follows
	switch {
	case checkControlPlane(n, e, allowed) != nil:
		return checkControlPlane(n, e, allowed)
	case checkServers(n.Group, e, allowed) != nil:
		return checkServers(n.Group, e, allowed)
	case checkKept(n, e) != nil:
		return checkKept(n, e)
	case dried && !n.Object.Spec.Unschedulable:
		return refuse("S-18", "node %s was uncordoned by somebody else", w.Node)
	case n.Object.Spec.Unschedulable && !dried:
		return refuse("S-18", "node %s is cordoned already, by somebody else", w.Node)
	case cluster.Noticed(n.Object) && !n.CameTrue() && !dried:
		return refuse("S-18", "the cloud has announced something to the machine of node %s", w.Node)
	case n.Instance == nil || n.Instance.Machine() != w.Machine:
		return refuse("S-12", "node %s is not for certain machine %s", w.Node, w.Machine)
	case n.Instance.Protected:
		return refuse("S-18", "machine %s is protected in the cloud", w.Machine)
	}
	if w.Why != cluster.RunsDry { // nobody is told to leave
		if err := checkEmpty(n, e, allowed); err != nil {
			return err
		}
	}
	return checkWanted(n, e, allowed)
}

// checkOwner holds what another sluice has put on a node of no group of this one's: only that one takes it back. On a node of its own groups a sluice
// gives room back whoever has taken it.
func checkOwner(node string, e Evidence, allowed *policy.Policy) error {
	n := e.Newest.Node(node)
	if n == nil || n.Instance != nil || len(n.Suspects) > 0 || e.Newest.Group(n.Group) != nil {
		return nil
	}
	if owner := cluster.OwnerOf(n.Object); owner != "" && owner != allowed.Installation {
		return refuse("S-37", "what stands on node %s is for %s to take back, and this is %s", node, owner, allowed.Installation)
	}
	return nil
}

// checkSoftTaint holds nodes that are not sluice's to steer pods away from.
func checkSoftTaint(w SoftTaint, e Evidence) error {
	n := e.Newest.Node(w.Node)
	switch {
	case n == nil || n.Object.UID != w.UID:
		return refuse("S-14", "node %s is not the object that the decision saw", w.Node)
	case cluster.ControlPlane(n.Object):
		return refuse("S-17", "node %s is a control-plane node", w.Node)
	case checkKept(n, e) != nil:
		return checkKept(n, e)
	case n.Instance == nil:
		return refuse("S-12", "node %s is not for certain a machine of a group", w.Node)
	case n.Instance.Protected:
		return refuse("S-18", "machine %s is protected in the cloud", n.Instance.Machine())
	}
	return nil
}

func checkEvict(w Evict, e Evidence, allowed *policy.Policy) error {
	n := e.Newest.Node(w.Node)
	if n == nil {
		return refuse("S-14", "node %s is gone", w.Node)
	}
	if err := checkSeen(w.Node, e); err != nil {
		return err
	}
	if _, on := cluster.RemovalOf(n.Object); !on {
		return refuse("S-15", "node %s is not on its way out, its pods stay", w.Node)
	}
	if err := checkHands(n, e); err != nil {
		return err
	}
	if n.Instance != nil && n.Instance.Protected {
		return refuse("S-18", "machine %s is protected in the cloud", n.Instance.Machine())
	}
	p := podOf(n, w)
	if p == nil {
		return refuse("S-15", "pod %s/%s on node %s is not the one that the decision saw", w.Namespace, w.Pod, w.Node)
	}
	if allowed.Belongs(p, e.on(n), e.Newest.Time) {
		return checkDismiss(p, n, e, allowed)
	}
	why, keeps := allowed.Uncontrolled(p, e.Newest.Objects.Controllers)
	if !keeps {
		why, keeps = allowed.Keeps(p, e.on(n), e.Newest.Time)
	}
	if keeps {
		return refuse("S-15", "%s", why.Sentence())
	}
	return checkEmpty(n, e, allowed)
}

// checkDismiss holds the daemons of nodes that others still have to leave, and those that the policy leaves alone.
func checkDismiss(daemon *cluster.Pod, n *cluster.Node, e Evidence, allowed *policy.Policy) error {
	if !allowed.Removal.Dismisses(daemon, true) && !allowed.Removal.Dismisses(daemon, false) {
		return refuse("S-15", "pod %s belongs to node %s", daemon.String(), n.Name())
	}
	for _, p := range n.Pods {
		if !allowed.Belongs(p, e.on(n), e.Newest.Time) && !p.Leaving() && !p.Finished() {
			return refuse("S-15", "pod %s belongs to node %s, where pod %s still is", daemon.String(), n.Name(), p.String())
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
