package workload

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// disks is the storage class of all claims: a disk is made in the zone of the node that the scheduler chose.
const disks = "disks"

// claims are the claims that the pods name, in their order, none of them bound yet, and their storage class; nothing when there are none.
func claims(pods []*corev1.Pod) ([]*corev1.PersistentVolumeClaim, []*storagev1.StorageClass) {
	var all []*corev1.PersistentVolumeClaim
	for _, p := range pods {
		for _, v := range p.Spec.Volumes {
			if v.PersistentVolumeClaim == nil {
				continue
			}
			all = append(all, &corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: v.PersistentVolumeClaim.ClaimName},
				Spec: corev1.PersistentVolumeClaimSpec{
					StorageClassName: new(disks), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("32Gi")}},
				},
				Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
			})
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return Sorted(all), []*storagev1.StorageClass{{
		ObjectMeta: metav1.ObjectMeta{Name: disks}, Provisioner: "disk.csi.azure.com", VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
	}}
}
