package fidelity

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
)

// A World is a small cluster with pods that wait. Its objects are such as an API server stores: defaults set, selectors
// merged. They are shared and must not be changed.
type World struct {
	Seed        uint64
	Constraints []Constraint // drawn for this world, in the order of [Constraints]

	Nodes      []*corev1.Node // sorted by name
	Pods       []*corev1.Pod  // sorted by namespace and name: running ones and pending ones
	Namespaces []*corev1.Namespace
	DaemonSets []*appsv1.DaemonSet
	Groups     []*cluster.Group // sorted by ID; each has a template, and its nodes are such as it says

	Volumes Volumes
	Devices Devices

	// Carries are the constraints that a pod has itself, by namespace/name.
	Carries map[string][]Constraint
}

// Start is the time of every world.
var Start = time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)

// Snapshot is the world as sluice observes it.
func (w *World) Snapshot() *cluster.Snapshot {
	return cluster.New(Start, cluster.Objects{
		Nodes: w.Nodes, Pods: cluster.NewPods(w.Pods...), DaemonSets: w.DaemonSets, Namespaces: w.Namespaces,
		PersistentVolumeClaims: w.Volumes.Claims, PersistentVolumes: w.Volumes.Persistent, StorageClasses: w.Volumes.Classes,
		CSINodes: w.Volumes.CSINodes, VolumeAttachments: w.Volumes.Attachments,
		DeviceClasses: w.Devices.Classes, ResourceSlices: w.Devices.Slices, ResourceClaims: w.Devices.Claims,
	}, w.Groups)
}

// Pending are the pods that kube-scheduler would try to bind, oldest first: not bound, not gated, asking for the default
// scheduler.
func (w *World) Pending() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, p := range w.Pods {
		if p.Spec.NodeName == "" && len(p.Spec.SchedulingGates) == 0 && p.Spec.SchedulerName == corev1.DefaultSchedulerName {
			pods = append(pods, p)
		}
	}
	return pods
}

// Expendable says whether the pod's priority is below the cutoff of -10: nobody need find it a place.
func Expendable(p *corev1.Pod) bool { return p.Spec.Priority != nil && *p.Spec.Priority < -10 }

// Pod is the pod of that namespace/name, nil when there is none.
func (w *World) Pod(key string) *corev1.Pod {
	for _, p := range w.Pods {
		if keyOf(p) == key {
			return p
		}
	}
	return nil
}

// Group is the group of that id, nil when there is none.
func (w *World) Group(id cluster.GroupID) *cluster.Group {
	for _, g := range w.Groups {
		if g.ID == id {
			return g
		}
	}
	return nil
}

// keyOf is the pod's namespace/name.
func keyOf(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }
