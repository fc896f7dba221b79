package scheduling

import "sluice.dev/sluice/cluster"

// answer is whether pods of a kind are welcome on a node.
type answer uint8

const (
	welcome    answer = iota
	notNow            // other pods may come or go so that they are
	notAnyMore        // as long as no pod leaves, no node leaves, and nothing is taken back
)

// Fits says whether [Checker.Refusals] would be nil, without saying why not.
func (c *Checker) Fits(p *cluster.Pod, node string) bool {
	h, ok := c.byName[node]
	return ok && !c.bound(p, h) && c.judge(c.kindFor(p.Class), h, p) == welcome
}

// bound says whether the pod names another node, one that does not exist: it goes nowhere else. A pod that runs on a node of the
// snapshot is free to go.
func (c *Checker) bound(p *cluster.Pod, h Handle) bool {
	return p.Node != "" && p.Node != c.slots[h].name && c.snapshot.Node(p.Node) == nil
}

// kindFor is the kind of a class's pods, ready to be judged.
func (c *Checker) kindFor(of *cluster.Class) *kind {
	k := c.kind(c.class(of))
	c.columns()
	return k
}

// alone says whether a pod of the kind is welcome beside the pods that are on the node.
func (c *Checker) alone(k *kind, h Handle) answer { return c.beside(k, h, c.repelling > 0) }

// beside is alone; heard says whether some of the pods there may want to be away from it.
func (c *Checker) beside(k *kind, h Handle, heard bool) answer {
	for _, n := range k.spec.needs {
		if n.asked > 0 && n.asked > c.free[n.dim][h] {
			return notAnyMore
		}
	}
	if k.refused != "" || c.tolerated(k.spec.tolerations, h)&(verdictTaints|verdictSchedule) != verdictTaints|verdictSchedule || !c.selected(k.spec.selection, h) {
		return notAnyMore
	}
	if len(k.spec.ports) > 0 && c.taken(k.spec, h) {
		return notAnyMore
	}
	if k.volumes != nil && !c.mountable(k.volumes, h) {
		if len(k.volumes.undecided) > 0 {
			return notNow
		}
		return notAnyMore
	}
	if k.devices != nil && c.unserved(k.devices, h) != "" {
		return notAnyMore
	}
	if k.shuns(h) || heard && k.shunned(h) {
		return notAnyMore
	}
	if a := k.crowds(h); a != welcome {
		return a
	}
	return k.follows(h)
}

// taken says whether a host port of the spec is given away on the node.
func (c *Checker) taken(s *spec, h Handle) bool {
	for i := range c.slots[h].pods {
		given := c.classes[c.slots[h].pods[i].class].spec.ports
		for j := range given {
			for p := range s.ports {
				if clash(&s.ports[p], &given[j]) {
					return true
				}
			}
		}
	}
	return false
}

// crowds says whether the pod would exceed a skew, or the node has no domain to count in.
func (k *kind) crowds(h Handle) answer {
	for i := range k.spreads {
		if k.spreads[i].counter.topology.of[h] < 0 {
			return notAnyMore
		}
	}
	for i := range k.spreads {
		if k.spreads[i].exceeds(h) {
			return notNow
		}
	}
	return welcome
}

// exceeds says whether the pod would exceed the skew in the node's domain.
func (s *spreading) exceeds(h Handle) bool {
	k := s.counter
	return k.count(k.topology.of[h])+s.self-k.lowest(s.minDomains) > s.maxSkew
}

// follows says whether those whom the pod wants near are there, or it is the first of its own.
func (k *kind) follows(h Handle) answer {
	if len(k.near) == 0 {
		return welcome
	}
	company, some := true, false
	for _, n := range k.near {
		d := n.topology.of[h]
		if d < 0 {
			return notAnyMore
		}
		company = company && n.count(d) > 0
		some = some || n.total > 0
	}
	if company || !some && k.first {
		return welcome
	}
	return notNow
}

// shuns says whether somebody is there whom the pod wants to be away from.
func (k *kind) shuns(h Handle) bool {
	for _, n := range k.apart {
		if d := n.topology.of[h]; d >= 0 && n.count(d) > 0 {
			return true
		}
	}
	return false
}

// shunned says whether somebody is there who wants to be away from the pod.
func (k *kind) shunned(h Handle) bool {
	for _, s := range k.hits {
		for _, n := range s.owners {
			if d := n.topology.of[h]; d >= 0 && n.count(d) > 0 {
				return true
			}
		}
	}
	return false
}

// Room is how many more pods of the class the node takes one after the other as things stand; 0 when it takes none. Where pods of the
// class mind each other, by spread, anti-affinity or host ports, it is 1 at most: ask again after placing one.
func (c *Checker) Room(of *cluster.Class, h Handle) int {
	k := c.kindFor(of)
	if c.judge(k, h, nil) != welcome {
		return 0
	}
	return int(c.room(k, h))
}

// room is how many pods of a kind that is welcome go onto the node before it has to be judged again.
func (c *Checker) room(k *kind, h Handle) int64 {
	if len(k.spreads) > 0 || len(k.spec.ports) > 0 || k.volumes != nil || k.devices != nil || len(c.nominated) > 0 && len(c.nominated[h]) > 0 {
		return 1
	}
	for i, n := range k.apart {
		if k.selves[i] && n.topology.of[h] >= 0 {
			return 1
		}
	}
	room := int64(unlimited)
	for _, n := range k.spec.needs {
		room = min(room, n.rooms(c.free[n.dim][h]))
	}
	return room
}
