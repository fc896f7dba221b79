package kubesim

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// preemption is what a pod would displace on one node.
type preemption struct {
	room      *room
	victims   []*podState // highest priority first
	overspent int         // of them, beyond what disruption budgets allow
}

// preempt makes room for a pod that fits nowhere by deleting pods of lower
// priority on the node where that costs least, and nominates that node. The pod
// itself is placed when they are gone. Less important pods that were nominated
// there are not any more.
func (p *pass) preempt(f *fit) {
	pod := f.st.pod
	if pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy == corev1.PreemptNever || p.awaitsVictims(f) {
		return
	}
	var best *preemption
	for _, r := range p.rooms {
		if c := p.victimsOn(r, f); c != nil && (best == nil || c.cheaper(best)) {
			best = c
		}
	}
	if best == nil {
		p.nominateTo(f.st, nil)
		return
	}
	now := p.scheduler.store.stamp()
	for _, st := range best.victims {
		e := revised(p.scheduler.store, p.scheduler.store.entryOf("pods", keyOf(st.pod)), func(v *corev1.Pod) {
			setCondition(v, now, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
				Reason: corev1.PodReasonPreemptionByScheduler, Message: "default-scheduler: preempting to accommodate a higher priority pod"})
		})
		_, _ = p.scheduler.store.delete(e, &metav1.DeleteOptions{}) // no preconditions, so nothing to refuse
	}
	for _, st := range slices.Clone(best.room.nominated) {
		if priority(st.pod) < priority(pod) {
			p.nominateTo(st, nil)
		}
	}
	p.nominateTo(f.st, best.room)
}

// nominateTo nominates a pod to a room, or to none, in place of where it was.
func (p *pass) nominateTo(st *podState, to *room) {
	p.leaveNominated(st)
	name := ""
	if to != nil {
		name = to.node.Name
		to.nominated = append(to.nominated, st)
		p.nominated, p.repelling = true, p.repelling || st.asks.repels
	}
	if st.pod.Status.NominatedNodeName != name {
		s := p.scheduler.store
		revised(s, s.entryOf("pods", keyOf(st.pod)), func(pod *corev1.Pod) { pod.Status.NominatedNodeName = name })
	}
}

// leaveNominated takes a pod out of those that are to come to a room.
func (p *pass) leaveNominated(st *podState) {
	if r := p.roomNamed(st.pod.Status.NominatedNodeName); r != nil {
		r.nominated = slices.DeleteFunc(slices.Clone(r.nominated), func(o *podState) bool { return o == st })
	}
}

// roomNamed is the room of a node, nil when there is none.
func (p *pass) roomNamed(node string) *room {
	at, ok := slices.BinarySearchFunc(p.rooms, node, func(r *room, name string) int { return strings.Compare(r.node.Name, name) })
	if !ok {
		return nil
	}
	return p.rooms[at]
}

// awaitsVictims reports whether pods that were displaced are still leaving the
// node that the pod is nominated to, which would take it if it were empty.
func (p *pass) awaitsVictims(f *fit) bool {
	pod := f.st.pod
	r := p.roomNamed(pod.Status.NominatedNodeName)
	return r != nil && slices.ContainsFunc(r.pods, func(st *podState) bool {
		return priority(st.pod) < priority(pod) && st.pod.DeletionTimestamp != nil && preempted(st.pod)
	}) && len(p.insteadOf(r, r.without(r.pods), f)) == 0
}

func preempted(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(cond corev1.PodCondition) bool {
		return cond.Type == corev1.DisruptionTarget && cond.Status == corev1.ConditionTrue && cond.Reason == corev1.PodReasonPreemptionByScheduler
	})
}

// victimsOn returns the fewest pods of lower priority whose going lets the pod
// onto the node, as far as taking them back one by one shows; nil if none do.
func (p *pass) victimsOn(r *room, f *fit) *preemption {
	mine := priority(f.st.pod)
	if len(r.pods) == 0 || r.lowest >= mine {
		return nil
	}
	lower := slices.DeleteFunc(slices.Clone(r.pods), func(st *podState) bool { return priority(st.pod) >= mine || st.pod.Spec.NodeName == "" })
	if len(lower) == 0 {
		return nil
	}
	slices.SortFunc(lower, func(a, b *podState) int {
		return cmp.Or(cmp.Compare(priority(b.pod), priority(a.pod)), started(a.pod).Compare(started(b.pod).Time), cmp.Compare(a.born, b.born))
	})
	if !p.admitted(r, f, lower) {
		return nil
	}
	over := p.overspenders(lower)
	// Those that a budget protects are taken back first.
	order := slices.Clone(lower)
	slices.SortStableFunc(order, func(a, b *podState) int { return boolCompare(over[b], over[a]) })
	victims := lower
	for _, st := range order {
		without := slices.DeleteFunc(slices.Clone(victims), func(v *podState) bool { return v == st })
		if p.admitted(r, f, without) {
			victims = without
		}
	}
	if len(victims) == 0 {
		return nil // what keeps the pod away is not on this node
	}
	c := &preemption{room: r, victims: victims}
	for _, st := range victims {
		if over[st] {
			c.overspent++
		}
	}
	return c
}

// admitted reports whether a node takes the pod when others are gone from it.
func (p *pass) admitted(r *room, f *fit, gone []*podState) bool {
	emptied := r.without(gone)
	return len(p.insteadOf(r, emptied, f)) == 0 && len(p.standsBack(r, emptied, f)) == 0
}

// without is the room as it would be without some of its pods.
func (r *room) without(gone []*podState) *room {
	emptied := &room{node: r.node, total: r.total, free: r.total, nominated: r.nominated}
	emptied.free.others = maps.Clone(r.total.others)
	for _, st := range r.pods {
		if !slices.Contains(gone, st) {
			emptied.hold(st)
		}
	}
	return emptied
}

// insteadOf returns why a room does not admit the pod if it were another.
func (p *pass) insteadOf(r, other *room, f *fit) []string {
	what := *f
	if f.relations != nil {
		rooms := slices.Clone(p.rooms)
		rooms[slices.Index(rooms, r)] = other
		what.relations = relationsOf(p.scheduler.store, f.st.pod, rooms, f)
	}
	return what.refusals(other)
}

// overspenders are the pods, of a list in order, whose going no disruption
// budget has left.
func (p *pass) overspenders(pods []*podState) map[*podState]bool {
	spent := map[string]int32{}
	over := map[*podState]bool{}
	for _, st := range pods {
		for _, e := range budgetsOver(p.scheduler.store, st.pod) {
			if spent[e.key]++; spent[e.key] > e.obj.(*policyv1.PodDisruptionBudget).Status.DisruptionsAllowed {
				over[st] = true
			}
		}
	}
	return over
}

// cheaper compares as kube-scheduler does: budgets overspent, then the highest
// priority displaced, the sum of priorities, the number of pods, how late the
// most important of them began. Ties go to the node that comes first.
func (c *preemption) cheaper(o *preemption) bool {
	sum := func(c *preemption) (sum int64) {
		for _, st := range c.victims {
			sum += int64(priority(st.pod)) + 1<<31
		}
		return sum
	}
	return cmp.Or(
		cmp.Compare(c.overspent, o.overspent),
		cmp.Compare(priority(c.victims[0].pod), priority(o.victims[0].pod)),
		cmp.Compare(sum(c), sum(o)),
		cmp.Compare(len(c.victims), len(o.victims)),
		started(o.victims[0].pod).Compare(started(c.victims[0].pod).Time),
	) < 0
}

// nominate gives the rooms the pods that displaced others there, for everything
// of no higher priority to stand back.
func (p *pass) nominate() {
	for _, st := range p.scheduler.pods.byKey {
		if st.pod.Status.NominatedNodeName == "" || st.pod.Spec.NodeName != "" || st.pod.DeletionTimestamp != nil {
			continue
		}
		if r := p.roomNamed(st.pod.Status.NominatedNodeName); r != nil {
			r.nominated = append(r.nominated, st)
			p.nominated, p.repelling = true, p.repelling || st.asks.repels
		}
	}
}

// standsBack returns why the pods nominated to a room, which is as other shows
// it, leave nothing for this one: those that are no less important.
func (p *pass) standsBack(r, other *room, f *fit) []string {
	if len(other.nominated) == 0 {
		return nil
	}
	full := *other
	full.free.others = maps.Clone(other.free.others)
	full.ports, full.pods = slices.Clone(other.ports), slices.Clone(other.pods)
	for _, st := range other.nominated {
		if st != f.st && priority(st.pod) >= priority(f.st.pod) {
			full.hold(st)
		}
	}
	if len(full.pods) == len(other.pods) {
		return nil
	}
	return p.insteadOf(r, &full, f)
}

func started(pod *corev1.Pod) *metav1.Time {
	if pod.Status.StartTime == nil {
		return &pod.CreationTimestamp
	}
	return pod.Status.StartTime
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
