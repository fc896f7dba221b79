package kube

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
)

// TestADeploymentsNewestRevisionIsItsTemplate has ReplicaSets of two Deployments, the newest of one among them not the last.
func TestADeploymentsNewestRevisionIsItsTemplate(t *testing.T) {
	set := func(deployment, revision, scheduler string) appsv1.ReplicaSet {
		return appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{
				Annotations:     map[string]string{"deployment.kubernetes.io/revision": revision},
				OwnerReferences: []metav1.OwnerReference{{Kind: "Deployment", Name: deployment, Controller: new(true)}},
			},
			Spec: appsv1.ReplicaSetSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{SchedulerName: scheduler}}},
		}
	}
	all := []appsv1.ReplicaSet{set("web", "9", "old"), set("web", "10", "new"), set("api", "11", "other"), set("web", "2", "oldest")}
	if found := newestOf(all, "web"); found == nil || found.Spec.SchedulerName != "new" {
		t.Errorf("the template of web is %+v", found)
	}
	if found := newestOf(all, "db"); found != nil {
		t.Errorf("the template of db is %+v, want none", found)
	}
}

// TestWorkloadsOfBuffersAreReadOnce leaves out buffers that refer to nothing, and kinds whose templates are not known.
func TestWorkloadsOfBuffersAreReadOnce(t *testing.T) {
	buffer := func(namespace string, ref *cluster.ScalableReference) *cluster.CapacityBuffer {
		return &cluster.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}, Spec: cluster.CapacityBufferSpec{ScalableRef: ref}}
	}
	web := cluster.ScalableReference{APIGroup: "apps", Kind: "Deployment", Name: "web"}
	got := workloadsOf([]*cluster.CapacityBuffer{
		buffer("b", &web), buffer("a", &web), buffer("b", &web), buffer("b", nil), buffer("b", &cluster.ScalableReference{APIGroup: "farm.example", Kind: "Render", Name: "x"}),
	})
	if want := []workload{{"a", web}, {"b", web}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
