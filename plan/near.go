package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"sluice.dev/sluice/cluster"
)

// affinity is a term by which pods of a demand must be near others, in a topology that is wider than a node.
type affinity struct {
	w    *wanted
	key  string
	in   func(namespace string) bool
	whom labels.Selector
}

// nears are the terms of all that is wanted. A term that chooses namespaces by their labels looks in all.
func (c *candidates) nears() (all []affinity) {
	for _, w := range c.wanted {
		a := w.of.Spec.Affinity
		if a == nil || a.PodAffinity == nil {
			continue
		}
		for _, t := range a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			whom, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
			if err != nil || t.TopologyKey == corev1.LabelHostname {
				continue
			}
			all = append(all, affinity{w, t.TopologyKey, func(namespace string) bool {
				return t.NamespaceSelector != nil || slices.Contains(t.Namespaces, namespace) || len(t.Namespaces) == 0 && namespace == w.of.Namespace
			}, whom})
		}
	}
	return all
}

// seeks says whether the term looks for pods of the class.
func (n *affinity) seeks(of *cluster.Class) bool {
	return n.in(of.Namespace) && n.whom.Matches(labels.Set(of.Labels))
}

// bring leaves to pods that must be near each other the sites alone whose domain suits all of them. Without that the first would settle where
// another one's disk is not, and the other one had no place for good. Where no domain suits all, each goes where it can, and so does who is left when
// they are parted again.
func (c *candidates) bring() (part func()) {
	nears := c.nears()
	if len(nears) == 0 {
		return func() {}
	}
	own := make([]wanted, len(c.wanted))
	for i, w := range c.wanted {
		own[i] = wanted{suits: w.suits, fits: w.fits}
	}
	for again := true; again; {
		again = false
		for _, n := range nears {
			for _, x := range c.wanted {
				if x != n.w && (x.tied() || n.w.tied()) && n.seeks(x.of) {
					again = c.narrow(n.w, x, n.key) || c.narrow(x, n.w, n.key) || again
				}
			}
		}
	}
	return func() {
		for i, w := range c.wanted {
			w.suits, w.fits = own[i].suits, own[i].fits
		}
	}
}

// tied says whether some sites suit such a pod and others do not.
func (w *wanted) tied() bool {
	return slices.Contains(w.suits, false) && slices.Contains(w.suits, true)
}

// narrow leaves to a demand the sites of those domains that suit another one as well, where there are any, and says whether that changes it.
func (c *candidates) narrow(w, x *wanted, key string) bool {
	var domains []string
	for i, s := range c.sites {
		if x.suits[i] {
			domains = append(domains, s.label(key))
		}
	}
	shared := slices.Clone(w.suits)
	for i, s := range c.sites {
		shared[i] = shared[i] && slices.Contains(domains, s.label(key))
	}
	if !slices.Contains(shared, true) || slices.Equal(shared, w.suits) {
		return false
	}
	w.suits, w.fits = shared, slices.Clone(w.fits)
	for i := range w.fits {
		w.fits[i] = w.fits[i] && shared[i]
	}
	return true
}
