package grow

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"sluice.dev/sluice/cluster"
)

// affinity is one required pod affinity term of a demand, over a topology that is wider than a node. in and whom say which pods it is
// about: by their namespace and by their labels.
type affinity struct {
	w    *wanted
	key  string
	in   func(namespace string) bool
	whom labels.Selector
}

// nears are the affinity terms of all that is wanted. Terms over the hostname are left out: they narrow no zone, and the checker decides
// them when pods are placed. A term with a namespace selector is taken to mean all namespaces. It may narrow too much then, which widen
// takes back.
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

// narrow leaves to each demand only the sites that come first. A step that would leave a demand no site changes nothing for it.
//
//	step   sites that stay                                                 scenario
//	first  those of groups that do not fail (see [Failures.Failing])       group-all-not-ready
//	then   those whose domain suits all pods that must be near each other  affinity-zone-with-disk
//	widen  all sites again
//
// narrowed says whether a demand lost a site. The caller calls widen after it has placed what it can, and widen says whether pods are left
// that have more sites now. It may be called again, and says false then. Without widen, pods whose first sites are full would be stuck
// although another site takes them.
func (c *Candidates) narrow() (narrowed bool, widen func() bool) {
	own := make([]wanted, len(c.wanted))
	for i, w := range c.wanted {
		// leave makes new slices and does not write into the old ones, so own keeps them as they were.
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

// bring leaves to pods that must be near each other only the sites whose domain suits all of them. Without it the first pod would settle in
// a zone where the disk of another pod is not, and the other pod would never have a place (scenario affinity-zone-with-disk). Where no
// domain suits all, each goes where it can.
//
// Each turn of the loop takes at least one site from a demand, so the loop ends.
func (c *Candidates) bring() {
	nears := c.nears()
	for again := len(nears) > 0; again; {
		again = false
		for _, n := range nears {
			for _, x := range c.wanted {
				// Where no site tells the two apart, following changes nothing.
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

// follow leaves to demand w the sites in the domains that suit x as well, and says whether that changes w. A domain is a value of the label
// key.
func (c *Candidates) follow(w, x *wanted, key string) bool {
	var domains []string
	for i, s := range c.sites {
		if x.suits[i] {
			domains = append(domains, s.label(key))
		}
	}
	return w.leave(func(i int) bool { return slices.Contains(domains, c.sites[i].label(key)) })
}
