package plan

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// demand is a number of pods of one class that wait. They are interchangeable: whatever is found of one holds for all, and the ones that
// have waited longest are served first.
type demand struct {
	of       *cluster.Class
	eldest   int               // the place of one of them in [decision.waiting], whether or not it is among pods
	pods     []int             // their places there that may be served, the oldest first
	served   int               // how many of them, from the first on, have their verdict
	judged   bool              // the scheduler has found no node for them, or they wait behind sluice's gate; no group grows for others
	weight   float64           // of one
	priority int32             // of each
	gang     *gang             // that they are of, nil when each is for itself
	seats    []scheduling.Seat // of those that have a place, in their order
	berth    *berth            // their places in the last cycle, nil when they had none

	claim    *claim // that they are pretended for, nil for pods that are there
	consumes string // the request that they take their room from, "" for none
	booked   bool   // their room was promised: they come first
}

// left is how many of the pods have no place yet.
func (dm *demand) left() int { return len(dm.pods) - dm.served }

// collect finds the pods that wait, class by class.
func (d *placing) collect() {
	d.leaveUnbound()
	d.demands = d.demandsOf(func(i int, p *cluster.Pod) bool { return d.isLeft(i, p) || d.nominated(i, p) })
	for _, dm := range d.demands {
		dm.judged = dm.judged || d.allowed.Growth.Bypasses(dm.of.Spec.SchedulerName)
	}
	d.demandPlaces()
}

// order puts the demands in the order in which they are placed: those whose room was promised, then by priority, then the largest first as
// they are hardest to place, then by age and name. Pods that are not sluice's to place get their verdict at once.
func (d *placing) order() {
	for _, dm := range d.demands {
		dm.weight, dm.priority = d.weightOf(dm.of), dm.of.Priority()
	}
	slices.SortStableFunc(d.demands, func(a, b *demand) int {
		return cmp.Or(btoi(b.booked)-btoi(a.booked), cmp.Compare(b.priority, a.priority), cmp.Compare(b.weight, a.weight), cmp.Compare(a.pods[0], b.pods[0]))
	})
	for _, dm := range d.demands {
		switch {
		case dm.of.Gated() && !dm.of.AwaitsCapacity():
			d.serve(dm, dm.left(), PodIgnored, reason.New(reason.PodGated, reason.Ref{}, "gate", otherGate(dm.of)))
		case !d.allowed.Growth.Serves(dm.of.Spec.SchedulerName):
			d.serve(dm, dm.left(), PodIgnored, reason.New(reason.OtherScheduler, reason.Ref{}, "scheduler", cmp.Or(dm.of.Spec.SchedulerName, corev1.DefaultSchedulerName)))
		case d.expendable(dm):
			d.serve(dm, dm.left(), PodIgnored, reason.New(reason.PodExpendable, reason.Ref{}, "priority", dm.of.Priority(), "cutoff", d.allowed.Growth.PriorityCutoff))
		}
	}
}

// expendable is [policy.Policy.Expendable] of the demand's pods, all of which have one priority.
func (d *placing) expendable(dm *demand) bool {
	return dm.priority < d.allowed.Growth.PriorityCutoff && dm.of.Spec.Priority != nil
}

// otherGate is the first gate of the class that is not sluice's to open.
func otherGate(of *cluster.Class) string {
	for _, g := range of.Spec.SchedulingGates {
		if g.Name != cluster.CapacityGate {
			return g.Name
		}
	}
	return ""
}

// nominated says whether the scheduler has made room for the pod on a node, which then is its place.
func (d *placing) nominated(i int, p *cluster.Pod) bool {
	if !d.hasNomination(p) {
		return false
	}
	node := p.Nominated()
	d.check.Place(p, node)
	if d.witness != nil {
		d.witness.Places(p, node)
	}
	d.countOn(node, i)
	v := &d.podVerdicts[i]
	*v = Verdict{v.Subject, PodScheduling, []reason.Reason{reason.New(reason.PodNominated, v.Subject, "node", node)}}
	return true
}

// hasNomination says whether the scheduler has made room for the pod on a node that is there.
func (d *placing) hasNomination(p *cluster.Pod) bool {
	node := p.Nominated()
	if node == "" {
		return false
	}
	_, present := d.check.Handle(node)
	return present && !d.allowed.Expendable(p)
}

// others is how many verdicts there may be beside those on pods.
func (d *placing) others() int {
	n := len(d.s.Nodes) + len(d.s.Groups)
	for _, g := range d.s.Groups {
		n += len(d.groups[g.ID].nodeless)
	}
	return n
}

// key is a waiting pod's "namespace/name".
func (d *placing) key(at int) string { return d.podVerdicts[at].Subject.Name }

// place notes the node on which the next n pods of the demand are placed, before they are served.
func (d *placing) place(dm *demand, n int, h scheduling.Handle) {
	dm.seats = append(dm.seats, scheduling.Seat{On: h, Pods: n})
	if d.witness == nil {
		return
	}
	for _, at := range dm.pods[dm.served : dm.served+n] {
		d.witness.Places(d.waiting[at], d.check.Name(h))
	}
}

// tellOpen tells of machines that are coming or being added.
func (d *placing) tellOpen(g cluster.GroupID, machines ...scheduling.Handle) {
	if d.witness == nil {
		return
	}
	for _, h := range machines {
		d.witness.Opens(d.check.Name(h), g)
	}
}

// serve gives the next n pods of the demand a verdict. The reasons are about the pod where they are about nothing else.
func (d *placing) serve(dm *demand, n int, outcome Outcome, because ...reason.Reason) {
	those := dm.pods[dm.served : dm.served+n]
	dm.served += n
	all := d.reasons(n * len(because))
	for i, at := range those {
		v := &d.podVerdicts[at]
		own := all[i*len(because) : (i+1)*len(because) : (i+1)*len(because)]
		copy(own, because)
		for j := range own {
			if own[j].About == (reason.Ref{}) {
				own[j].About = v.Subject
			}
		}
		v.Outcome, v.Because = outcome, own
	}
}

// serveAlike gives the next n pods of the demand one verdict, whose reasons they share.
func (d *placing) serveAlike(dm *demand, n int, outcome Outcome, because []reason.Reason) {
	for _, at := range dm.pods[dm.served : dm.served+n] {
		v := &d.podVerdicts[at]
		v.Outcome, v.Because = outcome, because
	}
	dm.served += n
}

// reasons are so many to be filled in. They share their memory with others, not their room to grow.
func (d *placing) reasons(n int) []reason.Reason {
	if len(d.blank) < n {
		d.blank = make([]reason.Reason, max(n, 512))
	}
	all := d.blank[:n:n]
	d.blank = d.blank[n:]
	return all
}

// wanting are the demands that have pods left, in order.
func (d *placing) wanting() []*demand {
	var out []*demand
	for _, dm := range d.demands {
		if dm.left() > 0 {
			out = append(out, dm)
		}
	}
	return out
}

// podWeight is what a pod weighs beside its requests, so that pods that ask for nothing count as well.
const podWeight = 1.0 / 1024 // exact in binary, so that equal options compare as equal

// weightOf is what one pod of the class asks for, as one number.
func (d *placing) weightOf(of *cluster.Class) float64 { return weigh(d.check.Needs(of)) + podWeight }

// weigh makes one number of resources by the checker's dimensions: cores, 4 GiB of memory for a core as in common sizes, and 16 cores for a
// device. Pods and local storage weigh nothing.
func weigh(amounts []int64) float64 {
	var w float64
	for dim, n := range amounts {
		switch dim {
		case 0, 3:
		case 1:
			w += float64(n) / 1000
		case 2:
			w += float64(n) / (4 << 30)
		default:
			w += 16 * float64(n)
		}
	}
	return w
}

// weight is the same of a resource list.
func weight(r corev1.ResourceList) float64 {
	var w float64
	for name, q := range r {
		switch name {
		case corev1.ResourceCPU:
			w += q.AsApproximateFloat64()
		case corev1.ResourceMemory:
			w += q.AsApproximateFloat64() / (4 << 30)
		case corev1.ResourceEphemeralStorage, corev1.ResourcePods:
		default:
			w += 16 * q.AsApproximateFloat64()
		}
	}
	return w
}
