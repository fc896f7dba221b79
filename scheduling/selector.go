package scheduling

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	operator "k8s.io/apimachinery/pkg/selection"
)

// selector says which pods an affinity term, or a spread constraint, is about. All that is equal in the world shares one.
type selector struct {
	id    int32
	terms []matcher // a pod must match all of them

	counters []*counter // of pods that it selects
	owners   []*counter // of pods that want nobody near whom it selects
}

// matcher selects pods by namespace and labels.
type matcher struct {
	key        string // the same for terms that select the same pods
	namespaces func(string) bool
	alone      string // the only namespace that it can match, "" when there may be others
	labels     labels.Selector
}

func (t *matcher) matches(namespace string, l labels.Set) bool {
	if t.alone != "" {
		return t.alone == namespace && t.labels.Matches(l)
	}
	return t.namespaces(namespace) && t.labels.Matches(l)
}

// selects says whether pods of that namespace with these labels match.
func (s *selector) selects(namespace string, l labels.Set) bool {
	for i := range s.terms {
		if !s.terms[i].matches(namespace, l) {
			return false
		}
	}
	return true
}

// selector is the shared record of pods that match all of the terms.
func (c *Checker) selector(terms ...matcher) *selector {
	keys := make([]string, len(terms))
	for i := range terms {
		keys[i] = terms[i].key
	}
	key := strings.Join(keys, "\x01")
	if s, ok := c.selectorOf[key]; ok {
		return s
	}
	s := &selector{id: int32(len(c.selectors)), terms: terms}
	c.selectorOf[key] = s
	c.selectors = append(c.selectors, s)
	c.indexSelector(s)
	return s
}

// where is a namespace with a label that pods must have for a selector to match them.
type where struct{ namespace, key, value string }

// indexSelector files a selector under a label without which it matches no pod, where there is one.
func (c *Checker) indexSelector(s *selector) {
	for i := range s.terms {
		t := &s.terms[i]
		if t.alone == "" {
			continue
		}
		all, _ := t.labels.Requirements()
		for _, r := range all {
			if op := r.Operator(); op != operator.In && op != operator.Equals && op != operator.DoubleEquals {
				continue
			}
			for _, value := range r.ValuesUnsorted() {
				at := where{t.alone, r.Key(), value}
				c.byLabel[at] = append(c.byLabel[at], s)
			}
			return
		}
	}
	c.anywhere = append(c.anywhere, s)
}

// hits are the selectors that match pods of a namespace with these labels, from the one numbered from on, in order.
func (c *Checker) hits(namespace string, l labels.Set, from int) []*selector {
	var out []*selector
	if len(c.selectors)-from < 8 {
		for _, s := range c.selectors[from:] {
			if s.selects(namespace, l) {
				out = append(out, s)
			}
		}
		return out
	}
	try := func(all []*selector) {
		for _, s := range all {
			if int(s.id) >= from && s.selects(namespace, l) {
				out = append(out, s)
			}
		}
	}
	try(c.anywhere)
	for key, value := range l {
		try(c.byLabel[where{namespace, key, value}])
	}
	slices.SortFunc(out, func(a, b *selector) int { return int(a.id - b.id) })
	return out
}

// spreadTerm is what a spread constraint counts: pods of the namespace that its selector matches, with the values that the pod itself
// has for the match label keys.
func spreadTerm(namespace string, t *corev1.TopologySpreadConstraint, own map[string]string) (matcher, error) {
	s, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
	if err != nil {
		return matcher{}, err
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
	return matcher{key: "s\x00" + namespace + "\x00" + words(s), alone: namespace, labels: s}, nil
}

// affinityTerm is whom a term of required affinity or anti-affinity is about. The namespaces that its namespace selector matches are
// looked up when the pod that has the term comes; when it runs already they are looked up for the pod that comes. The two differ for
// namespaces that nobody has told us of.
func (c *Checker) affinityTerm(namespace string, t *corev1.PodAffinityTerm, runs bool) (matcher, error) {
	s, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
	if err != nil {
		return matcher{}, err
	}
	in, err := metav1.LabelSelectorAsSelector(t.NamespaceSelector)
	if err != nil {
		return matcher{}, err
	}
	names := t.Namespaces
	if len(names) == 0 && t.NamespaceSelector == nil {
		names = []string{namespace}
	}
	if t.NamespaceSelector == nil && len(names) == 1 {
		return matcher{key: "a\x00" + names[0] + "\x00" + words(s), alone: names[0], labels: s}, nil
	}
	names = slices.Clone(names)
	slices.Sort(names)
	key := "a\x00" + strings.Join(names, "\x00") + "\x00\x00" + words(s) + "\x00" + words(in)
	if runs {
		key += "\x00runs"
	}
	matches := func(ns string) bool {
		if _, named := slices.BinarySearch(names, ns); named {
			return true
		}
		own, known := c.namespaces[ns]
		if runs {
			return in.Matches(labels.Set(own))
		}
		return in.Matches(labels.Set(nil)) || known && !in.Empty() && in.Matches(labels.Set(own))
	}
	return matcher{key: key, namespaces: matches, labels: s}, nil
}

// words are a selector's words; those that match nothing and everything have none of their own.
func words(s labels.Selector) string {
	if all, ok := s.Requirements(); !ok {
		return "nothing"
	} else if len(all) == 0 {
		return "everything"
	}
	return "(" + s.String() + ")"
}
