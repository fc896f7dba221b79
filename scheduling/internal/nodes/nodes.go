// Package nodes holds the nodes of a pretended cluster, and what specs say of nodes alone.
//
//	file        what it owns
//	nodes       handles, and the pods of one class on a node
//	node        one node: its name, its object, its pods; and what machines of a group are opened like
//	view        how nodes look: by taints, by labels that a spec reads, by the domains of a topology
//	free        what every node has left, in columns, and blocks of nodes that have no room
//	table       all nodes: they join, leave and are found by name
//	rules       TaintToleration, NodeUnschedulable and NodeAffinity, asked once for each kind of node
//	features    NodeDeclaredFeatures, asked in the same way
//
// Pods are known here by the number of their class alone. Package classes counts them.
package nodes

import (
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
)

// Handle names a node, real or pretended: a small number, from 0 on. It means the same node until what added the node is taken back.
type Handle int32

// Entry is pods of one class on a node.
type Entry struct {
	Pod   *cluster.Pod // nil for pods that were placed by number
	Class int32
	N     int32
}

// Leaving says whether the pods are being deleted: spread constraints do not count them.
func (e *Entry) Leaving() bool { return e.Pod != nil && e.Pod.Leaving() }

// Bound says whether the pod runs on a node of the snapshot, rather than being placed there by a what-if.
func (e *Entry) Bound() bool { return e.Pod != nil && e.Pod.Node != "" }

// Reach is the slice with an element of that number; those that it lacked are as the one given.
func Reach[T any, N ~int32](s []T, n N, missing T) []T {
	for len(s) <= int(n) {
		s = append(s, missing)
	}
	return s
}

// Future is the node of that name which a machine made after the template will become: hostname label set, Ready and nothing
// else among its conditions, schedulable, without provider id. The template is not changed and shares nothing with it.
func Future(template *corev1.Node, name string) *corev1.Node {
	n := template.DeepCopy()
	n.Name, n.UID, n.ResourceVersion = name, "", ""
	if n.Labels == nil {
		n.Labels = make(map[string]string, 1)
	}
	n.Labels[corev1.LabelHostname] = name
	n.Spec.ProviderID = ""
	n.Spec.Unschedulable = false
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return n
}
