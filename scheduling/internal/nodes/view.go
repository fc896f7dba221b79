package nodes

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Lens is the way nodes look to those who read the same labels: a kind for each combination of their values.
type Lens struct {
	keys  []string // sorted
	name  bool     // the node's name counts as well
	kinds map[string]int32
	of    []int32 // by node, -1 when not looked at yet
}

// Topology divides nodes by their value of one label. A node without the label is in no domain.
type Topology struct {
	ID      int32
	key     string
	domains map[string]int32
	of      []int32 // by node: its domain, -1 for none
}

// Of is the node's domain, -1 for none.
func (t *Topology) Of(h Handle) int32 { return t.of[h] }

// views is how nodes look. Whatever is known of a node is forgotten when another object, or another node, takes its place.
type views struct {
	lenses       map[string]*Lens
	topologies   []*Topology
	taintKinds   map[string]int32
	taints       []int32 // by node: the kind of its taints
	featureKinds map[string]int32
	features     []int32 // by node: the kind of the features that its kubelet declares
}

// see looks at a node that has another object than before.
func (v *views) see(h Handle, r *row) {
	v.taints, v.features = Reach(v.taints, h, -1), Reach(v.features, h, -1)
	if r.template != nil {
		v.taints[h], v.features[h] = r.template.taints, r.template.features
	} else {
		v.taints[h], v.features[h] = v.taintKind(r.node), v.featureKind(r.node)
	}
	for _, t := range v.topologies {
		t.see(h, r)
	}
	for _, l := range v.lenses {
		if int(h) < len(l.of) {
			l.of[h] = -1
		}
	}
}

// taintKind numbers what a node says against pods: its taints and its cordon. 0 is to say nothing.
func (v *views) taintKind(n *corev1.Node) int32 {
	if len(n.Spec.Taints) == 0 && !n.Spec.Unschedulable {
		return 0
	}
	var seen []byte
	if n.Spec.Unschedulable {
		seen = append(seen, '!')
	}
	for _, t := range n.Spec.Taints {
		seen = append(append(append(append(append(append(seen, 0), t.Key...), 0), t.Value...), 0), t.Effect...)
	}
	return Numbered(v.taintKinds, string(seen), 1)
}

// featureKind numbers what a node's kubelet declares. 0 is to declare nothing.
func (v *views) featureKind(n *corev1.Node) int32 {
	if len(n.Status.DeclaredFeatures) == 0 {
		return 0
	}
	return Numbered(v.featureKinds, strings.Join(n.Status.DeclaredFeatures, "\x00"), 1)
}

// Numbered is the number of what was seen, from the first on.
func Numbered(all map[string]int32, seen string, first int32) int32 {
	k, ok := all[seen]
	if !ok {
		k = int32(len(all)) + first
		all[seen] = k
	}
	return k
}

// see looks up the node's domain.
func (t *Topology) see(h Handle, r *row) {
	t.of = Reach(t.of, h, -1)
	t.of[h] = -1
	if value, ok := r.label(t.key); ok {
		t.of[h] = Numbered(t.domains, value, 0)
	}
}

// topology is the shared record of a label, filled in for the nodes that are there.
func (v *views) topology(key string, rows []row) *Topology {
	for _, t := range v.topologies {
		if t.key == key {
			return t
		}
	}
	t := &Topology{ID: int32(len(v.topologies)), key: key, domains: map[string]int32{}}
	for h := range rows {
		t.see(Handle(h), &rows[h])
	}
	v.topologies = append(v.topologies, t)
	return t
}

// lens is the shared record of what reads these labels, and the node's name if so.
func (v *views) lens(keys []string, name bool) *Lens {
	key := strings.Join(keys, "\x00")
	if name {
		key += "\x00\x00name"
	}
	if l, ok := v.lenses[key]; ok {
		return l
	}
	l := &Lens{keys: keys, name: name, kinds: map[string]int32{}}
	v.lenses[key] = l
	return l
}

// look is the node's kind as the lens shows it.
func (l *Lens) look(h Handle, r *row) int32 {
	l.of = Reach(l.of, h, -1)
	if k := l.of[h]; k >= 0 {
		return k
	}
	var seen []byte
	for _, key := range l.keys {
		value, ok := r.label(key)
		if ok {
			seen = append(append(seen, '='), value...)
		}
		seen = append(seen, 0)
	}
	if l.name {
		seen = append(seen, r.name...)
	}
	l.of[h] = Numbered(l.kinds, string(seen), 0)
	return l.of[h]
}

// Mentioned are the labels that a selector and an affinity read, sorted, and whether they read the node's name.
func Mentioned(selector map[string]string, required *corev1.NodeSelector) (keys []string, name bool) {
	for key := range selector {
		keys = append(keys, key)
	}
	if required != nil {
		for _, t := range required.NodeSelectorTerms {
			for _, r := range t.MatchExpressions {
				keys = append(keys, r.Key)
			}
			for _, r := range t.MatchFields {
				name = name || r.Key == metav1.ObjectNameField
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys), name
}
