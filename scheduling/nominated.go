package scheduling

import (
	"slices"

	"sluice.dev/sluice/cluster"
)

// A pod that waits for a node on which the scheduler has made room counts there for pods of no higher priority, beside those that run: a
// pod is welcome when it is so with the nominated ones in their place and without them. It counts no more once it is placed somewhere.

// nominate notes the pods of the snapshot that wait for a node.
func (c *Checker) nominate(pods []*cluster.Pod) {
	c.nominated = nil
	for _, p := range pods {
		h, ok := c.byName[p.Nominated()]
		if cl := c.class(p.Class); ok && !cl.absent {
			if c.nominated == nil {
				c.nominated = map[Handle][]entry{}
			}
			c.nominated[h] = append(c.nominated[h], entry{p, cl.id, 1})
		}
	}
}

// settle takes a pod that is placed out of those that wait for a node. It returns where it waited and those who did with it.
func (c *Checker) settle(p *cluster.Pod) (h Handle, before []entry) {
	if len(c.nominated) == 0 || p == nil || p.Nominated() == "" {
		return 0, nil
	}
	h, ok := c.byName[p.Nominated()]
	if !ok {
		return 0, nil
	}
	before = c.nominated[h]
	i := slices.IndexFunc(before, func(e entry) bool { return samePod(e.pod, p) })
	if i < 0 {
		return 0, nil
	}
	c.nominated[h] = slices.Concat(before[:i], before[i+1:])
	return h, before
}

// samePod says whether two records are about one pod.
func samePod(a, b *cluster.Pod) bool {
	return a == b || a.Namespace == b.Namespace && a.Name == b.Name && a.UID == b.UID
}

// judge says whether a pod of the kind is welcome on the node, with those that wait for it and without them. The pod itself is left out
// of them; it is nil when nobody in particular is asked about.
func (c *Checker) judge(k *kind, h Handle, p *cluster.Pod) answer {
	if len(c.nominated) > 0 {
		if waiting := c.before(k, h, p); len(waiting) > 0 {
			heard := k.hears()
			for i := range waiting {
				c.count(h, &waiting[i], 1)
			}
			here := c.slots[h].pods
			c.slots[h].pods = slices.Concat(here, waiting)
			a := c.beside(k, h, heard)
			c.slots[h].pods = here
			for i := range waiting {
				c.count(h, &waiting[i], -1)
			}
			if a != welcome {
				return a
			}
		}
	}
	return c.alone(k, h)
}

// hears says whether those who want to be away from pods of the kind are asked while they wait for a node. kube-scheduler's
// InterPodAffinity leaves a pod alone for good when, of the pods that run, none anywhere wants to be away from it, and it has no such
// wishes itself.
func (k *kind) hears() bool {
	if len(k.near)+len(k.apart) > 0 {
		return true
	}
	for _, s := range k.hits {
		for _, n := range s.owners {
			if n.total > 0 {
				return true
			}
		}
	}
	return false
}

// before are the pods that wait for the node and that pods of the kind must yield to.
func (c *Checker) before(k *kind, h Handle, p *cluster.Pod) []entry {
	var all []entry
	for _, e := range c.nominated[h] {
		if e.pod.Priority() >= k.class.of.Priority() && (p == nil || !samePod(e.pod, p)) {
			all = append(all, e)
		}
	}
	return all
}
