package cluster

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Class is what pods that are alike have in common: everything that decisions read of a pod but for its name, its times and where it
// runs. Pods of one controller are nearly always of one class. A class is immutable and its parts may be shared with other classes.
type Class struct {
	Namespace       string
	Labels          map[string]string
	Annotations     map[string]string // those that decisions read: see [readAnnotations]
	OwnerReferences []metav1.OwnerReference
	Spec            *corev1.PodSpec   // without NodeName; see [ownSpec] for what else is left out
	Held            *corev1.PodStatus // what containers hold while they are resized in place and by claims, nil for what Spec says

	Key     Key // the same for classes that are equal
	SpecKey Key // the same for classes whose Spec and Held are equal
}

// Key tells contents apart. It is a function of the content alone: the same in every process.
type Key [16]byte

// MarshalText writes the key in hexadecimal digits.
func (k Key) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, k[:]), nil }

// UnmarshalText reads what [Key.MarshalText] wrote.
func (k *Key) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(k)) {
		return fmt.Errorf("a key has %d hexadecimal digits, not %d", hex.EncodedLen(len(k)), len(text))
	}
	_, err := hex.Decode(k[:], text)
	return err
}

// Classes makes records of pods in which pods that are alike share one class. The zero value is ready for use. It is not safe for
// concurrent use.
type Classes struct {
	by    map[Key]*Class
	specs map[Key]*Class // one class for each Spec and Held
	words map[string]string
}

// Pod makes the record of an API object, which may be trimmed. The record takes over parts of the object, which must not be changed
// afterwards.
func (cs *Classes) Pod(o *corev1.Pod) *Pod {
	p := ownPart(o)
	p.Node = cs.word(p.Node)
	p.Class = cs.class(o)
	return p
}

// Again is the record of a pod that was read from paper, with a class that it shares.
func (cs *Classes) Again(p *Pod) *Pod {
	own := cs.Pod(p.Object())
	if p.pending != nil && p.pending.observed != 0 {
		own.Hear(nil, p.Observed())
	}
	return own
}

// Keep forgets the classes that none of these pods has.
func (cs *Classes) Keep(pods iter.Seq[*Pod]) {
	kept := Classes{by: make(map[Key]*Class, len(cs.by)), specs: make(map[Key]*Class, len(cs.specs)), words: map[string]string{}}
	for p := range pods {
		kept.by[p.Key] = p.Class
		kept.specs[p.SpecKey] = p.Class
		kept.words[p.Node] = p.Node
	}
	*cs = kept
}

// Len is how many classes are known.
func (cs *Classes) Len() int { return len(cs.by) }

// NewPods makes records of API objects, as [Classes.Pod] does with a table of their own.
func NewPods(objects ...*corev1.Pod) []*Pod {
	var table Classes
	pods := make([]*Pod, len(objects))
	for i, o := range objects {
		pods[i] = table.Pod(o)
	}
	return pods
}

// word is one copy of a string that many pods have.
func (cs *Classes) word(s string) string {
	if w, ok := cs.words[s]; ok {
		return w
	}
	if cs.words == nil {
		cs.words = map[string]string{}
	}
	s = strings.Clone(s)
	cs.words[s] = s
	return s
}

func (cs *Classes) class(o *corev1.Pod) *Class {
	if cs.by == nil {
		cs.by, cs.specs = map[Key]*Class{}, map[Key]*Class{}
	}
	c := &Class{
		Namespace: o.Namespace, Labels: o.Labels, Annotations: readAnnotations(o.Annotations), OwnerReferences: o.OwnerReferences,
		Spec: ownSpec(o), Held: held(o),
	}
	c.SpecKey = specKey(c.Spec, c.Held)
	c.Key = c.key()
	if known := cs.by[c.Key]; known != nil {
		return known
	}
	if known := cs.specs[c.SpecKey]; known != nil {
		c.Spec, c.Held = known.Spec, known.Held
	} else {
		cs.specs[c.SpecKey] = c
	}
	c.Namespace = cs.word(c.Namespace)
	cs.by[c.Key] = c
	return c
}

// ownSpec is what a pod's spec says about any pod of its kind. The node that a daemon's pod was made for is left out once it runs
// there, and so are volumes that every node can mount and whose names differ from pod to pod.
func ownSpec(o *corev1.Pod) *corev1.PodSpec {
	spec := o.Spec
	spec.NodeName, spec.Hostname = "", ""
	spec.Volumes = slices.DeleteFunc(slices.Clone(spec.Volumes), mountsAnywhere)
	if len(spec.Volumes) == 0 {
		spec.Volumes = nil
	}
	if o.Spec.NodeName != "" && ownedBy(o.OwnerReferences, "DaemonSet") {
		spec.Affinity = withoutNode(spec.Affinity)
	}
	return &spec
}

func mountsAnywhere(v corev1.Volume) bool {
	return v.Projected != nil || v.Secret != nil || v.ConfigMap != nil || v.DownwardAPI != nil
}

func ownedBy(owners []metav1.OwnerReference, kind string) bool {
	return slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return o.Kind == kind && o.Controller != nil && *o.Controller })
}

// withoutNode is the affinity without what names a node by its name, as the daemon controller adds it.
func withoutNode(a *corev1.Affinity) *corev1.Affinity {
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return a
	}
	out := a.DeepCopy()
	required := out.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	for i := range required.NodeSelectorTerms {
		required.NodeSelectorTerms[i].MatchFields = nil
	}
	required.NodeSelectorTerms = slices.DeleteFunc(required.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool { return len(t.MatchExpressions) == 0 })
	if len(required.NodeSelectorTerms) == 0 {
		out.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
	}
	return out
}

// held is the part of a pod's status that says what its containers hold, nil when that is what its spec says.
func held(o *corev1.Pod) *corev1.PodStatus {
	s := o.Status
	h := corev1.PodStatus{
		Resize: s.Resize, Resources: s.Resources, AllocatedResources: s.AllocatedResources,
		InitContainerStatuses:                unlike(s.InitContainerStatuses, o.Spec.InitContainers),
		ContainerStatuses:                    unlike(s.ContainerStatuses, o.Spec.Containers),
		NodeAllocatableResourceClaimStatuses: s.NodeAllocatableResourceClaimStatuses,
	}
	for _, c := range s.Conditions {
		if c.Type == corev1.PodResizePending || c.Type == corev1.PodResizeInProgress {
			h.Conditions = append(h.Conditions, corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason})
		}
	}
	if h.Resize == "" && h.Resources == nil && len(h.AllocatedResources) == 0 && h.Conditions == nil &&
		h.InitContainerStatuses == nil && h.ContainerStatuses == nil && len(h.NodeAllocatableResourceClaimStatuses) == 0 {
		return nil
	}
	return &h
}

// unlike are the statuses of containers that hold something else than they ask for; all of them if any does, nil when none does.
func unlike(all []corev1.ContainerStatus, specs []corev1.Container) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	differs := false
	for _, s := range all {
		if s.Resources == nil && len(s.AllocatedResources) == 0 {
			continue
		}
		kept = append(kept, corev1.ContainerStatus{Name: s.Name, Resources: s.Resources, AllocatedResources: s.AllocatedResources})
		i := slices.IndexFunc(specs, func(c corev1.Container) bool { return c.Name == s.Name })
		differs = differs || i < 0 ||
			s.Resources != nil && !sameQuantities(s.Resources.Requests, specs[i].Resources.Requests) ||
			len(s.AllocatedResources) > 0 && !sameQuantities(s.AllocatedResources, specs[i].Resources.Requests)
	}
	if !differs {
		return nil
	}
	return kept
}

func sameQuantities(a, b corev1.ResourceList) bool {
	if len(a) != len(b) {
		return false
	}
	for name, q := range a {
		if other, ok := b[name]; !ok || q.Cmp(other) != 0 {
			return false
		}
	}
	return true
}

// readPrefixes are the beginnings of annotations that decisions read. The others go: many are of one pod alone, such as its address.
var readPrefixes = []string{
	"cluster-autoscaler.kubernetes.io/", "autoscaling.x-k8s.io/", "karpenter.sh/", "sluice.dev/", "scheduling.k8s.io/", "scheduling.sigs.k8s.io/",
	"pod-group.scheduling.sigs.k8s.io", corev1.MirrorPodAnnotationKey, corev1.PodDeletionCost,
}

func readAnnotations(all map[string]string) map[string]string {
	reads := func(key string) bool {
		return slices.ContainsFunc(readPrefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
	}
	var kept map[string]string
	for k, v := range all {
		if reads(k) {
			if kept == nil {
				kept = map[string]string{}
			}
			kept[k] = v
		}
	}
	return kept
}

func specKey(spec *corev1.PodSpec, held *corev1.PodStatus) Key {
	w := newWriter()
	w.object(spec)
	if held != nil {
		w.object(held)
	}
	return w.key()
}

func (c *Class) key() Key {
	w := newWriter()
	w.bytes(c.SpecKey[:])
	w.text(c.Namespace)
	w.pairs(c.Labels)
	w.pairs(c.Annotations)
	for i := range c.OwnerReferences {
		w.object(&c.OwnerReferences[i])
	}
	return w.key()
}

// writer hashes contents so that their parts cannot run into each other.
type writer struct{ buffer []byte }

func newWriter() *writer { return &writer{make([]byte, 0, 1024)} }

func (w *writer) bytes(b []byte) {
	w.buffer = binary.AppendUvarint(w.buffer, uint64(len(b)))
	w.buffer = append(w.buffer, b...)
}

func (w *writer) text(s string) {
	w.buffer = binary.AppendUvarint(w.buffer, uint64(len(s)))
	w.buffer = append(w.buffer, s...)
}

func (w *writer) pairs(m map[string]string) {
	w.buffer = binary.AppendUvarint(w.buffer, uint64(len(m)))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		w.text(k)
		w.text(m[k])
	}
}

// object writes an API object in protobuf, which sorts its maps.
func (w *writer) object(o interface{ Marshal() ([]byte, error) }) {
	raw, err := o.Marshal()
	if err != nil {
		panic("cluster: an API object does not encode: " + err.Error()) // its types leave no room for that
	}
	w.bytes(raw)
}

func (w *writer) key() Key {
	sum := sha256.Sum256(w.buffer)
	return Key(sum[:16])
}
