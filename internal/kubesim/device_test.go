package kubesim_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/internal/kubesim"
)

// gpus is a slice of n devices, every second of which is big, in pairs on one bus.
func gpus(n int) resourcev1.ResourceSlice {
	s := resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{Driver: "gpu.example.com"}}
	for i := range n {
		size, bus := "small", int64(i/2)
		if i%2 == 1 {
			size = "big"
		}
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{Name: fmt.Sprint("gpu-", i), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
			"size": {StringValue: &size}, "bus": {IntValue: &bus}}})
	}
	return s
}

func (w *world) joinWithGPUs(name string, n int) {
	w.t.Helper()
	if err := w.Join(kubesim.Machine{Name: name, Capacity: corev1.ResourceList{"cpu": resource.MustParse("8")}, Devices: []resourcev1.ResourceSlice{gpus(n)}}); err != nil {
		w.t.Fatal(err)
	}
}

func claimTemplate(name string, count int64, selector string, sameBus bool) *resourcev1.ResourceClaimTemplate {
	exactly := &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", Count: count}
	if selector != "" {
		exactly.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: selector}}}
	}
	t := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	t.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "gpu", Exactly: exactly}}
	if sameBus {
		bus := resourcev1.FullyQualifiedName("gpu.example.com/bus")
		t.Spec.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{MatchAttribute: &bus}}
	}
	return t
}

func claiming(name, template string) *corev1.Pod {
	p := pod(name, "100m")
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &template}}
	return p
}

func TestDevicesAreGivenAndTakenBack(t *testing.T) {
	w := newWorld(t)
	w.create(&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourcev1.DeviceClassSpec{
		Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "gpu.example.com"`}}}}})
	w.create(claimTemplate("one", 1, "", false))
	w.create(claimTemplate("big", 1, `device.attributes["gpu.example.com"].size == "big"`, false))
	w.create(claimTemplate("pair", 2, "", true))
	w.joinWithGPUs("a", 4)
	w.create(claiming("big-1", "big")) // takes gpu-1
	w.advance(time.Minute)
	w.create(claiming("pair-1", "pair")) // takes gpu-2 and gpu-3, the only whole pair
	w.advance(time.Minute)
	w.create(claiming("pair-2", "pair"))
	w.create(claiming("big-2", "big"))
	w.create(claiming("one-1", "one")) // takes gpu-0
	w.advance(time.Minute)
	for _, name := range []string{"big-1", "pair-1", "one-1"} {
		if w.pod(name).Spec.NodeName != "a" {
			t.Errorf("%s waits: %s", name, w.whyNot(name))
		}
	}
	for _, name := range []string{"big-2", "pair-2"} {
		if got, want := w.whyNot(name), "0/1 nodes are available: 1 cannot allocate all claims."; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if err := w.Delete(w.pod("pair-1"), nil); err != nil {
		t.Fatal(err)
	}
	w.advance(time.Minute)
	if w.pod("pair-2").Spec.NodeName != "a" || w.pod("big-2").Spec.NodeName != "" {
		t.Errorf("devices that came free: pair-2 %q, big-2 %q", w.whyNot("pair-2"), w.whyNot("big-2"))
	}
	if n := len(kubesim.All[*resourcev1.ResourceClaim](w.Cluster, "default")); n != 5-1 {
		t.Errorf("%d claims; those of pods that are gone go with them", n)
	}
	w.joinWithGPUs("b", 2)
	w.advance(time.Minute)
	if w.pod("big-2").Spec.NodeName != "b" {
		t.Errorf("big-2 waits: %s", w.whyNot("big-2"))
	}
}
