package workload

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
)

// Bound is the pending pod after the scheduler gave it to a node.
func Bound(p *corev1.Pod, node string, at time.Time) *corev1.Pod {
	p = p.DeepCopy()
	p.Spec.NodeName = node
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at)}}
	return p
}

// Again is one more pod like a pending one, the n-th of its kind.
func Again(p *corev1.Pod, n int, at time.Time) *corev1.Pod {
	p = p.DeepCopy()
	p.Name = fmt.Sprintf("%s-%d", p.Name, n)
	p.UID = types.UID(fmt.Sprintf("%s-%d", p.UID, n))
	p.CreationTimestamp = metav1.NewTime(at)
	p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(at)
	return p
}

// Heartbeat is the node after its kubelet has reported that nothing changed.
func Heartbeat(n *corev1.Node, at time.Time) *corev1.Node {
	n = n.DeepCopy()
	for i := range n.Status.Conditions {
		n.Status.Conditions[i].LastHeartbeatTime = metav1.NewTime(at)
	}
	return n
}

// Relabelled is the node with another value of a label that nobody reads.
func Relabelled(n *corev1.Node, value string) *corev1.Node {
	n = n.DeepCopy()
	n.Labels["example.com/round"] = value
	return n
}

// Joined is one more machine of the group, made like one that it has, and the Ready node that it became. No other has its number.
func Joined(like *cluster.Instance, node *corev1.Node, number int, at time.Time) (*cluster.Instance, *corev1.Node) {
	in, n := *like, node.DeepCopy()
	name := fmt.Sprintf("%s-new-%04d", like.Group, number)
	in.ID = cluster.InstanceID(fmt.Sprintf("new-%04d", number))
	in.UID = fmt.Sprintf("%08x-5a1c-4e00-9000-%012x", number+1, number+1)
	in.ProviderID = like.ProviderID[:strings.LastIndexByte(like.ProviderID, '/')+1] + string(in.ID)
	in.ComputerName, in.PrivateIPs, in.Node = name, []string{fmt.Sprintf("10.200.%d.%d", number/250, 1+number%250)}, ""
	in.Created = at.Add(-time.Minute)
	n.Name, n.UID, n.CreationTimestamp = name, types.UID("node-"+name), metav1.NewTime(at)
	n.Labels[corev1.LabelHostname] = name
	n.Spec.ProviderID, n.Status.NodeInfo.SystemUUID = in.ProviderID, in.UID
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: in.PrivateIPs[0]}, {Type: corev1.NodeHostName, Address: name}}
	return &in, n
}

// Reread is the group as the cloud tells of it once more, in objects of its own.
func Reread(g *cluster.Group, at time.Time) *cluster.Group {
	again := *g
	again.Read.At = at
	again.Template = g.Template.DeepCopy()
	again.Instances = make([]*cluster.Instance, len(g.Instances))
	for i, in := range g.Instances {
		machine := *in
		machine.PrivateIPs = slices.Clone(in.PrivateIPs)
		again.Instances[i] = &machine
	}
	return &again
}

// Split has the machines of the world's groups form so many groups, each with machines of one of those.
func (w *World) Split(into int) {
	nodes := map[string]*corev1.Node{}
	for _, n := range w.Nodes {
		nodes[n.Spec.ProviderID] = n
	}
	var split []*cluster.Group
	for i, g := range w.Groups {
		parts := into/len(w.Groups) + min(1, max(0, into%len(w.Groups)-i))
		for k := range parts {
			part := *g
			part.ID, part.Instances = cluster.GroupID(fmt.Sprintf("%s-%d", g.ID, k)), nil
			for j := k; j < len(g.Instances); j += parts {
				in := g.Instances[j]
				n := nodes[in.ProviderID]
				in.Group, in.ProviderID = part.ID, strings.Replace(in.ProviderID, "/"+string(g.ID)+"/", "/"+string(part.ID)+"/", 1)
				n.Spec.ProviderID = in.ProviderID
				part.Instances = append(part.Instances, in)
			}
			part.Capacity = len(part.Instances)
			split = append(split, &part)
		}
	}
	w.Groups = split
}
