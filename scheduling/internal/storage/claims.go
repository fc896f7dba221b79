package storage

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	storagehelpers "k8s.io/component-helpers/storage/volume"
	"k8s.io/kubernetes/pkg/features"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/journal"
	"sluice.dev/sluice/scheduling/internal/nodes"
)

// claims knows which claims wait for their first pod, and decides them when that pod is placed. kube-scheduler binds such a claim to the
// smallest volume that will do on the node, or has one made there, and binds the pod only after that. From then on the volume says where
// the claim's other pods go. A volume that is made is taken to be for the zone of the node and no other, as disks are.
//
//	a claim                              its first pod comes                 taken back
//	waits, a volume will do              bound to it                         both as they were
//	waits, none will do                  bound to one that is made           it is gone
//	waits, is like others, none can do   decided; the volume is made later   decided no more
//
// Making volumes later saves most of the work for a StatefulSet of a thousand pods: nobody looks for the volumes of most of them.
type claims struct {
	clock    *journal.Clock
	table    *nodes.Table
	shelf    *shelf
	spare    map[string][]string // volumes that nobody has, or that wait for one claim, by the name of their storage class
	promised map[string]bool     // claims that volumes name
	decided  map[string]bool     // claims that waited for their first pod and were decided
	// later are claims that were decided to a volume which is made on that node once somebody looks for it. All of them are decided.
	later      map[string]nodes.Handle
	byClaim    map[string]*waiter
	byClass    map[string]*waiter
	bound      uint64 // how often a claim took a volume or gave one up
	attributes bool   // VolumeAttributesClass is on
}

// waiter is a claim that waits for its first pod, or the volumes of a storage class, seen by the pods that depend on it.
type waiter struct {
	key     string // of a claim, "namespace/name"; of a storage class, its name
	changes uint64 // so far; never falls
	last    uint64 // the number of the change of the world that made the last of them
}

// Decision is what was decided about a claim, and what it was before.
type Decision struct {
	claim  *corev1.PersistentVolumeClaim
	volume *corev1.PersistentVolume // that it took, nil where one was made
	later  bool                     // it is made when somebody asks: see [claims]
}

// newClaims knows which volumes may be taken. A volume that is not bound may be, also one that names a claim: only that claim finds it.
func newClaims(clock *journal.Clock, t *nodes.Table, s *shelf, o *cluster.Objects) *claims {
	c := &claims{
		clock: clock, table: t, shelf: s, spare: map[string][]string{}, promised: map[string]bool{}, decided: map[string]bool{},
		later: map[string]nodes.Handle{}, byClaim: map[string]*waiter{}, byClass: map[string]*waiter{},
		attributes: utilfeature.DefaultFeatureGate.Enabled(features.VolumeAttributesClass),
	}
	for _, v := range o.PersistentVolumes {
		if ref := v.Spec.ClaimRef; ref != nil {
			c.promised[ref.Namespace+"/"+ref.Name] = true
		}
		if v.Status.Phase != corev1.VolumeBound {
			class := storagehelpers.GetPersistentVolumeClass(v)
			c.spare[class] = append(c.spare[class], v.Name)
		}
	}
	return c
}

// waiter is the one of that key.
func waiterOf(all map[string]*waiter, key string) *waiter {
	w := all[key]
	if w == nil {
		w = &waiter{key: key}
		all[key] = w
	}
	return w
}

// changed tells those who depend on the claim, or on the volumes of the class, that their answers no longer hold. Taking back is a change
// as well: a count that fell again would make an answer of the world between look like one of now.
func (c *claims) changed(w *waiter) { w.changes, w.last = w.changes+1, c.clock.Last() }

// claim is the one of that key now, nil when there is none.
func (c *claims) claim(key string) *corev1.PersistentVolumeClaim {
	return found[*corev1.PersistentVolumeClaim](c.shelf, key)
}

// waits says whether the claim waits for its first pod, as the snapshot saw it. One that was decided since waits still in this sense: the
// decision may be taken back, and those who asked must hear of it.
func (c *claims) waits(of *corev1.PersistentVolumeClaim) bool {
	if of.Spec.VolumeName != "" {
		return c.decided[keyOf(of)]
	}
	late, err := storagehelpers.IsDelayBindingMode(of, c.shelf.Storage().V1().StorageClasses().Lister())
	return err == nil && late
}

// nameless says whether the claim waits for its first pod, and no volume and no node is meant for it. Only such a claim is like others: all
// that plugins read of it is what it asks for.
func (c *claims) nameless(of *corev1.PersistentVolumeClaim) bool {
	return of.Spec.VolumeName == "" && c.waits(of) && !selected(of) && of.DeletionTimestamp == nil && !c.promised[keyOf(of)] &&
		(of.Status.Phase == "" || of.Status.Phase == corev1.ClaimPending)
}

// selected says whether kube-scheduler has chosen a node for the claim.
func selected(c *corev1.PersistentVolumeClaim) bool {
	_, ok := c.Annotations[storagehelpers.AnnSelectedNode]
	return ok
}

// makes says whether a volume is made for the claim wherever its first pod goes, by a driver that counts it by the claim as it would by
// the volume. Provisioners that used to be built in are left out: which driver counts their volumes is for each node's
// kubelet to say.
func (c *claims) makes(of *corev1.PersistentVolumeClaim) bool {
	name := storagehelpers.GetPersistentVolumeClaimClass(of)
	class := found[*storagev1.StorageClass](c.shelf, name)
	return class != nil && len(c.spare[name]) == 0 && !strings.HasPrefix(class.Provisioner, "kubernetes.io/")
}

// decide decides those of the claims that wait for a pod which goes to the node. Volumes for claims that are alike may be made later.
func (c *claims) decide(keys []string, alike bool, h nodes.Handle) []Decision {
	var waiting []*corev1.PersistentVolumeClaim
	var all []Decision
	for _, key := range keys {
		claim := c.claim(key)
		if claim == nil || claim.Spec.VolumeName != "" || c.decided[key] {
			continue
		}
		if !alike || !c.makes(claim) {
			waiting = append(waiting, claim)
			continue
		}
		c.decided[key], c.later[key] = true, h
		c.changed(waiterOf(c.byClaim, key))
		all = append(all, Decision{claim: claim, later: true})
	}
	// kube-scheduler looks for the volumes of small claims first.
	size := func(c *corev1.PersistentVolumeClaim) int64 { return c.Spec.Resources.Requests.Storage().Value() }
	slices.SortStableFunc(waiting, func(a, b *corev1.PersistentVolumeClaim) int { return cmp.Compare(size(a), size(b)) })
	for _, claim := range waiting {
		all = append(all, c.bind(claim, c.table.Object(h)))
	}
	return all
}

// bind decides one claim, in the order in which kube-scheduler does it: a volume that is there comes before one that is to be made. Pods
// that wait for a volume of that storage class may find it gone then.
func (c *claims) bind(claim *corev1.PersistentVolumeClaim, node *corev1.Node) Decision {
	c.bound++
	was := Decision{claim: claim, volume: c.match(claim, node)}
	if was.volume != nil {
		c.give(claim, *was.volume)
		c.changed(waiterOf(c.byClass, storagehelpers.GetPersistentVolumeClass(was.volume)))
	} else {
		c.give(claim, c.made(claim, node))
	}
	c.decided[keyOf(claim)] = true
	c.changed(waiterOf(c.byClaim, keyOf(claim)))
	return was
}

// give binds the claim to the volume.
func (c *claims) give(claim *corev1.PersistentVolumeClaim, v corev1.PersistentVolume) {
	v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}
	v.Status.Phase = corev1.VolumeBound
	bound := *claim
	bound.Annotations = map[string]string{storagehelpers.AnnBindCompleted: "yes"}
	bound.Spec.VolumeName, bound.Status.Phase = v.Name, corev1.ClaimBound
	put(c.shelf, &v)
	put(c.shelf, &bound)
}

// match is the volume that kube-scheduler binds the claim to on the node, nil when one has to be made.
func (c *claims) match(claim *corev1.PersistentVolumeClaim, node *corev1.Node) *corev1.PersistentVolume {
	if selected(claim) {
		return nil
	}
	var all []*corev1.PersistentVolume
	for _, name := range c.spare[storagehelpers.GetPersistentVolumeClaimClass(claim)] {
		if v := found[*corev1.PersistentVolume](c.shelf, name); v != nil {
			all = append(all, v)
		}
	}
	v, err := storagehelpers.FindMatchingVolume(claim, all, node, nil, true, c.attributes)
	if err != nil {
		return nil // a selector that nobody can read: VolumeBinding refuses the pod everywhere
	}
	return v
}

// madeName is the name of the volume that is made for a claim.
func madeName(claim *corev1.PersistentVolumeClaim) string { return "made-for-" + keyOf(claim) }

// made is the volume that the class's provisioner makes for the claim on the node. Its handle is the claim's own, as no two disks are one:
// drivers count disks by their handles.
func (c *claims) made(claim *corev1.PersistentVolumeClaim, node *corev1.Node) corev1.PersistentVolume {
	name := madeName(claim)
	v := corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		Capacity: claim.Spec.Resources.Requests, AccessModes: claim.Spec.AccessModes,
		StorageClassName: storagehelpers.GetPersistentVolumeClaimClass(claim),
	}}
	if class := found[*storagev1.StorageClass](c.shelf, v.Spec.StorageClassName); class != nil {
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: class.Provisioner, VolumeHandle: name}
	}
	if zone, ok := node.Labels[corev1.LabelTopologyZone]; ok {
		in := corev1.NodeSelectorRequirement{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{in}}},
		}}
	}
	return v
}

// make makes the volume that was decided for the claim, if it is to be made later: somebody looks for it now. The decision is as old as it
// was, so this is no change.
func (c *claims) make(key string) {
	if h, promised := c.later[key]; promised {
		delete(c.later, key)
		claim := c.claim(key)
		c.give(claim, c.made(claim, c.table.Object(h)))
	}
}

// withdraw takes one decision back. Later ones are taken back already.
func (c *claims) withdraw(was Decision) {
	key := keyOf(was.claim)
	delete(c.decided, key)
	c.changed(waiterOf(c.byClaim, key))
	if _, promised := c.later[key]; was.later && promised {
		delete(c.later, key)
		return
	}
	c.bound++
	if was.volume != nil {
		put(c.shelf, was.volume)
		c.changed(waiterOf(c.byClass, storagehelpers.GetPersistentVolumeClass(was.volume)))
	} else {
		take(c.shelf, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: madeName(was.claim)}})
	}
	put(c.shelf, was.claim)
}
