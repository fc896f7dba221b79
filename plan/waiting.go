package plan

import (
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// asking are the pods that wait for a node and that a scheduler may bind at any moment: one of each class, and none of a gang that machines
// are not kept for any longer.
type asking struct {
	pods  []waiting
	turns uint64 // how often there were other classes
}

// waiting is one of them.
type waiting struct {
	*cluster.Pod
	claim *claim // that it is pretended for, nil when it is there
}

// turn turns to the pods that wait now.
func (a *asking) turn(d *decision) {
	var pods []waiting
	for _, dm := range d.demands {
		p := d.waiting[dm.eldest]
		if dm.of.Gated() && !dm.of.AwaitsCapacity() || dm.gang != nil && dm.gang.given || dm.claim != nil && !dm.claim.asks || d.expendable(dm) {
			continue
		}
		pods = append(pods, waiting{p, dm.claim})
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

// fitsPending says which waiting pod the node would take, or for whose it is kept, nil when for none: the scheduler may choose it at any moment, wherever this cycle
// placed the pod (S-16). Of pods that are alike only one is asked. It is to be asked first while none of the node's pods has been
// pretended away; the answer then holds for the cycle.
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
	if h, present := d.check.Handle(st.Name()); present {
		for _, p := range asking.pods {
			if d.check.Room(p.Class, h) > 0 {
				if p.claim != nil {
					d.keepFor(p.claim, st.Name())
				} else {
					d.counted[st.Name()] = p.String()
				}
				return d.countedOn(st.Name())
			}
		}
	}
	st.refused = now
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
