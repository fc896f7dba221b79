package relations

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	operator "k8s.io/apimachinery/pkg/selection"
)

// Term selects pods by namespace and labels.
type Term struct {
	key        string // the same for terms that select the same pods
	namespaces func(string) bool
	only       string // the only namespace that it can match, "" when there may be others
	labels     labels.Selector
}

// matches says whether the term selects pods of that namespace with these labels.
func (t *Term) matches(namespace string, l labels.Set) bool {
	if t.only != "" {
		return t.only == namespace && t.labels.Matches(l)
	}
	return t.namespaces(namespace) && t.labels.Matches(l)
}

// Nobody selects no pod.
func Nobody(namespace string) Term {
	return Term{key: "s none", only: namespace, labels: labels.Nothing()}
}

// Everybody says whether the term selects all pods of its namespaces. PodTopologySpread counts nothing by such a selector, unlike
// InterPodAffinity, so who asks must know for which of the two.
func (t *Term) Everybody() bool { return t.labels.Empty() }

// Includes says whether the term's labels match those of a pod, whatever its namespace.
func (t *Term) Includes(own map[string]string) bool { return t.labels.Matches(labels.Set(own)) }

// SpreadTerm is what a spread constraint counts: pods of the namespace that its selector matches, with the values that the pod itself
// has for the match label keys.
func SpreadTerm(namespace string, t *corev1.TopologySpreadConstraint, own map[string]string) (Term, error) {
	s, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
	if err != nil {
		return Term{}, err
	}
	for _, key := range t.MatchLabelKeys {
		value, ok := own[key]
		if !ok {
			continue
		}
		if r, err := labels.NewRequirement(key, operator.In, []string{value}); err == nil {
			if all, selectable := s.Requirements(); selectable {
				s = labels.NewSelector().Add(all...).Add(*r)
			}
		}
	}
	return Term{key: "s\x00" + namespace + "\x00" + words(s), only: namespace, labels: s}, nil
}

// Affinity is a term of required affinity or anti-affinity, with its topology.
type Affinity struct {
	Term
	Key  string
	Sign int32 // -1 for pods that the anti-affinity before it leaves out of those that its Term matches, else 1
}

// Terms are the required terms of affinity, or of anti-affinity, of a pod spec in that namespace, whose pods have these labels. Terms of
// anti-affinity may come in two parts: see split.
//
// The namespaces that a term's namespace selector matches are looked up when the pod that has the term comes. When it runs already they
// are looked up for the pod that comes. The two differ for namespaces that the snapshot does not have.
func (r *Relations) Terms(namespace string, own labels.Set, a *corev1.Affinity, anti, runs bool) ([]Affinity, error) {
	var all []corev1.PodAffinityTerm
	switch {
	case a == nil:
	case !anti && a.PodAffinity != nil:
		all = a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	case anti && a.PodAntiAffinity != nil:
		all = a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	var out []Affinity
	for i := range all {
		s, err := metav1.LabelSelectorAsSelector(all[i].LabelSelector)
		if err != nil {
			return nil, err
		}
		parts := []labels.Selector{s}
		if anti {
			parts = split(s, own)
		}
		for no, s := range parts {
			t, err := r.affinityTerm(namespace, &all[i], s, runs)
			if err != nil {
				return nil, err
			}
			out = append(out, Affinity{t, all[i].TopologyKey, int32(1 - 2*no)})
		}
	}
	return out, nil
}

// split divides a selector that leaves out pods with these labels by a NotIn. The first part matches these as well, the second one what is to
// be taken off it. A thousand jobs that keep away from each other have a thousand such selectors. The first part is one for all of
// them, and the second is found by its label. Each job would be counted for all others otherwise.
func split(s labels.Selector, own labels.Set) []labels.Selector {
	wanted, _ := s.Requirements()
	for i, not := range wanted {
		if not.Operator() != operator.NotIn || not.Matches(own) {
			continue
		}
		if in, err := labels.NewRequirement(not.Key(), operator.In, not.ValuesUnsorted()); err == nil {
			others := labels.NewSelector().Add(slices.Delete(slices.Clone(wanted), i, i+1)...)
			return []labels.Selector{others, others.Add(*in)}
		}
	}
	return []labels.Selector{s}
}

// affinityTerm is a part of a term of [Relations.Terms]. A term that names no namespace and selects none is about the pod's own.
func (r *Relations) affinityTerm(namespace string, t *corev1.PodAffinityTerm, s labels.Selector, runs bool) (Term, error) {
	in, err := metav1.LabelSelectorAsSelector(t.NamespaceSelector)
	if err != nil {
		return Term{}, err
	}
	names := t.Namespaces
	if len(names) == 0 && t.NamespaceSelector == nil {
		names = []string{namespace}
	}
	if t.NamespaceSelector == nil && len(names) == 1 {
		return Term{key: "a\x00" + names[0] + "\x00" + words(s), only: names[0], labels: s}, nil
	}
	names = slices.Clone(names)
	slices.Sort(names)
	key := "a\x00" + strings.Join(names, "\x00") + "\x00\x00" + words(s) + "\x00" + words(in)
	if runs && !in.Empty() {
		key += "\x00runs"
	}
	matches := func(ns string) bool {
		if _, named := slices.BinarySearch(names, ns); named {
			return true
		}
		own, known := r.namespaces[ns]
		if runs {
			return in.Matches(labels.Set(own))
		}
		return in.Empty() || known && in.Matches(labels.Set(own))
	}
	return Term{key: key, namespaces: matches, labels: s}, nil
}

// words are a selector's words; those that match nothing and everything have none of their own. Requirements are sorted by key in them,
// so selectors that say the same in another order are counted once.
func words(s labels.Selector) string {
	if all, ok := s.Requirements(); !ok {
		return "nothing"
	} else if len(all) == 0 {
		return "everything"
	}
	return "(" + s.String() + ")"
}
