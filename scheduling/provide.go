package scheduling

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	storagehelpers "k8s.io/component-helpers/storage/volume"
)

// A claim that waits for its first pod is decided when that pod is placed: kube-scheduler binds it to the smallest volume that will do
// on the node, or has one made there, and binds the pod only after that. From then on the volume says where the claim's other pods go.
// A volume that is made is taken to be for the zone of the node and no other, as disks are.

// waiter is a claim that waits for its first pod, or the volumes of a storage class, seen by the pods that depend on it.
type waiter struct {
	key     string // of a claim, "namespace/name"; of a storage class, its name
	changes uint64 // so far; never falls
	last    uint64 // the number of the what-if that made the last of them
}

func (w *waiter) change(c *Checker) { w.changes, w.last = w.changes+1, c.last }

// provided is what was decided about a claim, and what it was before.
type provided struct {
	claim  *corev1.PersistentVolumeClaim
	volume *corev1.PersistentVolume // that it took, nil where one was made
	later  bool                     // it is made when somebody asks: see [storage.later]
}

// waits says whether the claim waits for its first pod, as the snapshot saw it.
func (s *storage) waits(c *corev1.PersistentVolumeClaim) bool {
	if c.Spec.VolumeName != "" {
		return s.decided[keyOf(c)]
	}
	late, err := storagehelpers.IsDelayBindingMode(c, s.shelf.Storage().V1().StorageClasses().Lister())
	return err == nil && late
}

func keyOf(c *corev1.PersistentVolumeClaim) string { return c.Namespace + "/" + c.Name }

// waiter is the one of that key.
func waiterOf(all map[string]*waiter, key string) *waiter {
	w := all[key]
	if w == nil {
		w = &waiter{key: key}
		all[key] = w
	}
	return w
}

// provide decides the claims that waited for a pod of the class, which goes to the node.
func (c *Checker) provide(cl *class, h Handle) []provided {
	if len(cl.mounts) == 0 {
		return nil
	}
	var waiting []*corev1.PersistentVolumeClaim
	var all []provided
	for _, key := range c.undecided(cl) {
		claim := c.storage.claim(key)
		if claim == nil || claim.Spec.VolumeName != "" || c.storage.decided[key] {
			continue
		}
		if cl.twin == nil || !c.storage.makes(claim) {
			waiting = append(waiting, claim)
			continue
		}
		c.storage.decided[key], c.storage.later[key] = true, h
		waiterOf(c.storage.claims, key).change(c)
		all = append(all, provided{claim: claim, later: true})
	}
	size := func(c *corev1.PersistentVolumeClaim) int64 { return c.Spec.Resources.Requests.Storage().Value() }
	slices.SortStableFunc(waiting, func(a, b *corev1.PersistentVolumeClaim) int { return int(size(a) - size(b)) })
	for _, claim := range waiting {
		all = append(all, c.storage.bind(c, claim, c.object(h)))
	}
	return all
}

// makes says whether a volume is made for the claim wherever its first pod goes, by a driver that counts it by the claim as it would by
// the volume.
func (s *storage) makes(c *corev1.PersistentVolumeClaim) bool {
	class := storagehelpers.GetPersistentVolumeClaimClass(c)
	found, ok, _ := s.shelf.board(&storagev1.StorageClass{}).indexer.GetByKey(class)
	return ok && len(s.spare[class]) == 0 && !strings.HasPrefix(found.(*storagev1.StorageClass).Provisioner, "kubernetes.io/")
}

// make makes the volumes that were promised to these claims.
func (c *Checker) make(claims []string) {
	s := c.storage
	for _, key := range claims {
		if h, promised := s.later[key]; promised {
			delete(s.later, key)
			s.give(s.claim(key), s.made(s.claim(key), c.object(h)))
		}
	}
}

// undecided are the class's claims that waited for their first pod when the snapshot was made.
func (c *Checker) undecided(cl *class) []string {
	v := c.volumesOf(cl)
	if v == nil {
		return nil
	}
	if cl.twin != nil {
		return cl.mounts
	}
	keys := make([]string, len(v.undecided))
	for i, w := range v.undecided {
		keys[i] = w.key
	}
	return keys
}

// claim is the one of that key now, nil when there is none.
func (s *storage) claim(key string) *corev1.PersistentVolumeClaim {
	found, ok, _ := s.shelf.board(&corev1.PersistentVolumeClaim{}).indexer.GetByKey(key)
	if !ok {
		return nil
	}
	return found.(*corev1.PersistentVolumeClaim)
}

// bind decides one claim.
func (s *storage) bind(c *Checker, claim *corev1.PersistentVolumeClaim, node *corev1.Node) provided {
	s.bound++
	was := provided{claim: claim, volume: s.match(claim, node)}
	v := &corev1.PersistentVolume{}
	if was.volume != nil {
		*v = *was.volume
		waiterOf(s.classes, storagehelpers.GetPersistentVolumeClass(v)).change(c)
	} else {
		*v = s.made(claim, node)
	}
	s.give(claim, *v)
	s.decided[keyOf(claim)] = true
	waiterOf(s.claims, keyOf(claim)).change(c)
	return was
}

// give binds the claim to the volume.
func (s *storage) give(claim *corev1.PersistentVolumeClaim, v corev1.PersistentVolume) {
	v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}
	v.Status.Phase = corev1.VolumeBound
	bound := *claim
	bound.Annotations = map[string]string{storagehelpers.AnnBindCompleted: "yes"}
	bound.Spec.VolumeName, bound.Status.Phase = v.Name, corev1.ClaimBound
	put(s.shelf, &v)
	put(s.shelf, &bound)
}

// match is the volume that kube-scheduler binds the claim to on the node, nil when one has to be made.
func (s *storage) match(claim *corev1.PersistentVolumeClaim, node *corev1.Node) *corev1.PersistentVolume {
	if _, selected := claim.Annotations[storagehelpers.AnnSelectedNode]; selected {
		return nil
	}
	indexer := s.shelf.board(&corev1.PersistentVolume{}).indexer
	var all []*corev1.PersistentVolume
	for _, name := range s.spare[storagehelpers.GetPersistentVolumeClaimClass(claim)] {
		if found, ok, _ := indexer.GetByKey(name); ok {
			all = append(all, found.(*corev1.PersistentVolume))
		}
	}
	v, err := storagehelpers.FindMatchingVolume(claim, all, node, nil, true, s.attributes)
	if err != nil {
		return nil // a selector that nobody can read: VolumeBinding refuses the pod everywhere
	}
	return v
}

// made is the volume that the class's provisioner makes for the claim on the node.
func (s *storage) made(claim *corev1.PersistentVolumeClaim, node *corev1.Node) corev1.PersistentVolume {
	name := "made-for-" + keyOf(claim)
	v := corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		Capacity: claim.Spec.Resources.Requests, AccessModes: claim.Spec.AccessModes, StorageClassName: storagehelpers.GetPersistentVolumeClaimClass(claim),
	}}
	if found, ok, _ := s.shelf.board(&storagev1.StorageClass{}).indexer.GetByKey(v.Spec.StorageClassName); ok {
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: found.(*storagev1.StorageClass).Provisioner, VolumeHandle: name}
	}
	if zone, ok := node.Labels[corev1.LabelTopologyZone]; ok {
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}},
		}}}}
	}
	return v
}

// unprovide takes back what was decided, the last first.
func (c *Checker) unprovide(all []provided) {
	s := c.storage
	for _, was := range slices.Backward(all) {
		delete(s.decided, keyOf(was.claim))
		waiterOf(s.claims, keyOf(was.claim)).change(c)
		if _, promised := s.later[keyOf(was.claim)]; was.later && promised {
			delete(s.later, keyOf(was.claim))
			continue
		}
		s.bound++
		if was.volume != nil {
			put(s.shelf, was.volume)
			waiterOf(s.classes, storagehelpers.GetPersistentVolumeClass(was.volume)).change(c)
		} else {
			take(s.shelf, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "made-for-" + keyOf(was.claim)}})
		}
		put(s.shelf, was.claim)
	}
}
