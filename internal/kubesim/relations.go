package kubesim

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// domain is one value of a topology key.
type domain struct{ key, value string }

// relations is what the pods already placed mean for one that is not.
type relations struct {
	spread   []spread
	near     []term
	apart    []term
	repelled map[domain]bool // by the anti-affinity of placed pods
}

// spread is a topology spread constraint with the pods counted.
type spread struct {
	key     string
	maxSkew int
	self    int // 1 if the pod counts itself
	counts  map[string]int
	least   int
}

// term is a required (anti-)affinity term and the domains that hold a match.
type term struct {
	key   string
	found map[string]bool
	// alone: nobody matches anywhere, but the pod matches its own term, so
	// that the first of its kind may go anywhere the key exists.
	alone bool
}

func relationsOf(s *store, pod *corev1.Pod, rooms []*room, f *fit) *relations {
	rel := &relations{repelled: map[domain]bool{}}
	for _, t := range pod.Spec.TopologySpreadConstraints {
		if t.WhenUnsatisfiable == corev1.DoNotSchedule {
			rel.spread = append(rel.spread, spreadOf(pod, t, rooms, f))
		}
	}
	if a := pod.Spec.Affinity; a != nil && a.PodAffinity != nil {
		for _, t := range a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			rel.near = append(rel.near, termOf(s, pod, t, rooms))
		}
	}
	if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		for _, t := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			rel.apart = append(rel.apart, termOf(s, pod, t, rooms))
		}
	}
	for _, r := range rooms {
		for _, st := range r.pods {
			if !st.asks.repels {
				continue
			}
			for _, t := range st.pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
				if v, ok := r.node.Labels[t.TopologyKey]; ok && matchesTerm(s, t, st.pod, pod) {
					rel.repelled[domain{t.TopologyKey, v}] = true
				}
			}
		}
	}
	return rel
}

func spreadOf(pod *corev1.Pod, t corev1.TopologySpreadConstraint, rooms []*room, f *fit) spread {
	s := spread{key: t.TopologyKey, maxSkew: int(t.MaxSkew), counts: map[string]int{}}
	sel := selectorOf(t.LabelSelector)
	for _, key := range t.MatchLabelKeys {
		if v, ok := pod.Labels[key]; ok {
			sel = and(sel, key, v)
		}
	}
	if sel.Matches(labels.Set(pod.Labels)) {
		s.self = 1
	}
	for _, r := range rooms {
		value, ok := r.node.Labels[t.TopologyKey]
		if !ok {
			continue
		}
		if t.NodeAffinityPolicy == nil || *t.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor {
			if ok, err := f.affinity.Match(r.node); !ok || err != nil {
				continue
			}
		}
		if t.NodeTaintsPolicy != nil && *t.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor && !AdmitsTaints(pod.Spec.Tolerations, r.node.Spec.Taints) {
			continue
		}
		n := s.counts[value]
		for _, st := range r.pods {
			if st.pod.Namespace == pod.Namespace && st.pod.DeletionTimestamp == nil && sel.Matches(labels.Set(st.pod.Labels)) {
				n++
			}
		}
		s.counts[value] = n
	}
	s.least = math.MaxInt32
	for _, n := range s.counts {
		s.least = min(s.least, n)
	}
	if t.MinDomains != nil && len(s.counts) < int(*t.MinDomains) {
		s.least = 0
	}
	return s
}

func termOf(s *store, pod *corev1.Pod, t corev1.PodAffinityTerm, rooms []*room) term {
	out := term{key: t.TopologyKey, found: map[string]bool{}}
	for _, r := range rooms {
		value, ok := r.node.Labels[t.TopologyKey]
		if !ok || out.found[value] {
			continue
		}
		if slices.ContainsFunc(r.pods, func(st *podState) bool { return matchesTerm(s, t, pod, st.pod) }) {
			out.found[value] = true
		}
	}
	out.alone = len(out.found) == 0 && matchesTerm(s, t, pod, pod)
	return out
}

// matchesTerm reports whether a term of holder is about the other pod.
func matchesTerm(s *store, t corev1.PodAffinityTerm, holder, other *corev1.Pod) bool {
	if !inTermNamespaces(s, t, holder, other) {
		return false
	}
	sel := selectorOf(t.LabelSelector)
	for _, key := range t.MatchLabelKeys {
		if v, ok := holder.Labels[key]; ok {
			sel = and(sel, key, v)
		}
	}
	return sel.Matches(labels.Set(other.Labels))
}

func inTermNamespaces(s *store, t corev1.PodAffinityTerm, holder, other *corev1.Pod) bool {
	if len(t.Namespaces) == 0 && t.NamespaceSelector == nil {
		return holder.Namespace == other.Namespace
	}
	if slices.Contains(t.Namespaces, other.Namespace) {
		return true
	}
	if t.NamespaceSelector == nil {
		return false
	}
	ns := s.entryOf("namespaces", other.Namespace)
	return ns != nil && selectorOf(t.NamespaceSelector).Matches(labels.Set(ns.obj.GetLabels()))
}

// refusal returns why the other pods keep this one off a node, "" if they do not.
func (rel *relations) refusal(r *room) string {
	for _, s := range rel.spread {
		value, ok := r.node.Labels[s.key]
		if !ok {
			return "node(s) didn't match pod topology spread constraints (missing required label)"
		}
		if s.counts[value]+s.self-s.least > s.maxSkew {
			return "node(s) didn't match pod topology spread constraints"
		}
	}
	for _, t := range rel.near {
		value, ok := r.node.Labels[t.key]
		if !ok || !t.found[value] && !t.alone {
			return "node(s) didn't match pod affinity rules"
		}
	}
	for _, t := range rel.apart {
		if value, ok := r.node.Labels[t.key]; ok && t.found[value] {
			return "node(s) didn't match pod anti-affinity rules"
		}
	}
	for d := range rel.repelled {
		if r.node.Labels[d.key] == d.value {
			if _, ok := r.node.Labels[d.key]; ok {
				return "node(s) didn't satisfy existing pods anti-affinity rules"
			}
		}
	}
	return ""
}

// selectorOf turns a selector of the API into one that matches; nil selects
// nothing, and so does one that makes no sense.
func selectorOf(s *metav1.LabelSelector) labels.Selector {
	sel, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Nothing()
	}
	return sel
}

func and(sel labels.Selector, key, value string) labels.Selector {
	more, selectable := labels.SelectorFromSet(labels.Set{key: value}).Requirements()
	if !selectable {
		return sel
	}
	return sel.Add(more...)
}
