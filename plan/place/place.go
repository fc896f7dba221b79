// Package place finds room for pods that wait, in this order: reservations of the last cycle, nodes that are there, nodes on their way out,
// which a pod takes back, and machines that are coming. What is left over needs a machine. It changes the room that package grow goes on
// with. Where a new rule goes:
//
//	which pods wait, and in what order        collect.go
//	pods that only count together             gang.go
//	pods that nobody is served for            collect.go, Order; unbound.go for those that no scheduler binds
//	places that are kept from cycle to cycle  reservations.go
//	what the next machine of a group is like  machines.go, and its zone incoming.go
//	which machines are expected               arrivals.go
//	pods that wait their turn                 backlogs.go
//	why a node is needed                      needs.go
//	how much a cycle looks at                 bound.go
package place

import (
	"slices"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// PlacePending finds room for pods that wait: on nodes that are there; on cordoned nodes, which a pod takes back; on
// machines that are coming. Pods that are left want a machine.
//
//	left over                            what becomes of it
//	a pod that the scheduler has judged  it has no verdict yet: package grow adds a machine, or says why none helps
//	a pod that consumes a request        waits: the request asks for its room
//	a pod of another scheduler           waits for the word of that scheduler (scenario other-scheduler)
//	a pod of the default scheduler       waits until the scheduler has looked at it
func (d *Room) PlacePending() {
	if len(d.Wanting()) == 0 {
		return
	}
	d.LineUp(nil)
	d.Reservations.give()
	d.FindPlaces()
	for _, dm := range d.Wanting() {
		switch name := dm.Of.Spec.SchedulerName; {
		case dm.Judged:
		case dm.Consumes != "":
			d.Serve(dm, dm.Left(), action.PodIgnored, reason.New(reason.PodConsumes, reason.Ref{}, "request", dm.Consumes))
		case name != "" && name != corev1.DefaultSchedulerName:
			d.Serve(dm, dm.Left(), action.PodIgnored, reason.New(reason.OtherScheduler, reason.Ref{}, "scheduler", name))
		default:
			d.Serve(dm, dm.Left(), action.PodIgnored, reason.New(reason.NotYetScheduled, reason.Ref{}))
		}
	}
}

// FindPlaces finds places on what was lined up, and on cordoned nodes.
//
//	step                                      why there
//	kept places, then new ones, band by band  a pod keeps nothing that a pod of a higher priority needs
//	cordoned nodes                            cheaper and faster than a machine (scenario rescue), but its removal ends
//	pods wait their turn                      only pods that no node takes: a pod that fits a node is not held back
//	coming machines                           last: pods that a node takes leave these to others
func (d *Room) FindPlaces() {
	for _, band := range d.bands() {
		keepPlaces(d.There, band, onThere, d.PlaceThere)
		d.PlaceOn(d.There, band, d.PlaceThere)
	}
	d.rescueNodes()
	d.backlogs.holdBack()
	d.Arrivals.fill()
}

// PlaceThere serves pods that go onto a node that is there.
func (d *Room) PlaceThere(dm *Demand, h scheduling.Handle, n int) {
	if dm.Claim != nil {
		d.KeepFor(dm.Claim, d.Check.Name(h))
	} else {
		d.countOn(d.Check.Name(h), d.Key(dm.Pods[dm.Served]))
	}
	d.Place(dm, n, h)
	d.Serve(dm, n, action.PodScheduling, d.fitsNode(h))
}

// fitsNode is why pods have their place on a node that is there, said once for each node.
func (d *Room) fitsNode(h scheduling.Handle) reason.Reason {
	name := d.Check.Name(h)
	why, said := d.fitting[name]
	if !said {
		why = reason.New(reason.FitsNode, reason.Ref{}, "node", name)
		d.fitting[name] = why
	}
	return why
}

// rescueNodes lets pods take back cordoned nodes whose machine is not being deleted yet. Every such node that any
// waiting pod fits is taken back, one after the other, the one cordoned last first: it has lost least.
//
//	cordoned node                                  taken back
//	a person asked for its drain                   no: pods that wait do not undo what a person asked for
//	its machine does not run, or is being deleted  no: it is too late
//	not Ready                                      no: it would not run the pod
//	its machine was parked and is started again    yes, as if running (scenario parked-started-at-once)
//
// A node that no pod took is put back as it was, so that it is no room for those who are placed later.
func (d *Room) rescueNodes() {
	type leaving struct {
		node  *cluster.Node
		since time.Time
	}
	var cordoned []leaving
	d.Watch(func(_ int, v *node.Facts) {
		if n := v.Node; v.Leaves && v.Removal.Why != cluster.AskedFor && n.Instance != nil && (n.Instance.State == cluster.StateRunning || n.Instance.State.Expected() && node.WasParked(n)) && v.Ready {
			cordoned = append(cordoned, leaving{n, v.Removal.Since})
		}
	})
	sort.SliceStable(cordoned, func(i, j int) bool { return cordoned[i].since.After(cordoned[j].since) })
	for _, r := range cordoned {
		if len(d.Wanting()) == 0 {
			break
		}
		name := r.node.Name()
		restore := d.Check.Remove(name)
		stay := r.node.Pods
		if node.WasParked(r.node) { // its kubelet is back, and lets those go whose time is over
			stay = slices.DeleteFunc(slices.Clone(stay), func(p *cluster.Pod) bool { return p.GraceOver(d.Now) })
		}
		d.Check.Add(cluster.GivenBack(r.node.Object), stay...)
		h, _ := d.Check.Handle(name)
		d.PlaceOn(d.Check.Row(h), d.Demands, func(dm *Demand, h scheduling.Handle, n int) {
			if dm.Claim != nil {
				d.KeepFor(dm.Claim, name)
				d.Spared[name] = d.Booked[name]
			} else if _, ok := d.Rescues[name]; !ok {
				d.Rescues[name] = d.Key(dm.Pods[dm.Served])
			}
			d.Place(dm, n, h)
			d.Serve(dm, n, action.PodRescues, reason.New(reason.RescuesNode, reason.Ref{}, "node", name))
		})
		if !d.TakenBack(name) {
			restore()
			continue
		}
		// From here on it is room as any other: package grow asks this row again.
		d.There.Append(h)
	}
}
