package world

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/internal/kubesim"
)

// deviceClass is the class of the devices that groups have, and the driver that publishes them.
const deviceClass = "gpu.example.com"

// publish has a node's driver tell of its devices, once. They go with the Node object.
func publish(c *kubesim.Cluster, node string, devices int) error {
	if devices == 0 {
		return nil
	}
	if _, there := kubesim.Find[*resourcev1.ResourceSlice](c, "", node); there {
		return nil
	}
	n, _ := kubesim.Find[*corev1.Node](c, "", node)
	s := &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: node, OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node, UID: n.UID}}},
		Spec:       resourcev1.ResourceSliceSpec{Driver: deviceClass, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1}},
	}
	for i := range devices {
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%d", i)})
	}
	_, err := c.Create(s)
	return err
}

// claimDevices gives the pod a claim of its own, from a template for so many devices of the class, both made when they are first used.
func claimDevices(c *kubesim.Cluster, s *statement, p *corev1.Pod) error {
	if !s.has("devices") {
		return nil
	}
	said := s.value("devices", "")
	want := &resourcev1.ExactDeviceRequest{DeviceClassName: deviceClass, AllocationMode: resourcev1.DeviceAllocationModeAll}
	if said != "all" {
		n, err := s.number("devices", 1)
		if err != nil || n == 0 {
			return s.bad("devices", said, "how many, or all")
		}
		want.AllocationMode, want.Count = resourcev1.DeviceAllocationModeExactCount, int64(n)
	}
	if err := ensureNamespace(c, p.Namespace); err != nil {
		return err
	}
	name := "devices-" + said
	if _, there := kubesim.Find[*resourcev1.ResourceClaimTemplate](c, p.Namespace, name); !there {
		t := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name}}
		t.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "gpus", Exactly: want}}
		if _, err := c.Create(t); err != nil {
			return err
		}
	}
	if _, there := kubesim.Find[*resourcev1.DeviceClass](c, "", deviceClass); !there {
		_, err := c.Create(&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: deviceClass}, Spec: resourcev1.DeviceClassSpec{
			Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "` + deviceClass + `"`}}}}})
		if err != nil {
			return err
		}
	}
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpus", ResourceClaimTemplateName: &name}}
	return nil
}
