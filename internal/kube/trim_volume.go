package kube

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// volumeAnnotations are those of claims, volumes, CSINodes and storage classes that the scheduler's filters read, or that say what class the
// API server gives to a claim.
var volumeAnnotations = []string{
	"pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller", "pv.kubernetes.io/migrated-to", "volume.kubernetes.io/selected-node",
	corev1.BetaStorageClassAnnotation, "storage.alpha.kubernetes.io/migrated-plugins",
	"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class",
}

// trimVolumeMeta keeps of the annotations only those that filters read: provisioners write many.
func trimVolumeMeta(m metav1.ObjectMeta) metav1.ObjectMeta {
	kept := trimMeta(m)
	kept.Annotations = nil
	for _, key := range volumeAnnotations {
		if value, ok := m.Annotations[key]; ok {
			if kept.Annotations == nil {
				kept.Annotations = map[string]string{}
			}
			kept.Annotations[key] = value
		}
	}
	return kept
}

func trimClaim(c *corev1.PersistentVolumeClaim) {
	s := c.Spec
	*c = corev1.PersistentVolumeClaim{
		ObjectMeta: trimVolumeMeta(c.ObjectMeta),
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: s.AccessModes, Selector: s.Selector, VolumeName: s.VolumeName, StorageClassName: s.StorageClassName, VolumeMode: s.VolumeMode,
			Resources: corev1.VolumeResourceRequirements{Requests: s.Resources.Requests}, VolumeAttributesClassName: s.VolumeAttributesClassName,
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: c.Status.Phase},
	}
}

func trimPersistentVolume(v *corev1.PersistentVolume) {
	s := v.Spec
	kept := corev1.PersistentVolumeSpec{
		Capacity: s.Capacity, AccessModes: s.AccessModes, StorageClassName: s.StorageClassName, VolumeMode: s.VolumeMode, NodeAffinity: s.NodeAffinity,
		VolumeAttributesClassName: s.VolumeAttributesClassName,
	}
	if ref := s.ClaimRef; ref != nil {
		kept.ClaimRef = &corev1.ObjectReference{Namespace: ref.Namespace, Name: ref.Name, UID: ref.UID}
	}
	switch {
	case s.CSI != nil:
		kept.CSI = &corev1.CSIPersistentVolumeSource{Driver: s.CSI.Driver, VolumeHandle: s.CSI.VolumeHandle}
	case s.AzureDisk != nil:
		kept.AzureDisk = &corev1.AzureDiskVolumeSource{DiskName: s.AzureDisk.DiskName, DataDiskURI: s.AzureDisk.DataDiskURI, Kind: s.AzureDisk.Kind}
	case s.Local != nil:
		kept.Local = &corev1.LocalVolumeSource{}
	}
	*v = corev1.PersistentVolume{ObjectMeta: trimVolumeMeta(v.ObjectMeta), Spec: kept, Status: corev1.PersistentVolumeStatus{Phase: v.Status.Phase}}
}

func trimStorageClass(c *storagev1.StorageClass) {
	*c = storagev1.StorageClass{
		ObjectMeta: trimVolumeMeta(c.ObjectMeta), Provisioner: c.Provisioner, VolumeBindingMode: c.VolumeBindingMode, AllowedTopologies: c.AllowedTopologies,
	}
}

func trimCSINode(n *storagev1.CSINode) {
	drivers := n.Spec.Drivers
	for i, d := range drivers {
		drivers[i] = storagev1.CSINodeDriver{Name: d.Name, TopologyKeys: d.TopologyKeys, Allocatable: d.Allocatable}
	}
	*n = storagev1.CSINode{ObjectMeta: trimVolumeMeta(n.ObjectMeta), Spec: storagev1.CSINodeSpec{Drivers: drivers}}
}

func trimCSIDriver(d *storagev1.CSIDriver) {
	*d = storagev1.CSIDriver{ObjectMeta: trimVolumeMeta(d.ObjectMeta), Spec: storagev1.CSIDriverSpec{
		AttachRequired: d.Spec.AttachRequired, StorageCapacity: d.Spec.StorageCapacity, PreventPodSchedulingIfMissing: d.Spec.PreventPodSchedulingIfMissing,
	}}
}

func trimStorageCapacity(c *storagev1.CSIStorageCapacity) {
	*c = storagev1.CSIStorageCapacity{
		ObjectMeta: trimVolumeMeta(c.ObjectMeta), NodeTopology: c.NodeTopology, StorageClassName: c.StorageClassName, Capacity: c.Capacity, MaximumVolumeSize: c.MaximumVolumeSize,
	}
}

func trimAttachment(a *storagev1.VolumeAttachment) {
	*a = storagev1.VolumeAttachment{
		ObjectMeta: trimVolumeMeta(a.ObjectMeta),
		Spec: storagev1.VolumeAttachmentSpec{
			Attacher: a.Spec.Attacher, NodeName: a.Spec.NodeName, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: a.Spec.Source.PersistentVolumeName},
		},
		Status: storagev1.VolumeAttachmentStatus{Attached: a.Status.Attached},
	}
}
