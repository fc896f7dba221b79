package plan

import (
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling"
)

// asking are the pods that wait for a node and that a scheduler may bind at any moment: one of each class, and none of a gang that machines
// are not kept for any longer.
type asking struct {
	pods  []*cluster.Pod
	turns uint64 // how often there were other classes
}

// turn turns to the pods that wait now.
func (a *asking) turn(d *decision) {
	var pods []*cluster.Pod
	for _, dm := range d.demands {
		p := d.waiting[dm.eldest]
		if dm.of.Gated() && !dm.of.AwaitsCapacity() || dm.gang != nil && dm.gang.given || d.allowed.Expendable(p) {
			continue
		}
		pods = append(pods, p)
	}
	if !slices.EqualFunc(a.pods, pods, func(a, b *cluster.Pod) bool { return a.Class == b.Class }) {
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

// fitsPending finds a waiting pod that the node would take: the scheduler may choose it at any moment, wherever this cycle
// placed the pod (S-16). Of pods that are alike only one is asked. It is to be asked first while none of the node's pods has been
// pretended away; the answer then holds for the cycle.
func (d *decision) fitsPending(st *nodeState) (string, bool) {
	if pod, ok := d.counted[st.Name()]; ok {
		return pod, true
	}
	asking := &d.planner.asking
	if st.passedOver || len(asking.pods) == 0 {
		return "", false
	}
	st.passedOver = true
	now := asked{true, asking.turns, d.check.State()}
	if st.refused == now {
		return "", false
	}
	if h, present := d.check.Handle(st.Name()); present {
		for _, p := range asking.pods {
			if d.check.Room(p.Class, h) > 0 {
				d.counted[st.Name()] = p.String()
				return p.String(), true
			}
		}
	}
	st.refused = now
	return "", false
}
