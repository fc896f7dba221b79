package place

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// Collect finds the pods that wait, class by class.
// Pods that are left to their schedulers, and nominated ones, have their verdict afterwards and are in no demand.
func (d *Room) Collect() {
	d.Unbound.leave()
	d.Demands = d.demandsOf(func(i int, p *cluster.Pod) bool { return d.Unbound.isLeft(i, p) || d.nominated(i, p) })
	for _, dm := range d.Demands {
		dm.judge(dm.Judged || d.Policy.Growth.Bypasses(dm.Of.Spec.SchedulerName))
	}
	d.Demands = append(d.Demands, d.demandPlaces()...)
}

// Order puts the demands in the order in which they are placed: those whose room was promised, then by priority, then the largest first as
// they are hardest to place, then by age and name. Pods that are not sluice's to place get their verdict at once.
//
//	pods                                       verdict
//	behind another gate than sluice's          PodGated: whoever set that gate opens it (scenario scheduling-gate)
//	of a scheduler that the operator excludes  OtherScheduler
//	below the priority cutoff                  PodExpendable: others may push them out at any time
//
// Each has its verdict before any pod is placed, so that it takes no room from the others.
func (d *Room) Order() {
	for _, dm := range d.Demands {
		dm.Weight, dm.priority = d.weightOf(dm.Of), dm.Of.Priority()
	}
	slices.SortStableFunc(d.Demands, func(a, b *Demand) int {
		return cmp.Or(node.Btoi(b.Booked)-node.Btoi(a.Booked), cmp.Compare(b.priority, a.priority), cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Pods[0], b.Pods[0]))
	})
	for _, dm := range d.Demands {
		switch {
		case dm.Of.Gated() && !dm.Of.AwaitsCapacity():
			d.Serve(dm, dm.Left(), action.PodIgnored, reason.New(reason.PodGated, reason.Ref{}, "gate", otherGate(dm.Of)))
		case !d.Policy.Growth.Serves(dm.Of.Spec.SchedulerName):
			d.Serve(dm, dm.Left(), action.PodIgnored, reason.New(reason.OtherScheduler, reason.Ref{}, "scheduler", cmp.Or(dm.Of.Spec.SchedulerName, corev1.DefaultSchedulerName)))
		case d.expendable(dm):
			d.Serve(dm, dm.Left(), action.PodIgnored, reason.New(reason.PodExpendable, reason.Ref{}, "priority", dm.Of.Priority(), "cutoff", d.Policy.Growth.PriorityCutoff))
		}
	}
}

// expendable is [policy.Policy.Expendable] of the demand's pods, all of which have one priority.
func (d *Room) expendable(dm *Demand) bool {
	return dm.priority < d.Policy.Growth.PriorityCutoff && dm.Of.Spec.Priority != nil
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
func (d *Room) nominated(i int, p *cluster.Pod) bool {
	if !d.hasNomination(p) {
		return false
	}
	node := p.Nominated()
	// The victims may run still, so the node has no room for the pod by now. It counts there all the same: no other pod may take what the
	// victims leave, and no machine is bought for it (scenario nominated-pod).
	d.Check.Place(p, node)
	if d.Witness != nil {
		d.Witness.Places(p, node)
	}
	d.countOn(node, d.Key(i))
	v := &d.PodVerdicts[i]
	*v = action.Verdict{Subject: v.Subject, Outcome: action.PodScheduling, Because: []reason.Reason{reason.New(reason.PodNominated, v.Subject, "node", node)}}
	return true
}

// hasNomination says whether the scheduler has made room for the pod on a node that is there.
func (d *Room) hasNomination(p *cluster.Pod) bool {
	node := p.Nominated()
	if node == "" {
		return false
	}
	_, present := d.Check.Handle(node)
	return present && !d.Policy.Expendable(p)
}

// Place notes the node on which the next n pods of the demand are placed, before they are served.
// It comes before Serve, which moves Served on. Together with Serve it keeps Demand.seats in the order of Demand.Pods.
func (d *Room) Place(dm *Demand, n int, h scheduling.Handle) {
	dm.seats = append(dm.seats, scheduling.Seat{On: h, Pods: n})
	if d.Witness == nil {
		return
	}
	for _, at := range dm.Pods[dm.Served : dm.Served+n] {
		d.Witness.Places(d.Waiting[at], d.Check.Name(h))
	}
}

// TellOpen tells of machines that are coming or being added.
func (d *Room) TellOpen(g cluster.GroupID, machines ...scheduling.Handle) {
	if d.Witness == nil {
		return
	}
	for _, h := range machines {
		d.Witness.Opens(d.Check.Name(h), g)
	}
}

// Wanting are the demands that have pods left, in order.
func (d *Room) Wanting() []*Demand {
	var out []*Demand
	for _, dm := range d.Demands {
		if dm.Left() > 0 {
			out = append(out, dm)
		}
	}
	return out
}

// weightOf is what one pod of the class asks for, as one number.
// Its unit is that of weigh; a pod without requests weighs [PodWeight].
func (d *Room) weightOf(of *cluster.Class) float64 { return weigh(d.Check.Needs(of)) + PodWeight }

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

// Weight is the same of a resource list.
// Package grow compares machines of different sizes by it where prices are not known.
func Weight(r corev1.ResourceList) float64 {
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

// PodWeight is what a pod weighs beside its requests, so that pods that ask for nothing count as well.
const PodWeight = 1.0 / 1024 // exact in binary, so that equal options compare as equal

// demandsOf are the pods that wait by what they have in common, but for those that are settled.
// Pods of one controller mostly follow each other, so the map is asked only where the class changes.
func (d *Room) demandsOf(settled func(i int, p *cluster.Pod) bool) []*Demand {
	var all []*Demand
	by := map[demandKey]*Demand{}
	var last demandKey
	var dm *Demand
	for i, p := range d.Waiting {
		if settled(i, p) {
			continue
		}
		if key := (demandKey{p.Class, p.Unschedulable() || p.AwaitsCapacity()}); dm == nil || key != last {
			if last, dm = key, by[key]; dm == nil {
				dm = &Demand{Of: p.Class, Eldest: i, Judged: key.judged}
				by[key] = dm
				all = append(all, dm)
			}
		}
		dm.add(i)
	}
	return all
}

// NoteAsking notes the pods of gangs that are not whole, for which nodes are kept as long as machines are. Every other pod has its place,
// or fits no node.
//
//	pods                                    why they are not noted
//	of no gang, or of a gang that is whole  they have a place, which holds a node, or they fit no node
//	of a gang whose hold is over (Given)    their machines are idle again (scenarios gang-of-64, gang-released)
//	of a request that only checks capacity  while it is not met as a whole, it keeps nothing
//	gated by others, or expendable          nothing is done for them
//
// [Room.Asking] is read in package remove: each of these pods holds the first node that could go and takes it.
func (d *Room) NoteAsking() {
	for _, dm := range d.Demands {
		if g := dm.Gang; g == nil || g.Out == nil || g.Given || dm.Claim != nil && !dm.Claim.Asks || dm.Of.Gated() && !dm.Of.AwaitsCapacity() || d.expendable(dm) {
			continue
		}
		d.Asking = append(d.Asking, waiting{d.Waiting[dm.Eldest], dm.Claim, len(dm.Pods)})
	}
}

// waiting is pods of one class that no node holds yet.
type waiting struct {
	*cluster.Pod        // one of them
	Claim        *Claim // that they are pretended for, nil when they are there
	Pods         int    // how many there are
}

// deciding is how many of the pods that have no place yet are a reason to grow: none that the scheduler has not looked at, and none that is
// too young. Pods of one class wait equally long, so the young ones are the last.
func (d *Room) deciding(dm *Demand) int {
	switch {
	case dm.Booked:
		return dm.Left()
	case !dm.Judged:
		return 0
	}
	n := dm.Left()
	for n > 0 {
		if _, young := d.Policy.Young(d.Waiting[dm.Pods[dm.Served+n-1]], d.Now); !young {
			break
		}
		n--
	}
	return n
}
