package resident

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// kept is how many earlier ReplicaSets a Deployment keeps: the default of its revisionHistoryLimit.
const kept = 10

// ownerless are the kinds of controllers of which the cluster has none.
var ownerless = []struct{ group, version, kind, resource string }{
	{"", "v1", "ReplicationController", "replicationcontrollers"},
	{"apps", "v1", "StatefulSet", "statefulsets"},
}

// revisions are the metadata of the ReplicaSets that the pods are of, each with the earlier ones that its Deployment keeps, some 1.5 kB each.
func revisions(pods []*corev1.Pod) []*metav1.PartialObjectMetadata {
	known := map[types.UID]bool{}
	var all []*metav1.PartialObjectMetadata
	for _, p := range pods {
		by := metav1.GetControllerOf(p)
		if by == nil || by.Kind != "ReplicaSet" || known[by.UID] {
			continue
		}
		known[by.UID] = true
		all = append(all, revision(p, by.Name, by.UID))
		for i := range kept {
			old := fmt.Sprintf("-was-%02d", i)
			all = append(all, revision(p, by.Name+old, by.UID+types.UID(old)))
		}
	}
	return all
}

// revision is the metadata of a ReplicaSet of pods such as this one.
func revision(p *corev1.Pod, name string, uid types.UID) *metav1.PartialObjectMetadata {
	app := p.Labels["app"]
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: p.Namespace, Name: name, UID: uid, CreationTimestamp: p.CreationTimestamp, Labels: p.Labels, Generation: 3,
		Annotations:     map[string]string{"deployment.kubernetes.io/desired-replicas": "20", "deployment.kubernetes.io/max-replicas": "25", "deployment.kubernetes.io/revision": "7"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: app, UID: types.UID("owner/" + p.Namespace + "/" + app), Controller: new(true), BlockOwnerDeletion: new(true)}},
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "apps/v1", Time: new(p.CreationTimestamp), FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{` + strings.Repeat(`"f:annotations":{".":{},"f:deployment.kubernetes.io/revision":{}},`, 12) + `"f:ownerReferences":{}}}`),
		}},
	}}
}
