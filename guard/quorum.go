package guard

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
)

// checkControlPlane holds control-plane and etcd nodes: they are opted in, none but this one is on its way out, and those that are left keep the
// quorum of all that vote now.
func checkControlPlane(n *cluster.Node, e Evidence, allowed *policy.Policy) error {
	if !cluster.ControlPlane(n.Object) {
		return nil
	}
	if !allowed.Removal.ControlPlane {
		return refuse("S-17", "node %s is a control-plane node", n.Name())
	}
	for _, other := range e.Newest.Nodes {
		if other == n || !cluster.ControlPlane(other.Object) {
			continue
		}
		if _, leaves := cluster.RemovalOf(other.Object); leaves || other.Instance != nil && other.Instance.State == cluster.StateDeleting {
			return refuse("S-17", "control-plane node %s is on its way out, node %s waits for it", other.Name(), n.Name())
		}
	}
	left, voters := 0, cluster.Voters(e.Newest.Nodes)
	for _, v := range voters {
		if v != n && v.Serving() {
			left++
		}
	}
	if needs := cluster.Quorum(len(voters)); left < needs {
		return refuse("S-17", "without node %s the control plane would have %d of its %d voters, and needs %d", n.Name(), left, len(voters), needs)
	}
	return nil
}
