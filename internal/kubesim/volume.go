package kubesim

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	volumehelper "k8s.io/component-helpers/storage/volume"
)

// noProvisioner is what a class says whose volumes are made by hand.
const noProvisioner = "kubernetes.io/no-provisioner"

// claimsOf returns the keys of the claims that a pod mounts, in order: those it
// names, and its generic ephemeral ones.
func claimsOf(pod *corev1.Pod) []string {
	var keys []string
	for _, v := range pod.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			keys = append(keys, key(pod.Namespace, v.PersistentVolumeClaim.ClaimName))
		case v.Ephemeral != nil:
			keys = append(keys, key(pod.Namespace, pod.Name+"-"+v.Name))
		}
	}
	return keys
}

// mount is a claim of a pod as the scheduler finds it.
type mount struct {
	claim  *corev1.PersistentVolumeClaim
	volume *corev1.PersistentVolume // nil while the claim waits for a pod's node
	class  *storagev1.StorageClass  // nil when bound
}

// driver is the CSI driver that attaches the volume, and the volume's identity
// for it; "" for a volume that no driver counts.
func (m mount) driver() (driver, handle string) {
	switch {
	case m.volume == nil:
		return m.class.Provisioner, keyOf(m.claim)
	case m.volume.Spec.CSI != nil:
		return m.volume.Spec.CSI.Driver, m.volume.Spec.CSI.VolumeHandle
	}
	return "", ""
}

// mountsOf returns the claims of a pod, or why no node can take it.
func (vs *volumes) mountsOf(st *podState) (mounts []mount, why string) {
	for _, k := range st.asks.claims {
		e := vs.store.entryOf("persistentvolumeclaims", k)
		if e == nil {
			_, name, _ := cutKey(k)
			return nil, fmt.Sprintf("persistentvolumeclaim %q not found", name)
		}
		claim := e.obj.(*corev1.PersistentVolumeClaim)
		switch {
		case claim.DeletionTimestamp != nil:
			return nil, fmt.Sprintf("persistentvolumeclaim %q is being deleted", claim.Name)
		case claim.Status.Phase == corev1.ClaimLost:
			return nil, fmt.Sprintf("persistentvolumeclaim %q bound to non-existent persistentvolume %q", claim.Name, claim.Spec.VolumeName)
		case claim.Status.Phase == corev1.ClaimBound:
			v := vs.store.entryOf("persistentvolumes", claim.Spec.VolumeName)
			if v == nil {
				return nil, "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
			}
			mounts = append(mounts, mount{claim: claim, volume: v.obj.(*corev1.PersistentVolume)})
		default:
			class := vs.classOf(claim)
			if class == nil || !waits(class) {
				return nil, "pod has unbound immediate PersistentVolumeClaims"
			}
			mounts = append(mounts, mount{claim: claim, class: class})
		}
	}
	return mounts, ""
}

// waits reports whether claims of a class wait for the first pod that mounts them.
func waits(class *storagev1.StorageClass) bool {
	return class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}

// classOf returns the class of a claim, nil when it has none or it is not there.
func (vs *volumes) classOf(claim *corev1.PersistentVolumeClaim) *storagev1.StorageClass {
	name := volumehelper.GetPersistentVolumeClaimClass(claim)
	if e := vs.store.entryOf("storageclasses", name); e != nil && name != "" {
		return e.obj.(*storagev1.StorageClass)
	}
	return nil
}

// volumeRefusal returns why a node cannot have the pod's volumes, "" if it can.
func (f *fit) volumeRefusal(r *room) string {
	if len(f.mounts) == 0 {
		return ""
	}
	for _, m := range f.mounts {
		if !slices.Contains(m.claim.Spec.AccessModes, corev1.ReadWriteOncePod) {
			continue
		}
		for _, st := range f.scheduler.pods.byKey { // any answers the question: the order does not matter
			if st != f.st && !finished(st.pod) && (st.pod.Spec.NodeName != "" || f.scheduler.reserved[keyOf(st.pod)] != "") && slices.Contains(st.asks.claims, keyOf(m.claim)) {
				return "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
			}
		}
	}
	if f.scheduler.volumes.tooManyVolumes(f.mounts, r) {
		return "node(s) exceed max volume count"
	}
	for _, m := range f.mounts {
		if m.volume != nil {
			if err := volumehelper.CheckNodeAffinity(m.volume, r.node.Labels); err != nil {
				return "node(s) didn't match PersistentVolume's node affinity"
			}
			for _, label := range []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion} {
				if want, ok := m.volume.Labels[label]; ok && want != r.node.Labels[label] {
					return "node(s) had no available volume zone"
				}
			}
			continue
		}
		if f.scheduler.volumes.volumeFor(m, r.node) == nil && !provisionable(m, r.node) {
			return "node(s) didn't find available persistent volumes to bind"
		}
	}
	return ""
}

// tooManyVolumes compares the volumes of a node's pods and the new ones with
// what the drivers on the node can attach.
func (vs *volumes) tooManyVolumes(more []mount, r *room) bool {
	e := vs.store.entryOf("csinodes", r.node.Name)
	if e == nil {
		return false
	}
	for _, d := range e.obj.(*storagev1.CSINode).Spec.Drivers {
		if d.Allocatable == nil || d.Allocatable.Count == nil {
			continue
		}
		attached := map[string]bool{}
		adds := false
		for _, st := range r.pods {
			mounts, _ := vs.mountsOf(st)
			for _, m := range mounts {
				if driver, handle := m.driver(); driver == d.Name {
					attached[handle] = true
				}
			}
		}
		for _, a := range vs.store.tables["volumeattachments"].sorted {
			va := a.obj.(*storagev1.VolumeAttachment)
			if va.Spec.NodeName == r.node.Name && va.Spec.Attacher == d.Name && va.Spec.Source.PersistentVolumeName != nil {
				if v := vs.store.entryOf("persistentvolumes", *va.Spec.Source.PersistentVolumeName); v != nil && v.obj.(*corev1.PersistentVolume).Spec.CSI != nil {
					attached[v.obj.(*corev1.PersistentVolume).Spec.CSI.VolumeHandle] = true
				}
			}
		}
		for _, m := range more {
			if driver, handle := m.driver(); driver == d.Name && !attached[handle] {
				attached[handle], adds = true, true
			}
		}
		if adds && len(attached) > int(*d.Allocatable.Count) {
			return true
		}
	}
	return false
}

// volumeFor returns a volume made by hand that the claim could have on a node.
func (vs *volumes) volumeFor(m mount, node *corev1.Node) *corev1.PersistentVolume {
	return vs.matching(m.claim, node, true)
}

func (vs *volumes) matching(claim *corev1.PersistentVolumeClaim, node *corev1.Node, waits bool) *corev1.PersistentVolume {
	var free []*corev1.PersistentVolume
	for _, e := range vs.store.tables["persistentvolumes"].sorted {
		if v := e.obj.(*corev1.PersistentVolume); v.Spec.ClaimRef == nil || v.Spec.ClaimRef.Namespace == claim.Namespace && v.Spec.ClaimRef.Name == claim.Name {
			free = append(free, v)
		}
	}
	if len(free) == 0 {
		return nil
	}
	found, err := volumehelper.FindMatchingVolume(claim, free, node, nil, waits, true)
	if err != nil {
		return nil
	}
	return found
}

// provisionable reports whether the claim's class can make a volume for a node.
func provisionable(m mount, node *corev1.Node) bool {
	if selected, ok := m.claim.Annotations[selectedNode]; ok && selected != node.Name {
		return false
	}
	return m.class.Provisioner != noProvisioner && len(allowedTopology(m.class, node)) > 0
}

// allowedTopology returns the labels that tie a volume of the class to where a
// node is: of the first term that admits the node, the node's own values; the
// node's zone when the class leaves it open. Nothing when no term admits it;
// for an open class on a node without a zone one requirement without a key.
func allowedTopology(class *storagev1.StorageClass, node *corev1.Node) []corev1.NodeSelectorRequirement {
	only := func(key string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{node.Labels[key]}}
	}
	if len(class.AllowedTopologies) == 0 {
		if node.Labels[corev1.LabelTopologyZone] == "" {
			return []corev1.NodeSelectorRequirement{{}}
		}
		return []corev1.NodeSelectorRequirement{only(corev1.LabelTopologyZone)}
	}
	for _, t := range class.AllowedTopologies {
		var all []corev1.NodeSelectorRequirement
		for _, e := range t.MatchLabelExpressions {
			if value, ok := node.Labels[e.Key]; ok && slices.Contains(e.Values, value) {
				all = append(all, only(e.Key))
			}
		}
		if len(all) == len(t.MatchLabelExpressions) && len(all) > 0 {
			return all
		}
	}
	return nil
}
