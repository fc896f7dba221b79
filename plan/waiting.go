package plan

import (
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// asking are the pods of gangs that are not whole, for which nodes are kept as long as machines are: those of one class each. Every other pod has its
// place, or fits no node.
type asking struct {
	pods  []waiting
	turns uint64 // how often there were other classes
}

// waiting is pods of one class.
type waiting struct {
	*cluster.Pod        // one of them
	claim        *claim // that they are pretended for, nil when they are there
	pods         int    // of them that hold no node yet
}

// turn turns to the pods that wait now.
func (a *asking) turn(d *decision) {
	var pods []waiting
	for _, dm := range d.demands {
		if g := dm.gang; g == nil || g.out == nil || g.given || dm.claim != nil && !dm.claim.asks || dm.of.Gated() && !dm.of.AwaitsCapacity() || d.expendable(dm) {
			continue
		}
		pods = append(pods, waiting{d.waiting[dm.eldest], dm.claim, len(dm.pods)})
	}
	if !slices.EqualFunc(a.pods, pods, func(a, b waiting) bool { return a.Class == b.Class }) {
		a.turns++
	}
	a.pods = pods
}

// asked is a question about waiting pods, as it stood when it was answered.
type asked struct {
	known bool
	turns uint64
	state scheduling.State
}

// fitsPending says which waiting pod has its place on the node, or for whose it is kept, nil when for none (S-16). A pod holds one node: that of its
// place. A pod of a gang that is not whole has none, and holds the first node that is asked about and takes it. It is to be asked first while none of the
// node's pods has been pretended away; the answer then holds for the cycle.
func (d *decision) fitsPending(st *nodeState) *reason.Reason {
	asking := &d.planner.asking
	if len(d.counted)+len(d.booked)+len(asking.pods) == 0 {
		return nil
	}
	if why := d.countedOn(st.Name()); why != nil {
		return why
	}
	if st.passedOver || len(asking.pods) == 0 {
		return nil
	}
	st.passedOver = true
	now := asked{true, asking.turns, d.check.State()}
	if st.refused == now {
		return nil
	}
	fits := false
	if h, present := d.check.Handle(st.Name()); present {
		for i := range asking.pods {
			p := &asking.pods[i]
			room := d.check.Room(p.Class, h)
			if fits = fits || room > 0; room == 0 || p.pods == 0 {
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
	}
	if !fits {
		st.refused = now
	}
	return nil
}

// countedOn says which waiting pod, request or buffer counts on the node, nil when none does.
func (d *decision) countedOn(node string) *reason.Reason {
	if pod, ok := d.counted[node]; ok {
		return new(reason.New(reason.NodeCounted, reason.Node(node), "pod", pod))
	}
	if _, ok := d.booked[node]; ok {
		return new(d.booked[node])
	}
	return nil
}
