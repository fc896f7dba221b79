package scheduling

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/classes"
	"sluice.dev/sluice/scheduling/internal/nodes"
)

// Destinations is nodes in an order in which the pods of leaving nodes are placed on them, the first that takes a pod being the one. It
// knows which nodes need not be asked.
//
// Nodes leave one after the other: [Destinations.Leave] tries one, and what it did is settled by [Destinations.Settle] or taken back by
// [Destinations.Back] before the next one is tried. Nothing else may change the checker from the first to the last.
type Destinations struct {
	c      *Checker
	nodes  []Handle
	places map[Handle]int
	shut   []bool  // by place: it has left, or takes no more
	floors []int32 // by kind: the places before refuse it for good, whatever is tried

	from    int    // place of the node that is tried, -1 when it has none
	began   int    // what-ifs that stood before
	tried   []int  // places that took pods in this try
	touched []bool // by place: among tried
}

// newDestinations has nobody leave yet.
func newDestinations(c *Checker, all []Handle) *Destinations {
	d := &Destinations{
		c: c, nodes: all, places: make(map[Handle]int, len(all)), shut: make([]bool, len(all)), touched: make([]bool, len(all)), from: -1,
	}
	for i, h := range all {
		d.places[h] = i
	}
	return d
}

// at is the node's place, -1 when it has none.
func (d *Destinations) at(h Handle) int {
	if i, ok := d.places[h]; ok {
		return i
	}
	return -1
}

// Last is the last node that pods could move to but for the one, false when there is none.
func (d *Destinations) Last(but Handle) (Handle, bool) {
	for i := len(d.nodes) - 1; i >= 0; i-- {
		if !d.shut[i] && d.nodes[i] != but {
			return d.nodes[i], true
		}
	}
	return 0, false
}

// Leave has pods move from a node to the destinations. All that run on the node leave it but those that belong to it; places are looked
// for in the order of the pods given. One that finds none is returned: the first that no node would take even if it were alone in moving
// and minded nobody, else the first that has no place beside the others. The checker still holds what was tried until then, for whoever
// wants to know why, and the try is to be taken back.
func (d *Destinations) Leave(h Handle, pods []*cluster.Pod) (homeless *cluster.Pod) {
	w := d.c.world
	d.from, d.began = d.at(h), w.Len()
	for _, p := range pods { // most tries end here
		if k := w.Classes.Kind(p.Class); !k.Depends() && d.rise(k) == len(d.nodes) {
			return p
		}
	}
	w.Depart(h, func(e *nodes.Entry) bool { return e.Pod != nil && !e.Pod.Daemon() })
	for _, p := range pods {
		if !d.place(p.Class) {
			return p
		}
	}
	return nil
}

// Settle lets the last try stand: the node has left, and its pods are where they found places. It returns the nodes to which they moved.
func (d *Destinations) Settle() []Handle {
	if d.from >= 0 {
		d.shut[d.from] = true
	}
	to := make([]Handle, 0, len(d.tried))
	for _, i := range d.tried {
		to = append(to, d.nodes[i])
	}
	d.forget()
	return to
}

// Shut has no further pods move to the node.
func (d *Destinations) Shut(h Handle) {
	if i := d.at(h); i >= 0 {
		d.shut[i] = true
	}
}

// Back takes the last try back.
func (d *Destinations) Back() {
	d.forget()
	d.c.world.Unwind(d.began)
}

// forget ends a try.
func (d *Destinations) forget() {
	for _, i := range d.tried {
		d.touched[i] = false
	}
	d.tried, d.from = d.tried[:0], -1
}

// place puts a pod of the class on the first node that takes it.
func (d *Destinations) place(of *cluster.Class) bool {
	w := d.c.world
	k := w.Classes.Kind(of)
	settled := !k.Depends() // whether what refuses the kind now does so for good
	i := 0
	if settled {
		i = d.floor(k)
	}
	for ; i < len(d.nodes); i++ {
		if settled {
			d.floors[k.ID] = int32(i)
		}
		switch a := d.ask(k, i); {
		case a == classes.Welcome && i != d.from:
			w.Place(d.nodes[i], nodes.Entry{Class: w.Classes.Of(of).ID, N: 1})
			if !d.touched[i] {
				d.touched[i] = true
				d.tried = append(d.tried, i)
			}
			return true
		case i == d.from, a == classes.NotNow, d.touched[i]:
			settled = false
		}
	}
	if settled {
		d.floors[k.ID] = int32(i)
	}
	return false
}

// ask says whether the place takes a pod of the kind.
func (d *Destinations) ask(k *classes.Kind, i int) classes.Answer {
	if d.shut[i] || d.c.world.Full(k, d.nodes[i]) {
		return classes.Never
	}
	return d.c.world.Answer(k, d.nodes[i], nil)
}

// rise is the first place that takes the kind as long as nothing is tried, the number of places when none does. Others have no bearing on
// such pods.
func (d *Destinations) rise(k *classes.Kind) int {
	i := d.floor(k)
	for i < len(d.nodes) && d.ask(k, i) != classes.Welcome {
		i++
	}
	d.floors[k.ID] = int32(i)
	return i
}

// floor is the first place that may take the kind.
func (d *Destinations) floor(k *classes.Kind) int {
	d.floors = nodes.Reach(d.floors, k.ID, 0)
	return int(d.floors[k.ID])
}
