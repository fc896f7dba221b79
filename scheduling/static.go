package scheduling

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// What depends on a pod's spec and a node object alone is asked of kube-scheduler's plugins once for each part of a spec and each kind
// of node: nodes that look the same to this part.

// Answers about a kind of node, 0 for not asked yet.
type verdict uint8

const (
	verdictAsked    verdict = 1 << iota
	verdictTaints           // TaintToleration lets the pod pass
	verdictSchedule         // NodeUnschedulable does
	verdictSelected         // NodeAffinity does
)

// tolerations are what pods tolerate, with an answer for each kind of taints.
type tolerations struct {
	id      int32
	pod     *corev1.Pod
	answers []verdict // by kind of taints
}

// selection is a node selector together with required node affinity.
type selection struct {
	id      int32
	pod     *corev1.Pod
	state   fwk.CycleState
	refused *fwk.Status      // what the plugin says whatever the node, nil when it depends on the node
	only    sets.Set[string] // the names of the only nodes that can match; nil when there may be others
	lens    *lens
	answers []verdict // by the lens's kinds
}

// lens is the way nodes look to selections that mention the same labels: a kind for each combination of their values.
type lens struct {
	keys  []string // sorted
	name  bool     // the node's name counts as well
	kinds map[string]int32
	of    []int32 // by node, -1 when not looked at yet
}

// toleration is the shared record of these tolerations.
func (c *Checker) toleration(all []corev1.Toleration) *tolerations {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Tolerations: all}}
	key := encoded(pod)
	if t, ok := c.tolerations[key]; ok {
		return t
	}
	t := &tolerations{id: int32(len(c.tolerations)), pod: pod}
	c.tolerations[key] = t
	return t
}

// wanted is the shared record of what the spec wants of nodes, nil for nothing.
func (c *Checker) wanted(s *corev1.PodSpec) *selection {
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: s.NodeSelector}}
	var required *corev1.NodeSelector
	if s.Affinity != nil && s.Affinity.NodeAffinity != nil {
		required = s.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	if required == nil && len(s.NodeSelector) == 0 {
		return nil
	}
	if required != nil {
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}}
	}
	key := encoded(pod)
	if known, ok := c.selections[key]; ok {
		return known
	}
	sel := &selection{id: int32(len(c.selections)), pod: pod, state: framework.NewCycleState()}
	result, status := c.plugins.affinity.PreFilter(c.ctx, sel.state, pod, nil)
	if !status.IsSuccess() && !status.IsSkip() {
		sel.refused = status
	} else if result != nil && result.NodeNames != nil {
		sel.only = result.NodeNames
	}
	sel.lens = c.lens(mentioned(s.NodeSelector, required))
	c.selections[key] = sel
	return sel
}

func encoded(p *corev1.Pod) string {
	raw, err := p.Spec.Marshal()
	if err != nil {
		panic("scheduling: a pod spec does not encode: " + err.Error()) // its types leave no room for that
	}
	return string(raw)
}

// mentioned are the labels that a selector and an affinity read, and whether they read the node's name.
func mentioned(selector map[string]string, required *corev1.NodeSelector) (keys []string, name bool) {
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

func (c *Checker) lens(keys []string, name bool) *lens {
	key := strings.Join(keys, "\x00")
	if name {
		key += "\x00\x00name"
	}
	if l, ok := c.lenses[key]; ok {
		return l
	}
	l := &lens{keys: keys, name: name, kinds: map[string]int32{}}
	c.lenses[key] = l
	return l
}

// look is the node's kind as the lens shows it.
func (c *Checker) look(l *lens, h Handle) int32 {
	for len(l.of) <= int(h) {
		l.of = append(l.of, -1)
	}
	if k := l.of[h]; k >= 0 {
		return k
	}
	var seen []byte
	for _, key := range l.keys {
		value, ok := c.label(h, key)
		if ok {
			seen = append(append(seen, '='), value...)
		}
		seen = append(seen, 0)
	}
	if l.name {
		seen = append(seen, c.slots[h].name...)
	}
	k, ok := l.kinds[string(seen)]
	if !ok {
		k = int32(len(l.kinds))
		l.kinds[string(seen)] = k
	}
	l.of[h] = k
	return k
}

// selected says whether the selection matches the node.
func (c *Checker) selected(s *selection, h Handle) bool {
	if s == nil {
		return true
	}
	if s.refused != nil || s.only != nil && !s.only.Has(c.slots[h].name) {
		return false
	}
	k := c.look(s.lens, h)
	for len(s.answers) <= int(k) {
		s.answers = append(s.answers, 0)
	}
	if s.answers[k] == 0 {
		s.answers[k] = verdictAsked
		info := framework.NewNodeInfo()
		info.SetNode(c.object(h))
		if c.plugins.affinity.Filter(c.ctx, s.state, s.pod, info).IsSuccess() {
			s.answers[k] |= verdictSelected
		}
	}
	return s.answers[k]&verdictSelected != 0
}

// tolerated is what the plugins about taints and the cordon say.
func (c *Checker) tolerated(t *tolerations, h Handle) verdict {
	k := c.taints[h]
	for len(t.answers) <= int(k) {
		t.answers = append(t.answers, 0)
	}
	if t.answers[k] == 0 {
		v := verdictAsked
		info := framework.NewNodeInfo()
		info.SetNode(c.object(h))
		if c.plugins.taints.Filter(c.ctx, nil, t.pod, info).IsSuccess() {
			v |= verdictTaints
		}
		if c.plugins.unschedulable.Filter(c.ctx, nil, t.pod, info).IsSuccess() {
			v |= verdictSchedule
		}
		t.answers[k] = v
	}
	return t.answers[k]
}

// taintKind numbers what a node says against pods: its taints and its cordon.
func (c *Checker) taintKind(n *corev1.Node) int32 {
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
	k, ok := c.taintKinds[string(seen)]
	if !ok {
		k = int32(len(c.taintKinds)) + 1
		c.taintKinds[string(seen)] = k
	}
	return k
}
