// Package workload makes the clusters that sluice is measured on: steady services on thousands of nodes, backlogs of pending
// pods, fleets of many shapes. Everything is drawn from seeds: the same call makes the same world, byte for byte, on every
// machine. docs/reference/benchmarks.md names them.
package workload

import (
	"cmp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"sluice.dev/sluice/cluster"
)

// At is the instant of every world.
var At = time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)

// World is a cluster in the words of the API server and of the cloud. Its objects are as an observer of the API server hands them
// out, without what no decision reads.
type World struct {
	Nodes      []*corev1.Node // each joined to a machine of a group
	Pods       []*corev1.Pod
	DaemonSets []*appsv1.DaemonSet
	Namespaces []*corev1.Namespace
	Budgets    []*policyv1.PodDisruptionBudget
	Groups     []*cluster.Group // read completely at [At]
}

// Pending counts the pods that no node holds.
func (w *World) Pending() int {
	n := 0
	for _, p := range w.Pods {
		if p.Spec.NodeName == "" {
			n++
		}
	}
	return n
}

// Objects are the world's API objects as decisions read them, each kind sorted by namespace and name. Pods are recorded by the table, so that
// what it records later shares their classes.
func (w *World) Objects(table *cluster.Classes) cluster.Objects {
	o := cluster.Objects{Nodes: Sorted(w.Nodes), DaemonSets: Sorted(w.DaemonSets), Namespaces: Sorted(w.Namespaces), Budgets: Sorted(w.Budgets)}
	for _, p := range Sorted(w.Pods) {
		o.Pods = append(o.Pods, table.Pod(p))
	}
	o.PersistentVolumeClaims, o.StorageClasses = claims(w.Pods)
	return o
}

// Snapshot is the world at [At], joined anew.
func (w *World) Snapshot() *cluster.Snapshot {
	return cluster.New(At, w.Objects(&cluster.Classes{}), w.Groups)
}

type named interface {
	GetNamespace() string
	GetName() string
}

// Sorted is a copy in the order of namespaces and names.
func Sorted[T named](all []T) []T {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b T) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return all
}
