package kubesim

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Annotations that the volume controllers and the scheduler leave on claims.
const (
	selectedNode  = "volume.kubernetes.io/selected-node"
	bindCompleted = "pv.kubernetes.io/bind-completed"
	provisionedBy = "pv.kubernetes.io/provisioned-by"
	defaultClass  = "storageclass.kubernetes.io/is-default-class"
)

const defaultProvision = 3 * time.Second

// volumes are the controllers of persistent volumes: they bind claims, make and delete volumes, attach and detach them.
type volumes struct {
	store  *store
	pods   *podIndex
	timers *timers
	work   workQueue

	provisionAt map[string]time.Time // when a claim gets the volume that is being made for it, by claim key
	attaching   map[string]struct{}  // nodes whose attached volumes may differ from those of their pods
}

func newVolumes(s *store, pods *podIndex, t *timers, work workQueue) *volumes {
	return &volumes{store: s, pods: pods, timers: t, work: work, provisionAt: map[string]time.Time{}, attaching: map[string]struct{}{}}
}

// observe has the controllers look at what a change concerns.
func (vs *volumes) observe(ch change) {
	switch obj := ch.after.obj.(type) {
	case *corev1.PersistentVolumeClaim:
		vs.work.mark("persistentvolumeclaims", ch.after.key)
		if ch.deleted && obj.Spec.VolumeName != "" {
			vs.work.mark("persistentvolumes", obj.Spec.VolumeName)
		}
	case *corev1.PersistentVolume:
		vs.work.mark("persistentvolumes", ch.after.key)
		if ref := obj.Spec.ClaimRef; ref != nil {
			vs.work.mark("persistentvolumeclaims", key(ref.Namespace, ref.Name))
		} else {
			vs.markUnboundClaims()
		}
	case *storagev1.StorageClass:
		vs.markUnboundClaims()
	}
}

func (vs *volumes) markUnboundClaims() {
	for _, e := range vs.store.tables["persistentvolumeclaims"].sorted {
		if e.obj.(*corev1.PersistentVolumeClaim).Status.Phase == corev1.ClaimPending {
			vs.work.mark("persistentvolumeclaims", e.key)
		}
	}
}

// makeClaims creates the claims of a pod's generic ephemeral volumes.
func (vs *volumes) makeClaims(pod *corev1.Pod) {
	for _, v := range pod.Spec.Volumes {
		if v.Ephemeral == nil || v.Ephemeral.VolumeClaimTemplate == nil {
			continue
		}
		t := v.Ephemeral.VolumeClaimTemplate
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: *t.ObjectMeta.DeepCopy(), Spec: *t.Spec.DeepCopy()}
		claim.Namespace, claim.Name = pod.Namespace, pod.Name+"-"+v.Name
		claim.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod"))}
		if vs.store.entryOf("persistentvolumeclaims", keyOf(claim)) == nil {
			_, _ = vs.store.create(kindOf(claim), claim, false) // refused in a namespace that is going, as the pod will be
		}
	}
}

// reconcileClaim binds a claim to its volume, or plans to make one, which takes so long.
func (vs *volumes) reconcileClaim(e *entry, takes time.Duration) {
	claim := e.obj.(*corev1.PersistentVolumeClaim)
	if claim.DeletionTimestamp != nil {
		return
	}
	if claim.Spec.VolumeName != "" {
		v := vs.store.entryOf("persistentvolumes", claim.Spec.VolumeName)
		switch {
		case v != nil:
			vs.tie(e, v)
		case claim.Status.Phase == corev1.ClaimBound:
			revised(vs.store, e, func(claim *corev1.PersistentVolumeClaim) { claim.Status.Phase = corev1.ClaimLost })
		}
		return
	}
	class := vs.classOf(claim)
	delayed := class != nil && waits(class)
	if !delayed {
		if v := vs.matching(claim, nil, false); v != nil {
			vs.tie(e, vs.store.entryOf("persistentvolumes", v.Name))
			return
		}
	}
	if class == nil || class.Provisioner == noProvisioner || delayed && claim.Annotations[selectedNode] == "" {
		return
	}
	if _, planned := vs.provisionAt[e.key]; !planned {
		at := vs.store.now().Add(takes)
		vs.provisionAt[e.key] = at
		vs.timers.remind(at, claimProvisions, e.key, claim.UID)
	}
}

// tie binds a claim and a volume to each other, unless another claim has it.
func (vs *volumes) tie(e, v *entry) {
	claim := e.obj.(*corev1.PersistentVolumeClaim)
	if ref := v.obj.(*corev1.PersistentVolume).Spec.ClaimRef; ref != nil && (ref.Namespace != claim.Namespace || ref.Name != claim.Name || ref.UID != "" && ref.UID != claim.UID) {
		return
	}
	revised(vs.store, v, func(v *corev1.PersistentVolume) {
		v.Spec.ClaimRef = &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}
		v.Status.Phase = corev1.VolumeBound
	})
	revised(vs.store, e, func(claim *corev1.PersistentVolumeClaim) {
		volume := v.obj.(*corev1.PersistentVolume)
		claim.Spec.VolumeName = volume.Name
		claim.Status.Phase, claim.Status.AccessModes, claim.Status.Capacity = corev1.ClaimBound, volume.Spec.AccessModes, volume.Spec.Capacity
		if claim.Annotations == nil {
			claim.Annotations = map[string]string{}
		}
		claim.Annotations[bindCompleted] = "yes"
	})
}

// provision makes the volume of a claim: near the node that the scheduler
// selected, or in one of the zones that the class allows.
func (vs *volumes) provision(key string) {
	delete(vs.provisionAt, key)
	e := vs.store.entryOf("persistentvolumeclaims", key)
	claim := e.obj.(*corev1.PersistentVolumeClaim)
	class := vs.classOf(claim)
	if class == nil || claim.DeletionTimestamp != nil || claim.Spec.VolumeName != "" {
		return
	}
	node := vs.provisionNear(claim, class)
	if node == nil {
		vs.unselect(e)
		return
	}
	v := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + string(claim.UID), Annotations: map[string]string{provisionedBy: class.Provisioner}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: claim.Spec.Resources.Requests.DeepCopy(), AccessModes: slices.Clone(claim.Spec.AccessModes), StorageClassName: class.Name, VolumeMode: claim.Spec.VolumeMode,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: class.Provisioner, VolumeHandle: "pvc-" + string(claim.UID)}},
		},
	}
	if class.ReclaimPolicy != nil {
		v.Spec.PersistentVolumeReclaimPolicy = *class.ReclaimPolicy
	}
	if where := allowedTopology(class, node); where[0].Key != "" {
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: where}}}}
	}
	made, err := vs.store.create(kindOf(v), v, true)
	if err != nil {
		return // the volume is there: the claim's next turn ties them
	}
	vs.tie(e, made)
}

// provisionNear returns the node a volume is made for. For a claim that waits
// for no pod it stands for a zone that the class allows, drawn from the seed;
// a class that leaves it open has one of the zones there are nodes in.
func (vs *volumes) provisionNear(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) *corev1.Node {
	if name := claim.Annotations[selectedNode]; name != "" {
		if e := vs.store.entryOf("nodes", name); e != nil && len(allowedTopology(class, e.obj.(*corev1.Node))) > 0 {
			return e.obj.(*corev1.Node)
		}
		return nil
	}
	var places []map[string]string
	for _, t := range class.AllowedTopologies {
		for _, m := range t.MatchLabelExpressions {
			for _, value := range m.Values {
				places = append(places, map[string]string{m.Key: value})
			}
		}
	}
	if len(class.AllowedTopologies) == 0 {
		for _, e := range vs.store.tables["nodes"].sorted {
			if zone := e.obj.GetLabels()[corev1.LabelTopologyZone]; zone != "" {
				places = append(places, map[string]string{corev1.LabelTopologyZone: zone})
			}
		}
	}
	if len(places) == 0 {
		return &corev1.Node{}
	}
	labels := places[hash(vs.store.seed, "zone", keyOf(claim))%uint64(len(places))]
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
}

// unselect gives a claim whose node cannot have its volume back to the scheduler.
func (vs *volumes) unselect(e *entry) {
	revised(vs.store, e, func(claim *corev1.PersistentVolumeClaim) { delete(claim.Annotations, selectedNode) })
}

// reconcileVolume keeps the phase of a volume, and deletes one that was made
// for a claim that is gone.
func (vs *volumes) reconcileVolume(e *entry) {
	v := e.obj.(*corev1.PersistentVolume)
	ref := v.Spec.ClaimRef
	phase := corev1.VolumeAvailable
	if ref != nil && ref.UID != "" {
		phase = corev1.VolumeBound
		if claim := vs.store.entryOf("persistentvolumeclaims", key(ref.Namespace, ref.Name)); claim == nil || claim.obj.GetUID() != ref.UID {
			phase = corev1.VolumeReleased
		}
	}
	if phase == corev1.VolumeReleased && v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete && v.DeletionTimestamp == nil {
		_, _ = vs.store.delete(e, &metav1.DeleteOptions{})
		return
	}
	revised(vs.store, e, func(v *corev1.PersistentVolume) { v.Status.Phase = phase })
}

// cutKey is the inverse of key.
func cutKey(k string) (namespace, name string, namespaced bool) {
	if namespace, name, namespaced = strings.Cut(k, "/"); namespaced {
		return namespace, name, true
	}
	return "", k, false
}
