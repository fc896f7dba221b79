package world

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// diskDriver attaches Azure's managed disks.
const diskDriver = "disk.csi.azure.com"

// zoneNamed is a zone as nodes name it: "2" is location-2, what is longer is taken as it stands.
func zoneNamed(said string) string {
	if len(said) == 1 {
		return location + "-" + said
	}
	return said
}

func doStorageClass(w *world, s *statement) error {
	binding, err := s.oneOf("binding", "wait", "immediate")
	if err != nil {
		return err
	}
	isDefault, err := s.oneOf("default", "false", "true")
	if err != nil {
		return err
	}
	mode := map[string]storagev1.VolumeBindingMode{"wait": storagev1.VolumeBindingWaitForFirstConsumer, "immediate": storagev1.VolumeBindingImmediate}[binding]
	c := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: s.names[0]}, Provisioner: s.value("provisioner", diskDriver), VolumeBindingMode: &mode,
	}
	if isDefault == "true" {
		c.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	}
	if s.has("zones") {
		zones := corev1.TopologySelectorLabelRequirement{Key: corev1.LabelTopologyZone}
		for _, z := range strings.Split(s.value("zones", ""), ",") {
			zones.Values = append(zones.Values, zoneNamed(z))
		}
		c.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{zones}}}
	}
	if _, err := w.cluster.Create(c); err != nil {
		return err
	}
	driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: c.Provisioner}, Spec: storagev1.CSIDriverSpec{AttachRequired: new(true)}}
	if _, err := w.cluster.Create(driver); err != nil && !apierrors.IsAlreadyExists(err) {
		return err // who installs a driver makes this object
	}
	return nil
}

// doClaim makes a claim; with a zone its volume is there already.
func doClaim(w *world, s *statement) error {
	size, given, err := s.quantity("size")
	if err != nil {
		return err
	}
	if !given {
		size = resource.MustParse("10Gi")
	}
	access, err := s.oneOf("access", "once", "many", "once-pod")
	if err != nil {
		return err
	}
	mode := map[string]corev1.PersistentVolumeAccessMode{
		"once": corev1.ReadWriteOnce, "many": corev1.ReadWriteMany, "once-pod": corev1.ReadWriteOncePod,
	}[access]
	namespace := s.value("namespace", "default")
	if err := ensureNamespace(w.cluster, namespace); err != nil {
		return err
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: s.names[0], Namespace: namespace}, Spec: claimSpec(s.value("class", ""), size, mode),
	}
	if !s.has("class") && !s.has("zone") {
		claim.Spec.StorageClassName = nil // the default class, if there is one
	}
	if s.has("zone") {
		claim.Spec.VolumeName = namespace + "-" + s.names[0]
		_, err := w.cluster.Create(&corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName},
			Spec: corev1.PersistentVolumeSpec{
				Capacity: corev1.ResourceList{corev1.ResourceStorage: size}, AccessModes: claim.Spec.AccessModes, StorageClassName: s.value("class", ""),
				VolumeMode:                    new(corev1.PersistentVolumeFilesystem),
				PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
				ClaimRef:                      &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: namespace, Name: claim.Name},
				PersistentVolumeSource:        corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: diskDriver, VolumeHandle: claim.Spec.VolumeName}},
				NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{
						Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zoneNamed(s.value("zone", ""))},
					}},
				}}}},
			},
		})
		if err != nil {
			return err
		}
	}
	_, err = w.cluster.Create(claim)
	return err
}

func claimSpec(class string, size resource.Quantity, mode corev1.PersistentVolumeAccessMode) corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{
		StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{mode},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
	}
}

// attaches is what a machine's disk driver says that it can attach; nil when the script does not tell.
func attaches(disks int) map[string]int32 {
	if disks == 0 {
		return nil
	}
	return map[string]int32{diskDriver: int32(disks)}
}
