package kubesim_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/internal/kubesim"
)

func TestDevicesAreClaimedByTemplatesAndFreedAtTheEnd(t *testing.T) {
	w := newWorld(t)
	w.join("a", "4")
	w.join("b", "4")
	w.create(&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourcev1.DeviceClassSpec{
		Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "gpu.example.com"`}}}}})
	for _, driver := range []string{"gpu.example.com", "nic.example.com"} { // the second is of no use
		w.create(&resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: resourcev1.ResourceSliceSpec{
			Driver: driver, NodeName: new("b"), Pool: resourcev1.ResourcePool{Name: "b", Generation: 1, ResourceSliceCount: 1}, Devices: []resourcev1.Device{{Name: "0"}}}})
	}
	for _, name := range []string{"first", "second"} {
		p := pod(name, "1")
		p.Annotations = map[string]string{kubesim.RunForAnnotation: "30s"}
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "own", ResourceClaimTemplateName: new("one")}}
		w.create(p)
		w.advance(time.Second)
	}
	if p := w.pod("first"); p.Spec.NodeName != "" || len(p.Status.ResourceClaimStatuses) > 0 || w.whyNot("first") != "" {
		t.Errorf("a pod was looked at before its claim was made: %v", p.Status)
	}
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "one"}}
	template.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu"}}}
	w.create(template)
	w.advance(time.Second)
	if a, b := w.pod("first").Spec.NodeName, w.pod("second").Spec.NodeName; a != "b" || b != "" || w.whyNot("second") == "" {
		t.Errorf("they are on %q and %q: %s", a, b, w.whyNot("second"))
	}
	claim, ok := kubesim.Find[*resourcev1.ResourceClaim](w.Cluster, "default", *w.pod("first").Status.ResourceClaimStatuses[0].ResourceClaimName)
	if !ok || claim.Status.Allocation == nil || len(claim.Status.ReservedFor) != 1 || claim.Status.ReservedFor[0].Name != "first" || claim.OwnerReferences[0].UID != w.pod("first").UID {
		t.Fatalf("the claim of the pod that runs is %v", claim)
	}
	w.advance(40 * time.Second)
	if got := w.pod("second").Spec.NodeName; got != "b" {
		t.Errorf("after the first has ended the second is on %q: %s", got, w.whyNot("second"))
	}
	w.advance(time.Minute)
	if left := kubesim.All[*resourcev1.ResourceClaim](w.Cluster, "default"); len(left) > 0 {
		t.Errorf("claims outlive their pods: %v", left)
	}
	shared := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shared"}, Spec: *template.Spec.Spec.DeepCopy()}
	w.create(shared)
	for _, name := range []string{"third", "fourth"} { // share a claim, which outlives them
		p := pod(name, "1")
		p.Annotations = map[string]string{kubesim.RunForAnnotation: "30s"}
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "all", ResourceClaimName: &shared.Name}}
		w.create(p)
		w.advance(10 * time.Second)
	}
	if claim, _ = kubesim.Find[*resourcev1.ResourceClaim](w.Cluster, "default", "shared"); len(claim.Status.ReservedFor) != 2 || w.pod("fourth").Spec.NodeName != "b" {
		t.Errorf("the shared claim is reserved for %v", claim.Status.ReservedFor)
	}
	w.advance(time.Minute)
	if claim, ok = kubesim.Find[*resourcev1.ResourceClaim](w.Cluster, "default", "shared"); !ok || claim.Status.Allocation != nil || len(claim.Status.ReservedFor) > 0 {
		t.Errorf("after its pods have ended the shared claim is %v", claim)
	}
}
