package grow

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
func (c *Candidates) nears() (all []affinity) {
	for _, w := range c.wanted {
		a := w.Of.Spec.Affinity
		if a == nil || a.PodAffinity == nil {
			continue
		}
		for _, t := range a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			whom, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
			if err != nil || t.TopologyKey == corev1.LabelHostname {
				continue
			}
			all = append(all, affinity{w, t.TopologyKey, func(namespace string) bool {
				return t.NamespaceSelector != nil || slices.Contains(t.Namespaces, namespace) || len(t.Namespaces) == 0 && namespace == w.Of.Namespace
			}, whom})
		}
	}
	return all
}

// seeks says whether the term looks for pods of the class.
func (n *affinity) seeks(of *cluster.Class) bool {
	return n.in(of.Namespace) && n.whom.Matches(labels.Set(of.Labels))
}

// narrow leaves to pods the sites that come first: those of groups that have a Ready node, or never had one, and then those where all can
// be that must be near each other. Narrowed says whether any lost sites by it. Widen gives them all sites again, and says whether that is
// more for pods that are left.
func (c *Candidates) narrow() (narrowed bool, widen func() bool) {
	own := make([]wanted, len(c.wanted))
	for i, w := range c.wanted {
		own[i] = wanted{suits: w.suits, fits: w.fits}
		w.leave(func(i int) bool { return !c.sites[i].fails })
	}
	c.bring()
	for i, w := range c.wanted {
		narrowed = narrowed || !slices.Equal(w.suits, own[i].suits)
	}
	return narrowed, func() (more bool) {
		for i, w := range c.wanted {
			more = more || w.Left() > 0 && !slices.Equal(w.suits, own[i].suits)
			w.allow(own[i].suits, own[i].fits)
		}
		return more
	}
}

// bring leaves to pods that must be near each other the sites alone whose domain suits all of them. Without that the first would settle
// where another one's disk is not, and the other one had no place for good. Where no domain suits all, each goes where it can.
func (c *Candidates) bring() {
	nears := c.nears()
	for again := len(nears) > 0; again; {
		again = false
		for _, n := range nears {
			for _, x := range c.wanted {
				if x != n.w && (x.tied() || n.w.tied()) && n.seeks(x.Of) {
					again = c.follow(n.w, x, n.key) || c.follow(x, n.w, n.key) || again
				}
			}
		}
	}
}

// tied says whether some sites suit such a pod and others do not.
func (w *wanted) tied() bool {
	return slices.Contains(w.suits, false) && slices.Contains(w.suits, true)
}

// follow leaves to a demand the sites of those domains that suit another one as well, and says whether that changes it.
func (c *Candidates) follow(w, x *wanted, key string) bool {
	var domains []string
	for i, s := range c.sites {
		if x.suits[i] {
			domains = append(domains, s.label(key))
		}
	}
	return w.leave(func(i int) bool { return slices.Contains(domains, c.sites[i].label(key)) })
}
