package kube

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Trim removes from an object of a kind of [cluster.Objects] what no decision reads: snapshots and journals
// stay small, nothing secret enters them, and an update that matters to nobody changes nothing. It changes the object that
// it is given and returns it; trimming twice is trimming once. Fields that are kept are listed here and in the functions
// that it calls, all others go, also those that later versions of Kubernetes may bring. The resource version goes too: whoever writes reads
// first. An object of another type is an error.
func Trim(o any) (any, error) {
	switch o := o.(type) {
	case *corev1.Pod:
		trimPod(o)
	case *corev1.Node:
		trimNode(o)
	case *appsv1.DaemonSet:
		*o = appsv1.DaemonSet{ObjectMeta: trimMeta(o.ObjectMeta), Spec: appsv1.DaemonSetSpec{
			Selector: o.Spec.Selector,
			Template: corev1.PodTemplateSpec{ObjectMeta: trimMeta(o.Spec.Template.ObjectMeta), Spec: trimPodSpec(o.Spec.Template.Spec)},
		}}
	case *policyv1.PodDisruptionBudget:
		*o = policyv1.PodDisruptionBudget{ObjectMeta: trimMeta(o.ObjectMeta), Spec: o.Spec, Status: policyv1.PodDisruptionBudgetStatus{
			DisruptionsAllowed: o.Status.DisruptionsAllowed,
			CurrentHealthy:     o.Status.CurrentHealthy,
			DesiredHealthy:     o.Status.DesiredHealthy,
			ExpectedPods:       o.Status.ExpectedPods,
		}}
	case *controller: // of which a record is kept
	case *corev1.ConfigMap:
		*o = corev1.ConfigMap{ObjectMeta: trimMeta(o.ObjectMeta), Data: o.Data}
	case *corev1.Namespace:
		*o = corev1.Namespace{ObjectMeta: trimMeta(o.ObjectMeta), Status: corev1.NamespaceStatus{Phase: o.Status.Phase}}
	case *corev1.PersistentVolumeClaim:
		trimClaim(o)
	case *corev1.PersistentVolume:
		trimPersistentVolume(o)
	case *storagev1.StorageClass:
		trimStorageClass(o)
	case *storagev1.CSINode:
		trimCSINode(o)
	case *storagev1.CSIDriver:
		trimCSIDriver(o)
	case *storagev1.CSIStorageCapacity:
		trimStorageCapacity(o)
	case *storagev1.VolumeAttachment:
		trimAttachment(o)
	default:
		if !trimOptional(o) {
			return nil, fmt.Errorf("trim: no decision reads a %T", o)
		}
	}
	return o, nil
}

func trimMeta(m metav1.ObjectMeta) metav1.ObjectMeta {
	delete(m.Annotations, corev1.LastAppliedConfigAnnotation)
	return metav1.ObjectMeta{
		Name:                       m.Name,
		Namespace:                  m.Namespace,
		UID:                        m.UID,
		Labels:                     m.Labels,
		Annotations:                m.Annotations,
		OwnerReferences:            m.OwnerReferences,
		Finalizers:                 m.Finalizers,
		CreationTimestamp:          m.CreationTimestamp,
		DeletionTimestamp:          m.DeletionTimestamp,
		DeletionGracePeriodSeconds: m.DeletionGracePeriodSeconds,
	}
}

// nodeArguments ends the annotations in which K3s and RKE2 keep the command line and the environment of the node's agent. They say nothing about
// what the node can hold, and may say what nobody else is to read.
var nodeArguments = []string{"/node-args", "/node-env"}

func trimNode(n *corev1.Node) {
	maps.DeleteFunc(n.Annotations, func(key, _ string) bool {
		return slices.ContainsFunc(nodeArguments, func(end string) bool { return strings.HasSuffix(key, end) })
	})
	conditions := n.Status.Conditions
	for i, c := range conditions { // without heartbeats: they come every few minutes and say nothing
		conditions[i] = corev1.NodeCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, LastTransitionTime: c.LastTransitionTime}
	}
	info := n.Status.NodeInfo
	*n = corev1.Node{
		ObjectMeta: trimMeta(n.ObjectMeta),
		Spec:       corev1.NodeSpec{ProviderID: n.Spec.ProviderID, Unschedulable: n.Spec.Unschedulable, Taints: n.Spec.Taints},
		Status: corev1.NodeStatus{
			Capacity:         n.Status.Capacity,
			Allocatable:      n.Status.Allocatable,
			Conditions:       conditions,
			Addresses:        n.Status.Addresses,
			NodeInfo:         corev1.NodeSystemInfo{SystemUUID: info.SystemUUID, OperatingSystem: info.OperatingSystem, Architecture: info.Architecture},
			DeclaredFeatures: n.Status.DeclaredFeatures,
		},
	}
}
