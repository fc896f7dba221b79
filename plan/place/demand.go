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
func (d *Room) Collect() {
	d.leaveUnbound()
	d.Demands = d.demandsOf(func(i int, p *cluster.Pod) bool { return d.isLeft(i, p) || d.nominated(i, p) })
	for _, dm := range d.Demands {
		dm.Judged = dm.Judged || d.Policy.Growth.Bypasses(dm.Of.Spec.SchedulerName)
	}
	d.demandPlaces()
}

// Order puts the demands in the order in which they are placed: those whose room was promised, then by priority, then the largest first as
// they are hardest to place, then by age and name. Pods that are not sluice's to place get their verdict at once.
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
	d.Check.Place(p, node)
	if d.Witness != nil {
		d.Witness.Places(p, node)
	}
	d.countOn(node, i)
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

// Others is how many verdicts there may be beside those on pods.
func (d *Room) Others() int {
	n := len(d.Snapshot.Nodes) + len(d.Snapshot.Groups)
	for _, g := range d.Snapshot.Groups {
		n += len(d.groups[g.ID].Nodeless)
	}
	return n
}

// Key is a waiting pod's "namespace/name".
func (d *Room) Key(at int) string { return d.PodVerdicts[at].Subject.Name }

// Place notes the node on which the next n pods of the demand are placed, before they are served.
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

// Serve gives the next n pods of the demand a verdict. The reasons are about the pod where they are about nothing else.
func (d *Room) Serve(dm *Demand, n int, outcome action.Outcome, because ...reason.Reason) {
	those := dm.Pods[dm.Served : dm.Served+n]
	dm.Served += n
	all := d.Reasons(n * len(because))
	for i, at := range those {
		v := &d.PodVerdicts[at]
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

// ServeAlike gives the next n pods of the demand one verdict, whose reasons they share.
func (d *Room) ServeAlike(dm *Demand, n int, outcome action.Outcome, because []reason.Reason) {
	for _, at := range dm.Pods[dm.Served : dm.Served+n] {
		v := &d.PodVerdicts[at]
		v.Outcome, v.Because = outcome, because
	}
	dm.Served += n
}

// Reasons are so many to be filled in. They share their memory with others, not their room to grow.
func (d *Room) Reasons(n int) []reason.Reason {
	if len(d.blank) < n {
		d.blank = make([]reason.Reason, max(n, 512))
	}
	all := d.blank[:n:n]
	d.blank = d.blank[n:]
	return all
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

// PodWeight is what a pod weighs beside its requests, so that pods that ask for nothing count as well.
const PodWeight = 1.0 / 1024 // exact in binary, so that equal options compare as equal

// weightOf is what one pod of the class asks for, as one number.
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

// QueueUp notes which pods wait, and what they are called. There is to be room for so many further verdicts.
func (d *Room) QueueUp(further int) {
	d.Waiting = d.Snapshot.Pending
	d.PodVerdicts = make([]action.Verdict, len(d.Waiting), len(d.Waiting)+further)
	for i, p := range d.Waiting {
		d.PodVerdicts[i].Subject = reason.Ref{Kind: reason.KindPod, Name: p.String()}
		d.hopeful = d.hopeful || p.Nominated() != ""
	}
}

// demandsOf are the pods that wait by what they have in common, but for those that are settled.
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
		dm.Pods = append(dm.Pods, i)
	}
	return all
}

// NoteAsking notes the pods of gangs that are not whole, for which nodes are kept as long as machines are. Every other pod has its place, or fits no
// node.
func (d *Room) NoteAsking() {
	for _, dm := range d.Demands {
		if g := dm.Gang; g == nil || g.Out == nil || g.Given || dm.Claim != nil && !dm.Claim.Asks || dm.Of.Gated() && !dm.Of.AwaitsCapacity() || d.expendable(dm) {
			continue
		}
		d.Asking = append(d.Asking, waiting{d.Waiting[dm.Eldest], dm.Claim, len(dm.Pods)})
	}
}

// CountedOn says which waiting pod, request or buffer counts on the node, nil when none does.
func (d *Room) CountedOn(node string) *reason.Reason {
	if pod, ok := d.Counted[node]; ok {
		return new(reason.New(reason.NodeCounted, reason.Node(node), "pod", pod))
	}
	if _, ok := d.Booked[node]; ok {
		return new(d.Booked[node])
	}
	return nil
}
