package kubesim

import (
	"cmp"
	"maps"
	"slices"

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
// itself is placed when they are gone.
func (p *pass) preempt(key string, f *fit) {
	pod := f.st.pod
	if pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy == corev1.PreemptNever || p.awaitsVictims(pod) {
		return
	}
	var best *preemption
	for _, r := range p.rooms {
		if c := p.victimsOn(r, f); c != nil && (best == nil || c.cheaper(best)) {
			best = c
		}
	}
	now := p.stamp()
	nominated := ""
	if best != nil {
		nominated = best.room.node.Name
		for _, st := range best.victims {
			e := revised(p.Cluster, p.entryOf("pods", keyOf(st.pod)), func(v *corev1.Pod) {
				setCondition(v, now, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
					Reason: corev1.PodReasonPreemptionByScheduler, Message: "default-scheduler: preempting to accommodate a higher priority pod"})
			})
			_, _ = p.delete(e, &metav1.DeleteOptions{}) // no preconditions, so nothing to refuse
		}
	}
	if pod.Status.NominatedNodeName != nominated {
		revised(p.Cluster, p.entryOf("pods", key), func(pod *corev1.Pod) { pod.Status.NominatedNodeName = nominated })
	}
}

// awaitsVictims reports whether pods that the pod displaced are still leaving.
func (p *pass) awaitsVictims(pod *corev1.Pod) bool {
	if pod.Status.NominatedNodeName == "" {
		return false
	}
	for _, r := range p.rooms {
		if r.node.Name == pod.Status.NominatedNodeName {
			return slices.ContainsFunc(r.pods, func(st *podState) bool {
				return st.pod.DeletionTimestamp != nil && priority(st.pod) < priority(pod)
			})
		}
	}
	return false
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
	emptied := &room{node: r.node, total: r.total, free: r.total}
	emptied.free.others = maps.Clone(r.total.others)
	for _, st := range r.pods {
		if !slices.Contains(gone, st) {
			emptied.hold(st)
		}
	}
	what := *f
	if f.relations != nil {
		rooms := slices.Clone(p.rooms)
		rooms[slices.Index(rooms, r)] = emptied
		what.relations = p.relationsOf(f.st.pod, rooms, f)
	}
	return len(what.refusals(emptied)) == 0
}

// overspenders are the pods, of a list in order, whose going no disruption
// budget has left.
func (p *pass) overspenders(pods []*podState) map[*podState]bool {
	spent := map[string]int32{}
	over := map[*podState]bool{}
	for _, st := range pods {
		for _, e := range p.budgetsOver(st.pod) {
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
	for _, st := range p.pods {
		if st.pod.Status.NominatedNodeName == "" || st.pod.Spec.NodeName != "" || st.pod.DeletionTimestamp != nil {
			continue
		}
		for _, r := range p.rooms {
			if r.node.Name == st.pod.Status.NominatedNodeName {
				r.nominated = append(r.nominated, st)
				p.nominated = true
			}
		}
	}
}

// standsBack reports whether the pods nominated to a node leave nothing for
// this one, which is not more important than they are.
func (f *fit) standsBack(r *room) []string {
	if len(r.nominated) == 0 {
		return nil
	}
	full := &room{node: r.node, total: r.total, free: r.free, ports: slices.Clone(r.ports), pods: slices.Clone(r.pods)}
	full.free.others = maps.Clone(r.free.others)
	for _, st := range r.nominated {
		if st != f.st && priority(st.pod) >= priority(f.st.pod) && !slices.Contains(r.pods, st) {
			full.hold(st)
		}
	}
	return f.refusals(full)
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
