package workload

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Load is what the pods of one owner have in common. Its fields do not change after the first pod.
type Load struct {
	App       string
	Namespace string
	Milli     int64 // CPU
	MiB       int64
	Selects   map[string]string                  // labels of nodes
	Tolerates []corev1.Toleration                // beside what every pod gets
	Daemon    bool                               // of a DaemonSet, else of a ReplicaSet
	Shape     func(spec *corev1.PodSpec, no int) // adds constraints to the pod of that number; nil for none
}

// created is when running pods were made, and pending ones not long ago; the scheduler looked at those in vain soon after.
var (
	created = At.Add(-7 * 24 * time.Hour)
	burst   = At.Add(-45 * time.Second)
	refused = At.Add(-30 * time.Second)
)

// Running is the pod of that number on a node.
func (l *Load) Running(no int, node string) *corev1.Pod {
	p := l.pod(no, created)
	p.Spec.NodeName = node
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: new(metav1.NewTime(created)), Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(created)},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(created.Add(20 * time.Second))},
	}}
	return p
}

// Pending is the pod of that number, for which the scheduler has found no node.
func (l *Load) Pending(no int) *corev1.Pod {
	p := l.pod(no, burst.Add(time.Duration(no%10)*time.Second))
	p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.NewTime(refused),
		Message: "0/5000 nodes are available: 5000 Insufficient cpu. preemption: 0/5000 nodes are available: 5000 No preemption victims found for incoming pod.",
	}}}
	return p
}

// pod shares nothing with other pods, as objects that an API server sent do not.
func (l *Load) pod(no int, at time.Time) *corev1.Pod {
	requests := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(l.Milli, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(l.MiB<<20, resource.BinarySI),
	}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: l.Namespace, Name: fmt.Sprintf("%s-%05d", l.App, no), UID: types.UID(fmt.Sprintf("%s/%s/%05d", l.Namespace, l.App, no)),
			CreationTimestamp: metav1.NewTime(at), Labels: l.labels(), OwnerReferences: l.owners(),
		},
		Spec: corev1.PodSpec{
			SchedulerName: corev1.DefaultSchedulerName, RestartPolicy: corev1.RestartPolicyAlways, Priority: new(int32(0)),
			PreemptionPolicy: new(corev1.PreemptLowerPriority), TerminationGracePeriodSeconds: new(int64(30)),
			Tolerations: []corev1.Toleration{
				{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))},
				{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))},
			},
			Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: requests}}},
			Volumes:    []corev1.Volume{{Name: "kube-api-access", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}}},
		},
	}
	p.Spec.Tolerations = append(p.Spec.Tolerations, l.Tolerates...)
	if len(l.Selects) > 0 {
		p.Spec.NodeSelector = make(map[string]string, len(l.Selects))
		for k, v := range l.Selects {
			p.Spec.NodeSelector[k] = v
		}
	}
	if l.Shape != nil {
		l.Shape(&p.Spec, no)
	}
	return p
}

func (l *Load) labels() map[string]string {
	return map[string]string{"app": l.App, "pod-template-hash": l.hash()}
}

func (l *Load) hash() string {
	sum := uint32(2166136261)
	for _, b := range []byte(l.App) {
		sum = (sum ^ uint32(b)) * 16777619
	}
	return fmt.Sprintf("%08x", sum)
}

func (l *Load) owners() []metav1.OwnerReference {
	kind, name := "ReplicaSet", l.App+"-"+l.hash()
	if l.Daemon {
		kind, name = "DaemonSet", l.App
	}
	return []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: kind, Name: name, UID: types.UID("owner/" + l.Namespace + "/" + name),
		Controller: new(true), BlockOwnerDeletion: new(true),
	}}
}

// What the daemon of every world asks for.
const (
	DaemonMilli = 100
	DaemonMiB   = 200
)

// agent is the DaemonSet of every world: one pod a node, whatever its taints.
var agent = &Load{
	App: "node-agent", Namespace: "kube-system", Milli: DaemonMilli, MiB: DaemonMiB, Daemon: true,
	Tolerates: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
}

// daemonSet is the DaemonSet whose pods the load describes.
func (l *Load) daemonSet() *appsv1.DaemonSet {
	p := l.pod(0, created)
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: l.App, UID: p.OwnerReferences[0].UID, CreationTimestamp: metav1.NewTime(born)},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": l.App}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: l.labels()}, Spec: p.Spec},
		},
	}
}

// teams are the namespaces of all pods that are not the system's.
const teams = 40

func team(i int) string { return fmt.Sprintf("team-%02d", i%teams) }

// begin gives a world its namespaces and its DaemonSet.
func begin() *World {
	w := &World{DaemonSets: []*appsv1.DaemonSet{agent.daemonSet()}}
	for i := -1; i < teams; i++ {
		name := agent.Namespace
		if i >= 0 {
			name = team(i)
		}
		w.Namespaces = append(w.Namespaces, &corev1.Namespace{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}, CreationTimestamp: metav1.NewTime(born)},
			Status:     corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
		})
	}
	return w
}
