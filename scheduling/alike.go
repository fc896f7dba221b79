package scheduling

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagehelpers "k8s.io/component-helpers/storage/volume"

	"sluice.dev/sluice/cluster"
)

// Pods of a StatefulSet name a claim each, so each is a class of its own. As long as nobody has used or decided their claims and these ask for
// the same, the pods are alike: the plugins are asked about a twin, with claims that stand for those of all. Once a claim is used the
// class is asked about by itself.

// alike are the volumes that stand for those of the class, nil when they are its own matter.
func (c *Checker) alike(cl *class) *volumes {
	if !cl.compared {
		cl.compared = true
		if key, ok := c.storage.likeness(cl.of); ok {
			cl.twin = c.twin(cl, key)
		}
	}
	if cl.unkept {
		return cl.twin
	}
	if cl.twin == nil || slices.ContainsFunc(cl.mounts, func(claim string) bool { return c.uses[claim] > 0 || c.storage.decided[claim] }) {
		return nil
	}
	return cl.twin
}

// twin is the record of the volumes of that likeness.
func (c *Checker) twin(cl *class, key string) *volumes {
	s := c.storage
	if v, ok := s.twins[key]; ok {
		return v
	}
	p := s.unit(cl.of, 0)
	for i := range p.Spec.Volumes {
		v := &p.Spec.Volumes[i]
		if i >= len(cl.of.Spec.Volumes) || cl.of.Spec.Volumes[i].PersistentVolumeClaim == nil {
			continue // it is made for the pod already
		}
		own := s.claim(p.Namespace + "/" + v.PersistentVolumeClaim.ClaimName)
		claim := &corev1.PersistentVolumeClaim{Spec: own.Spec}
		claim.Namespace, claim.Name = p.Namespace, p.Name+"-"+v.Name
		if class, old := own.Annotations[corev1.BetaStorageClassAnnotation]; old {
			claim.Annotations = map[string]string{corev1.BetaStorageClassAnnotation: class}
		}
		claim.Status.Phase = corev1.ClaimPending
		put(s.shelf, claim)
		v.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name, ReadOnly: v.PersistentVolumeClaim.ReadOnly}
	}
	t := c.volumesFor(p)
	s.twins[key] = t
	return t
}

// likeness is all that plugins read of the class's volumes while their claims wait for their first pod, with the claims' names left out;
// false when some claim does not wait or is told from others by its name.
func (s *storage) likeness(of *cluster.Class) (string, bool) {
	var key strings.Builder
	key.WriteString(of.Namespace)
	write := func(o interface{ Marshal() ([]byte, error) }) {
		raw, err := o.Marshal()
		if err != nil {
			panic("scheduling: a volume does not encode: " + err.Error()) // its types leave no room for that
		}
		key.WriteByte(0)
		key.Write(raw)
	}
	for i := range of.Spec.Volumes {
		v := of.Spec.Volumes[i]
		if !restrained(&v) {
			continue
		}
		if v.PersistentVolumeClaim != nil {
			claim := s.claim(of.Namespace + "/" + v.PersistentVolumeClaim.ClaimName)
			if claim == nil || !s.nameless(claim) {
				return "", false
			}
			write(&claim.Spec)
			key.WriteString(claim.Annotations[corev1.BetaStorageClassAnnotation])
			v.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ReadOnly: v.PersistentVolumeClaim.ReadOnly}
		}
		v.Name = ""
		write(&v)
	}
	return key.String(), true
}

// nameless says whether the claim waits for its first pod, and no volume and no node is meant for it.
func (s *storage) nameless(c *corev1.PersistentVolumeClaim) bool {
	_, selected := c.Annotations[storagehelpers.AnnSelectedNode]
	return c.Spec.VolumeName == "" && s.waits(c) && !selected && c.DeletionTimestamp == nil && !s.promised[keyOf(c)] &&
		(c.Status.Phase == "" || c.Status.Phase == corev1.ClaimPending)
}
