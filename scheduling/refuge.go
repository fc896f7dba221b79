package scheduling

import (
	"slices"

	"sluice.dev/sluice/cluster"
)

// Refuge is nodes in an order in which the pods of leaving nodes are placed on them, the first that takes a pod being the one. It answers as
// [Checker.First] does for each pod, and knows meanwhile which nodes need not be asked.
//
// Nodes leave one after the other: [Refuge.Leave] tries one, and what it did is settled by [Refuge.Settle] or taken back by
// [Refuge.Back] before the next one is tried. Nothing else may change the checker from the first to the last.
type Refuge struct {
	c      *Checker
	nodes  []Handle
	places []int32   // by handle, of the nodes; -1 for others
	shut   []bool    // by place: it has left
	most   [][]int64 // by dimension and stretch of places: what no open node of it has more of, once the try is settled
	floors []int32   // by kind: those before refuse it for good, whatever is tried

	from    int // place of the node that is tried, -1 when it has none
	began   int // what-ifs that stood before
	tried   []int
	touched []bool // by place: among tried
}

// stretch is how many places are passed over at once.
const stretch = 16

// Refuge makes a refuge of nodes that are present.
func (c *Checker) Refuge(nodes ...Handle) *Refuge {
	r := &Refuge{
		c: c, nodes: nodes, places: make([]int32, len(c.slots)), shut: make([]bool, len(nodes)),
		touched: make([]bool, len(nodes)), from: -1,
	}
	for h := range r.places {
		r.places[h] = -1
	}
	for i, h := range nodes {
		r.places[h] = int32(i)
	}
	c.columns()
	for b := 0; b*stretch < len(nodes); b++ {
		r.measure(b)
	}
	return r
}

// at is the node's place, -1 when it has none.
func (r *Refuge) at(h Handle) int {
	if int(h) >= len(r.places) {
		return -1
	}
	return int(r.places[h])
}

// Last is the last node that pods could move to but for the one, false when there is none.
func (r *Refuge) Last(but Handle) (Handle, bool) {
	for i := len(r.nodes) - 1; i >= 0; i-- {
		if !r.shut[i] && r.nodes[i] != but {
			return r.nodes[i], true
		}
	}
	return 0, false
}

// Leave has pods move from a node to the refuge. All that run on the node leave it but those that belong to it; places are looked for in the
// order of the pods given. One that finds none is returned: the first that no node would take even if it were alone in moving and minded
// nobody, else the first that has no place beside the others. The checker still holds what was tried until then, for whoever wants to
// know why, and the try is to be taken back.
func (r *Refuge) Leave(h Handle, pods []*cluster.Pod) (homeless *cluster.Pod) {
	r.from = r.at(h)
	r.began = r.c.journal.len()
	for _, p := range pods { // most tries end here
		if k := r.c.kindFor(p.Class); !r.c.minds(k) && r.rise(k) == len(r.nodes) {
			return p
		}
	}
	r.c.clear(h)
	for _, p := range pods {
		if !r.place(p.Class) {
			return p
		}
	}
	return nil
}

// Settle lets the last try stand: the node has left, and its pods are where they found places. It returns the nodes to which they moved.
func (r *Refuge) Settle() []Handle {
	if r.from >= 0 {
		r.shut[r.from] = true
		r.measure(r.from / stretch)
	}
	to := make([]Handle, 0, len(r.tried))
	for _, i := range r.tried {
		r.touched[i] = false
		r.measure(i / stretch)
		to = append(to, r.nodes[i])
	}
	r.tried, r.from = r.tried[:0], -1
	return to
}

// Shut has no further pods move to the node.
func (r *Refuge) Shut(h Handle) {
	if i := r.at(h); i >= 0 {
		r.shut[i] = true
		r.measure(i / stretch)
	}
}

// Back takes the last try back.
func (r *Refuge) Back() {
	for _, i := range r.tried {
		r.touched[i] = false
	}
	r.tried, r.from = r.tried[:0], -1
	r.c.unwind(r.began)
}

// place puts a pod of the class on the first node that takes it.
func (r *Refuge) place(of *cluster.Class) bool {
	c := r.c
	k := c.kindFor(of)
	settled := !c.minds(k) // whether what refuses the kind now does so for good
	i := 0
	if settled {
		i = r.floor(k)
	}
	for i < len(r.nodes) {
		if r.lacks(k.spec, i/stretch) {
			i = min(len(r.nodes), (i/stretch+1)*stretch)
			if settled {
				r.floors[k.id] = int32(i)
			}
			continue
		}
		switch h := r.nodes[i]; {
		case r.shut[i]:
		case i == r.from:
			settled = false
		default:
			a := c.judge(k, h, nil)
			if a == welcome {
				c.put(h, entry{class: c.class(of).id, n: 1})
				if !r.touched[i] {
					r.touched[i] = true
					r.tried = append(r.tried, i)
				}
				return true
			}
			settled = settled && a == notAnyMore && !r.touched[i]
		}
		i++
		if settled {
			r.floors[k.id] = int32(i)
		}
	}
	return false
}

// rise is the first place that takes the kind as long as nothing is tried, the number of places when none does. Others have no bearing on such
// pods.
func (r *Refuge) rise(k *kind) int {
	i := r.floor(k)
	for i < len(r.nodes) {
		switch {
		case r.lacks(k.spec, i/stretch):
			i = min(len(r.nodes), (i/stretch+1)*stretch)
			continue
		case !r.shut[i] && r.c.judge(k, r.nodes[i], nil) == welcome:
			r.floors[k.id] = int32(i)
			return i
		}
		i++
	}
	r.floors[k.id] = int32(i)
	return i
}

// floor is the first place that may take the kind.
func (r *Refuge) floor(k *kind) int {
	for len(r.floors) <= int(k.id) {
		r.floors = append(r.floors, 0)
	}
	return int(r.floors[k.id])
}

// measure finds what the nodes of a stretch have left.
func (r *Refuge) measure(b int) {
	for len(r.most) < len(r.c.free) {
		r.most = append(r.most, make([]int64, (len(r.nodes)+stretch-1)/stretch))
	}
	for d := range r.most {
		most := int64(noRoom)
		for i := b * stretch; i < min(len(r.nodes), (b+1)*stretch); i++ {
			if !r.shut[i] {
				most = max(most, r.c.free[d][r.nodes[i]])
			}
		}
		r.most[d][b] = most
	}
}

// lacks says that no node of a stretch has what a pod of the spec asks for.
func (r *Refuge) lacks(s *spec, b int) bool {
	for i := range s.needs {
		if n := &s.needs[i]; n.asked > 0 && int(n.dim) < len(r.most) && n.asked > r.most[n.dim][b] {
			return true
		}
	}
	return false
}

// clear pretends that all pods have left the node but those that belong to it, which stays a place to spread over and takes none.
func (c *Checker) clear(h Handle) {
	before := c.slots[h].pods
	w := c.push(whatIf{what: cleared, node: h})
	w.further().before = before
	c.loosened = c.last
	stay := make([]entry, 0, len(before))
	for i := range before {
		if e := &before[i]; e.pod == nil || e.pod.Daemon() {
			stay = append(stay, *e)
		} else {
			c.count(h, e, -e.n)
		}
	}
	c.slots[h].pods = slices.Clip(stay)
}

// uncleared takes a clear back.
func (c *Checker) uncleared(w *whatIf) {
	before := w.more.before
	for i := range before {
		if e := &before[i]; e.pod != nil && !e.pod.Daemon() {
			c.count(w.node, e, e.n)
		}
	}
	c.slots[w.node].pods = before
}
