package plan

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// waiting is pods of one class that no node holds yet.
type waiting struct {
	*cluster.Pod        // one of them
	claim        *claim // that they are pretended for, nil when they are there
	pods         int    // how many there are
}

// noteAsking notes the pods of gangs that are not whole, for which nodes are kept as long as machines are. Every other pod has its place, or fits no
// node.
func (d *placing) noteAsking() {
	for _, dm := range d.demands {
		if g := dm.gang; g == nil || g.out == nil || g.given || dm.claim != nil && !dm.claim.asks || dm.of.Gated() && !dm.of.AwaitsCapacity() || d.expendable(dm) {
			continue
		}
		d.asking = append(d.asking, waiting{d.waiting[dm.eldest], dm.claim, len(dm.pods)})
	}
}

// fitsPending says which waiting pod has its place on the node, or for whose it is kept, nil when for none (S-16). A pod holds one node: that of its
// place. A pod of a gang that is not whole has none, and holds the first node that is asked about and takes it. It is to be asked first while none of the
// node's pods has been pretended away; the answer then holds for the cycle.
func (d *removing) fitsPending(st *nodeState) *reason.Reason {
	if why := d.countedOn(st.Name()); why != nil {
		return why
	}
	if st.passedOver || len(d.asking) == 0 {
		return nil
	}
	st.passedOver = true
	h, present := d.check.Handle(st.Name())
	if !present {
		return nil
	}
	for i := range d.asking {
		p := &d.asking[i]
		if p.pods == 0 {
			continue
		}
		room := d.check.Room(p.Class, h)
		if room == 0 {
			continue
		}
		p.pods -= min(room, p.pods)
		if p.claim != nil {
			d.keepFor(p.claim, st.Name())
		} else {
			d.counted[st.Name()] = p.String()
		}
		return d.countedOn(st.Name())
	}
	return nil
}

// countedOn says which waiting pod, request or buffer counts on the node, nil when none does.
func (d *placing) countedOn(node string) *reason.Reason {
	if pod, ok := d.counted[node]; ok {
		return new(reason.New(reason.NodeCounted, reason.Node(node), "pod", pod))
	}
	if _, ok := d.booked[node]; ok {
		return new(d.booked[node])
	}
	return nil
}
