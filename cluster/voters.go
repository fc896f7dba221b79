package cluster

import corev1 "k8s.io/api/core/v1"

// etcdRole is the label of nodes that run etcd where some run the control plane alone.
const etcdRole = "node-role.kubernetes.io/etcd"

// Voters are the nodes on which the cluster's state is voted on: those with the role etcd where there are any, else all of the control
// plane. A node whose machine is gone is among them as long as its object is there.
func Voters(nodes []*Node) []*Node {
	var all, etcd []*Node
	for _, n := range nodes {
		if ControlPlane(n.Object) {
			all = append(all, n)
			if _, votes := n.Object.Labels[etcdRole]; votes {
				etcd = append(etcd, n)
			}
		}
	}
	if len(etcd) > 0 {
		return etcd
	}
	return all
}

// Quorum is how many of so many voters have to agree.
func Quorum(voters int) int { return voters/2 + 1 }

// Serving says whether a voter can be counted on: it is Ready, and its machine is at work and not on its way out. The API server calls a
// node Ready for a while when its machine has gone or was switched off; of one of no group nobody knows more.
func (n *Node) Serving() bool {
	_, leaves := RemovalOf(n.Object)
	works := n.Group == "" || len(n.Suspects) > 0
	if in := n.Instance; in != nil {
		works = in.State != StateDeleting && !in.Stopped()
	}
	return works && !leaves && Ready(n.Object) && !stops(n.Object)
}

// stops says whether the cloud has announced that the node's machine stops.
func stops(n *corev1.Node) bool {
	notice, noticed := NoticeOf(n)
	return noticed && notice.Stops()
}
