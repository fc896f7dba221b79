package workload

import (
	"fmt"
	"slices"
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
