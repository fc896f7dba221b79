package world

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/internal/kubesim"
)

// counted is a driver and a number of its devices, as DRIVER:N or DRIVER for one.
func (s *statement) counted(setting, said string) (driver string, n int, err error) {
	driver, number, given := strings.Cut(said, ":")
	n = 1
	if given {
		n, err = strconv.Atoi(number)
	}
	if err != nil || n < 1 || driver == "" {
		return "", 0, s.bad(setting, said, "a driver, and after a colon the number of devices if that is not 1, such as gpu.example.com:4")
	}
	return driver, n, nil
}

// devices are the slices that a machine's drivers publish.
func (s *statement) devices() ([]resourcev1.ResourceSlice, error) {
	var all []resourcev1.ResourceSlice
	for _, said := range s.set["device"] {
		driver, n, err := s.counted("device", said)
		if err != nil {
			return nil, err
		}
		slice := resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{Driver: driver}}
		for i := range n {
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("device-%d", i)})
		}
		all = append(all, slice)
	}
	return all, nil
}

// claimDevices gives the pod claims for devices of drivers, each by a template of its own and a DeviceClass of the driver's name.
func (w *world) claimDevices(s *statement, p *corev1.Pod) error {
	for i, said := range s.set["device"] {
		driver, n, err := s.counted("device", said)
		if err != nil {
			return err
		}
		if _, ok := kubesim.Find[*resourcev1.DeviceClass](w.cluster, "", driver); !ok {
			class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: resourcev1.DeviceClassSpec{
				Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("device.driver == %q", driver)}}},
			}}
			if _, err := w.cluster.Create(class); err != nil {
				return err
			}
		}
		template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: fmt.Sprintf("%s-%d", p.Name, i)}}
		template.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "devices", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: driver, Count: int64(n)}}}
		if err := w.create(template); err != nil {
			return err
		}
		name := fmt.Sprintf("device-%d", i)
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: name, ResourceClaimTemplateName: &template.Name})
		main := &p.Spec.Containers[0].Resources
		main.Claims = append(main.Claims, corev1.ResourceClaim{Name: name})
	}
	return nil
}
