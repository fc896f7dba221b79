// Package clustertest builds nodes, pods, machines and groups for tests, with the few words that matter to the case at hand.
package clustertest

import (
	"fmt"
	"slices"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
)

// Start is when the clock of these tests begins.
var Start = time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)

// Node is a Ready node of 4 cores and 16 GiB that has existed for a day.
func Node(name string, change ...func(*corev1.Node)) *corev1.Node {
	created := metav1.NewTime(Start.Add(-24 * time.Hour))
	resources := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), CreationTimestamp: created, Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{
			Capacity: resources, Allocatable: resources,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: created}},
		},
	}
	for _, c := range change {
		c(n)
	}
	return n
}

// NotReady makes a node that has not been Ready since t.
func NotReady(t time.Time) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(t)}}
	}
}

// Silent makes a node whose kubelet has not reported since t.
func Silent(t time.Time) func(*corev1.Node) {
	return func(n *corev1.Node) {
		NotReady(t)(n)
		n.Status.Conditions[0].Status, n.Status.Conditions[0].Reason = corev1.ConditionUnknown, "NodeStatusUnknown"
	}
}

// Removing cordons a node that was underused, for the machine that [Machine] would give it.
func Removing(since time.Time, m cluster.Machine) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, cluster.Removal{Since: since, Why: "underused"}.Taint())
		n.Spec.Unschedulable = true
		if n.Annotations == nil {
			n.Annotations = map[string]string{}
		}
		n.Annotations[cluster.MachineAnnotation] = m.String()
	}
}

// For is why a cordoned node leaves instead.
func For(why string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		was, _ := cluster.RemovalOf(n)
		for i, t := range n.Spec.Taints {
			if t.Key == cluster.RemovalTaint {
				n.Spec.Taints[i] = cluster.Removal{Since: was.Since, Why: why}.Taint()
			}
		}
	}
}

// Noticed has the cloud announce something to a node's machine.
func Noticed(notice cluster.Notice) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, notice.Taint())
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, cluster.NoticeAnnotation, notice.Annotation())
	}
}

// Pod is a pending pod of a ReplicaSet that the scheduler found no node for. It asks for one core.
func Pod(name string, change ...func(*corev1.Pod)) *cluster.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(Start.Add(-time.Minute)),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "rs", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{
			SchedulerName: corev1.DefaultSchedulerName,
			Containers:    []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodPending,
			Conditions: []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.NewTime(Start.Add(-time.Second)),
			}},
		},
	}
	for _, c := range change {
		c(p)
	}
	return Record(p)
}

// Record is the record of an API object.
func Record(p *corev1.Pod) *cluster.Pod {
	return cluster.NewPods(p)[0]
}

// Changed is the pod with these changes.
func Changed(p *cluster.Pod, change ...func(*corev1.Pod)) *cluster.Pod {
	o := p.Object().DeepCopy()
	for _, c := range change {
		c(o)
	}
	return Record(o)
}

// CPU is what the pod asks for.
func CPU(quantity string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(quantity)
	}
}

// On lets the pod run on a node.
func On(node string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.NodeName, p.Status = node, corev1.PodStatus{Phase: corev1.PodRunning}
	}
}

// OwnedBy gives the pod another controller; an empty kind makes it a bare pod.
func OwnedBy(kind, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = nil
		if kind != "" {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, UID: types.UID(kind + "-" + name), Controller: new(true)}}
		}
	}
}

// Annotated adds an annotation to a pod.
func Annotated(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations[key] = value
	}
}

// Labelled adds a label to a pod.
func Labelled(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		if p.Labels == nil {
			p.Labels = map[string]string{}
		}
		p.Labels[key] = value
	}
}

// Budget is a disruption budget over pods with a label, that allows so many disruptions now.
func Budget(name, key, value string, allowed int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}
}

// Group is a group of machines of 4 cores, completely read at [Start], with its capacity at their number. Machines of it have been nodes.
func Group(id string, low, high int, machines ...*cluster.Instance) *cluster.Group {
	template := Node("")
	template.Labels = map[string]string{}
	for _, m := range machines {
		m.Group = cluster.GroupID(id)
	}
	return &cluster.Group{
		ID: cluster.GroupID(id), Min: low, Max: high, Capacity: len(machines), Template: template, Size: "Standard_D4s_v5", Joined: true,
		Instances: machines, Read: cluster.Read{At: Start, Complete: true, Version: "v1"},
	}
}

// Machine is a running machine that becomes the node of the given name, "" for one that has not joined.
func Machine(id, node string, change ...func(*cluster.Instance)) *cluster.Instance {
	in := &cluster.Instance{
		ID: cluster.InstanceID(id), UID: "vm-" + id, ProviderID: "cloud:///machines/" + id, ComputerName: node,
		State: cluster.StateRunning, Created: Start.Add(-24 * time.Hour),
	}
	if node == "" {
		in.ComputerName = fmt.Sprintf("unjoined-%s", id)
	}
	for _, c := range change {
		c(in)
	}
	return in
}

// In puts the machine into a state.
func In(state cluster.State) func(*cluster.Instance) {
	return func(i *cluster.Instance) { i.State = state }
}

// Born sets when the machine was made.
func Born(t time.Time) func(*cluster.Instance) {
	return func(i *cluster.Instance) { i.Created = t }
}

// Gone is a ledger in which these machines of a group are gone for certain, by [Start]: they were seen to leave, and no list has them any more.
func Gone(group cluster.GroupID, uids ...string) fleet.Ledger {
	ago := func(d time.Duration) fleet.Instant { return fleet.At(Start.Add(-d)) }
	seen := fleet.Listed{Group: fleet.GroupID(group), Asked: ago(2 * time.Hour), Counted: true, Whole: true}
	for _, uid := range uids {
		seen.Machines = append(seen.Machines, fleet.Sighted{UID: fleet.UID(uid), ID: uid, State: fleet.Deleting})
	}
	lacks := fleet.Listed{Group: seen.Group, Asked: ago(time.Minute), Counted: true, Whole: true}
	return fleet.New(fleet.Usual(), ago(3*time.Hour)).Observe(fleet.At(Start), seen, lacks)
}

// Ledger is what a process that began so long ago knows of the snapshot's machines: it has listed them then and just now, and has seen Ready what was a
// node by then. A node that is not Ready was never one if it has been so since it was made.
func Ledger(s *cluster.Snapshot, ago time.Duration) fleet.Ledger {
	now, began := fleet.At(s.Time), fleet.At(s.Time.Add(-ago))
	l := fleet.New(fleet.Usual(), began)
	for _, g := range s.Groups {
		first := fleet.Listed{Group: fleet.GroupID(g.ID), Asked: began + 1, Counted: true, Capacity: g.Capacity, Whole: true}
		last := first
		last.Asked = now - 1
		for _, in := range slices.Concat(g.Instances, g.Parked) {
			m := fleet.Sighted{UID: fleet.UID(in.UID), ID: string(in.ID), State: fleet.Running, Created: fleet.At(in.Created)}
			if m.Created <= began {
				first.Machines = append(first.Machines, m)
			}
			m.State = sighted(in)
			last.Machines = append(last.Machines, m)
		}
		for _, n := range s.Nodes {
			if in := n.Instance; n.Group == g.ID && in != nil && !slices.ContainsFunc(first.Machines, func(m fleet.Sighted) bool { return string(m.UID) == in.UID }) && fleet.At(in.Created) <= began {
				first.Machines = append(first.Machines, fleet.Sighted{UID: fleet.UID(in.UID), ID: string(in.ID), State: fleet.Running, Created: fleet.At(in.Created)})
			}
		}
		l = l.Observe(began+1, first, fleet.Nodes{Group: first.Group, At: began + 1})
		for _, n := range s.Nodes {
			l = see(l, g, n, began+1, now)
		}
		l = l.Observe(now, last)
	}
	return l
}

// AskedFor is what a process knows that an hour ago asked for so many machines of the group, which had none. Lists show them since, the last one just now.
func AskedFor(g *cluster.Group, n int, now time.Time) fleet.Ledger {
	ago := func(d time.Duration) fleet.Instant { return fleet.At(now.Add(-d)) }
	list := fleet.Listed{Group: fleet.GroupID(g.ID), Asked: ago(61 * time.Minute), Counted: true, Whole: true}
	l := fleet.New(fleet.Usual(), ago(62*time.Minute)).Observe(fleet.At(now), list, fleet.Nodes{Group: list.Group, At: list.Asked},
		fleet.Asked{Group: list.Group, At: ago(time.Hour), Verb: fleet.Grow, To: n}, fleet.Answered{Group: list.Group, Asked: ago(time.Hour), At: ago(time.Hour), Answer: fleet.Done})
	list.Capacity = g.Capacity
	for _, in := range g.Instances {
		list.Machines = append(list.Machines, fleet.Sighted{UID: fleet.UID(in.UID), ID: string(in.ID), State: sighted(in), Created: ago(59 * time.Minute)})
	}
	for _, at := range []time.Duration{58 * time.Minute, time.Second} {
		list.Asked = ago(at)
		l = l.Observe(fleet.At(now), list)
	}
	return l
}

// sighted is the machine's state as a list has it.
func sighted(in *cluster.Instance) fleet.State {
	if in.Stopped() {
		return fleet.Off
	}
	return map[cluster.State]fleet.State{
		cluster.StateCreating: fleet.Creating, cluster.StateRunning: fleet.Running, cluster.StateDeleting: fleet.Deleting, cluster.StateFailed: fleet.Failed,
	}[in.State]
}

// see is the ledger that has seen the node, if it is one of the group's.
func see(l fleet.Ledger, g *cluster.Group, n *cluster.Node, began, now fleet.Instant) fleet.Ledger {
	uid := n.Parked.UID
	if n.Instance != nil {
		uid = n.Instance.UID
	}
	if n.Group != g.ID || uid == "" {
		return l
	}
	created, since := fleet.At(n.Object.CreationTimestamp.Time), fleet.At(n.Object.Status.Conditions[0].LastTransitionTime.Time)
	seen := fleet.NodeSeen{Group: fleet.GroupID(g.ID), UID: fleet.UID(uid), At: max(began, created), Created: created, Ready: since > created, Since: created}
	if cluster.Ready(n.Object) {
		seen.Ready, seen.Since = true, since
		return l.Observe(seen.At, seen)
	}
	l = l.Observe(seen.At, seen)
	seen.At, seen.Ready, seen.Since = min(now, max(seen.At+1, since)), false, since
	return l.Observe(seen.At, seen)
}

// Objects sorts objects into the kinds that a snapshot is made of, and each kind by name.
func Objects(all ...any) cluster.Objects {
	var os cluster.Objects
	for _, o := range all {
		switch o := o.(type) {
		case *corev1.Node:
			os.Nodes = append(os.Nodes, o)
		case *cluster.Pod:
			os.Pods = append(os.Pods, o)
		case *policyv1.PodDisruptionBudget:
			os.Budgets = append(os.Budgets, o)
		case *cluster.ProvisioningRequest:
			os.ProvisioningRequests = append(os.ProvisioningRequests, o)
		case *cluster.CapacityBuffer:
			os.CapacityBuffers = append(os.CapacityBuffers, o)
		case *corev1.PodTemplate:
			os.PodTemplates = append(os.PodTemplates, o)
		default:
			panic(fmt.Sprintf("clustertest.Objects: %T", o))
		}
	}
	sort.Slice(os.Nodes, func(i, j int) bool { return os.Nodes[i].Name < os.Nodes[j].Name })
	sort.Slice(os.ProvisioningRequests, func(i, j int) bool { return os.ProvisioningRequests[i].String() < os.ProvisioningRequests[j].String() })
	sort.Slice(os.CapacityBuffers, func(i, j int) bool { return os.CapacityBuffers[i].String() < os.CapacityBuffers[j].String() })
	sort.Slice(os.PodTemplates, func(i, j int) bool { return os.PodTemplates[i].Name < os.PodTemplates[j].Name })
	sort.Slice(os.Pods, func(i, j int) bool { return os.Pods[i].String() < os.Pods[j].String() })
	return os
}
