package fidelity

import (
	"fmt"
	"iter"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const hour = time.Hour

// class is what a workload makes its pods of.
type class struct {
	name     string
	template corev1.Pod
	carries  []Constraint
	made     int
}

// each are the rules of the constraints that are on, in their order.
func (d *draft) each() iter.Seq[rule] {
	return func(yield func(rule) bool) {
		for _, c := range d.w.Constraints {
			if !yield(rules[c]) {
				return
			}
		}
	}
}

// appNames are what pods select each other by.
var appNames = []string{"web", "cache", "batch"}

// classes makes two to five workloads; a constraint that is on binds most of them.
func (d *draft) classes() {
	for i := range d.between(2, 5) {
		k := &class{name: fmt.Sprintf("%s-%d", pick(d, appNames...), i)}
		k.template = corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: pick(d, "default", "default", "shop", "tools"),
				Labels:    map[string]string{"app": k.name[:len(k.name)-2], "pod-template-hash": pick(d, "one", "two")},
			},
			Spec: corev1.PodSpec{
				Containers:    []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: d.requests()}}},
				SchedulerName: corev1.DefaultSchedulerName,
				RestartPolicy: corev1.RestartPolicyAlways,
			},
		}
		for _, c := range d.w.Constraints {
			if r := rules[c]; r.pod != nil && d.chance(0.7) {
				r.pod(d, &k.template)
				k.carries = append(k.carries, c)
			}
		}
		merge(&k.template)
		d.kinds = append(d.kinds, k)
	}
}

// requests of one container: parts of a node, so that a few fill it; now and then nothing, or odd amounts.
func (d *draft) requests() corev1.ResourceList {
	if d.chance(0.08) {
		return nil
	}
	l := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(pick[int64](d, 100, 250, 250, 500, 500, 900, 1000, 1900), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(pick[int64](d, 128, 512, 512, 1024, 2048)<<20, resource.BinarySI),
	}
	if d.chance(0.1) {
		delete(l, pick(d, corev1.ResourceCPU, corev1.ResourceMemory))
	}
	return l
}

// pod makes the class's next one.
func (d *draft) pod(k *class) *corev1.Pod {
	p := k.template.DeepCopy()
	p.Name = fmt.Sprintf("%s-%d", k.name, k.made)
	k.made++
	p.UID = types.UID("uid-of-" + keyOf(p))
	p.CreationTimestamp = metav1.NewTime(Start.Add(-time.Duration(d.between(5, 50)) * time.Minute))
	p.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: k.name, UID: types.UID("uid-of-" + k.name), Controller: new(true),
	}}
	d.w.Carries[keyOf(p)] = k.carries
	d.w.Pods = append(d.w.Pods, p)
	return p
}

// running makes pods that are bound: where their requests fit, whatever else they would have been refused for, as after a change
// of labels or taints.
func (d *draft) running() {
	for range d.between(0, 25) {
		n := pick(d, d.w.Nodes...)
		k := pick(d, d.kinds...)
		if d.used(n, corev1.ResourceCPU)+k.template.Spec.Containers[0].Resources.Requests.Cpu().MilliValue() > n.Status.Allocatable.Cpu().MilliValue() && !d.chance(0.02) {
			continue
		}
		p := d.pod(k)
		p.Spec.NodeName, p.Spec.SchedulingGates = n.Name, nil
		p.Status.Phase = corev1.PodRunning
		for c := range d.each() {
			for _, change := range []func(*draft, *corev1.Pod){c.each, c.bound} {
				if change != nil {
					change(d, p)
				}
			}
		}
	}
}

func (d *draft) used(n *corev1.Node, r corev1.ResourceName) int64 {
	var sum int64
	for _, p := range d.w.Pods {
		if p.Spec.NodeName == n.Name {
			q := p.Spec.Containers[0].Resources.Requests[r]
			sum += q.MilliValue()
		}
	}
	return sum
}

// pending makes pods that kube-scheduler has refused so far.
func (d *draft) pending() {
	for range d.between(5, 40) {
		p := d.pod(pick(d, d.kinds...))
		p.Status.Phase = corev1.PodPending
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			LastTransitionTime: metav1.NewTime(Start.Add(-time.Minute)),
		}}
		for c := range d.each() {
			for _, change := range []func(*draft, *corev1.Pod){c.each, c.pending} {
				if change != nil {
					change(d, p)
				}
			}
		}
	}
}

// daemons makes up to two DaemonSets, small enough for every node.
func (d *draft) daemons() {
	for i := range d.between(0, 2) {
		name := fmt.Sprintf("daemon-%d", i)
		labels := map[string]string{"app": pick(d, "agent", "web")}
		ds := &appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: pick(d, "default", "tools"), Name: name, UID: types.UID("uid-of-" + name)},
			Spec: appsv1.DaemonSetSpec{
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(labels)},
					Spec: corev1.PodSpec{
						Containers: []corev1.Container{{Name: "agent", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
							corev1.ResourceCPU: *resource.NewMilliQuantity(pick[int64](d, 10, 100), resource.DecimalSI),
						}}}},
						SchedulerName: corev1.DefaultSchedulerName, RestartPolicy: corev1.RestartPolicyAlways,
					},
				},
			},
		}
		for c := range d.each() {
			if c.daemon != nil {
				c.daemon(d, &ds.Spec.Template.Spec)
			}
		}
		d.w.DaemonSets = append(d.w.DaemonSets, ds)
	}
}

// merge puts match label keys into the selectors, as the API server does when it stores a pod.
func merge(p *corev1.Pod) {
	in := func(selector **metav1.LabelSelector, keys []string, operator metav1.LabelSelectorOperator) {
		for _, key := range keys {
			value, ok := p.Labels[key]
			if !ok || *selector == nil {
				continue
			}
			*selector = (*selector).DeepCopy()
			(*selector).MatchExpressions = append((*selector).MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: []string{value}})
		}
	}
	for _, terms := range required(p.Spec.Affinity) {
		for i := range *terms {
			t := &(*terms)[i]
			in(&t.LabelSelector, t.MatchLabelKeys, metav1.LabelSelectorOpIn)
			in(&t.LabelSelector, t.MismatchLabelKeys, metav1.LabelSelectorOpNotIn)
		}
	}
	for i := range p.Spec.TopologySpreadConstraints {
		t := &p.Spec.TopologySpreadConstraints[i]
		in(&t.LabelSelector, t.MatchLabelKeys, metav1.LabelSelectorOpIn)
	}
}

// required are the terms of required pod affinity and anti-affinity.
func required(a *corev1.Affinity) []*[]corev1.PodAffinityTerm {
	var all []*[]corev1.PodAffinityTerm
	if a != nil && a.PodAffinity != nil {
		all = append(all, &a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	if a != nil && a.PodAntiAffinity != nil {
		all = append(all, &a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	return all
}
