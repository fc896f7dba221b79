package guard

import (
	"maps"
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// checkControlPlane holds control-plane and etcd nodes: they are opted in, none but this one is on its way out, and those that are left
// keep the quorum of all that vote now. All of them were read for this write: a watch may be silent about the last one's taint, and about
// the others' kubelets.
func checkControlPlane(n *cluster.Node, e Evidence, allowed *policy.Policy) error {
	if !cluster.ControlPlane(n.Object) {
		return nil
	}
	about := reason.Node(n.Name())
	if !allowed.Removal.ControlPlane {
		return refuse("S-17", reason.NodeControlPlane, about)
	}
	all := looked(e)
	for _, other := range all {
		if other.Name() == n.Name() || !cluster.ControlPlane(other.Object) {
			continue
		}
		if _, leaves := cluster.RemovalOf(other.Object); leaves || other.Instance != nil && other.Instance.State == cluster.StateDeleting {
			return refuse("S-17", reason.ControlPlaneTurn, about, "other", other.Name())
		}
	}
	left, voters := 0, cluster.Voters(all)
	for _, v := range voters {
		if v.Name() != n.Name() && v.Serving() {
			left++
		}
	}
	if needs := cluster.Quorum(len(voters)); left < needs {
		return refuse("S-17", reason.ControlPlaneQuorum, about, "left", left, "voters", len(voters), "needs", needs)
	}
	return nil
}

// checkServers holds a group that has control-plane nodes: a machine of it that is no node may run the control plane for all that.
func checkServers(id cluster.GroupID, e Evidence, allowed *policy.Policy) error {
	if g := e.Newest.Group(id); g != nil && g.ControlPlane != "" && !allowed.Removal.ControlPlane {
		return refuse("S-17", reason.GroupControlPlane, reason.Group(string(id)), "role", g.ControlPlane)
	}
	return nil
}

// looked are the nodes that were read for this write, by name, with what is known of their machines.
func looked(e Evidence) []*cluster.Node {
	var all []*cluster.Node
	for _, name := range slices.Sorted(maps.Keys(e.Looked)) {
		n := cluster.Node{Object: e.Looked[name]}
		if known := e.Newest.Node(name); known != nil && known.Object.UID == n.Object.UID {
			n = *known
			n.Object = e.Looked[name]
		}
		all = append(all, &n)
	}
	return all
}
