package claim

import (
	"cmp"
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/reason"
)

// gatesAtOnce is how many gates one cycle opens, at most, beyond those of a gang: each is a request of its own.
const gatesAtOnce = 500

// gate is one to open: of a waiting pod, and of its gang if that is let go as a whole.
type gate struct {
	at   int
	gang *place.Gang
}

// OpenGates lets pods go that wait behind [cluster.CapacityGate] and whose room is there: the nodes that they fit are Ready, and so are
// those of as many pods of their gang as it needs. A gang is let go in one cycle.
//
//	pod behind sluice's gate alone                          its gate
//	has no place, or one on a node that is not Ready        stays
//	of no gang, or of a gang that runs, on a Ready node     opens
//	of a gang with fewer pods on Ready nodes than it needs  stays: GateKept (scenario gate-kept-until-ready)
//	of a gang with enough pods on Ready nodes               opens, with the others in the same cycle
//
// A gate that opens too early gives the room of one pod to another. The guard asks again right before it sends (S-41).
func (d *Claims) OpenGates() {
	var ready []gate
	for _, dm := range d.Demands {
		if dm.Claim != nil || !dm.Of.AwaitsCapacity() {
			continue
		}
		g, there := dm.Gang, 0
		if g != nil && g.Runs() {
			g = nil
		}
		if g != nil {
			there = g.Placed + d.readyAmong(g.Demands)
		}
		for _, at := range dm.Pods[:dm.Served] {
			node := d.placeOf(at)
			switch v := &d.PodVerdicts[at]; {
			case node == "":
			case g != nil && there < g.Least:
				*v = action.Verdict{Subject: v.Subject, Outcome: action.PodWaiting, Because: []reason.Reason{reason.New(reason.GateKept, v.Subject, "node", node, "gang", g.Name, "there", there, "needs", g.Least)}}
			default:
				ready = append(ready, gate{at, g})
			}
		}
	}
	// By their places among the pods that wait: the oldest first.
	slices.SortFunc(ready, func(a, b gate) int { return cmp.Compare(a.at, b.at) })
	for _, o := range d.firstGates(ready) {
		p, node, v := d.Waiting[o.at], d.placeOf(o.at), &d.PodVerdicts[o.at]
		v.Because = []reason.Reason{reason.New(reason.GateOpens, v.Subject, "node", node)}
		d.Gates = append(d.Gates, action.OpenGate{Namespace: p.Namespace, Pod: p.Name, UID: p.UID, Node: node, Because: v.Because[0]})
	}
}

// firstGates are those that this cycle opens, a gang's all or none. The others' turn comes a second later.
// So there may be more than [gatesAtOnce]: a gang of which some pods run and others do not would hold its machines for nothing.
func (d *Claims) firstGates(ready []gate) []gate {
	if len(ready) <= gatesAtOnce {
		return ready
	}
	d.Wake(d.Now.Add(time.Second))
	first := slices.Clone(ready[:gatesAtOnce])
	begun := map[*place.Gang]bool{}
	for _, o := range first {
		begun[o.gang] = o.gang != nil
	}
	for _, o := range ready[gatesAtOnce:] {
		if begun[o.gang] {
			first = append(first, o)
		}
	}
	return first
}

// placeOf is the Ready node that the pod has a place on, "" when it has none.
// It reads the place off the verdict. So it no longer finds that of a pod whose gate opens in this cycle, as that pod has another reason.
func (d *Claims) placeOf(at int) string {
	v := d.PodVerdicts[at]
	if v.Outcome != action.PodScheduling || v.Because[0].Code != reason.FitsNode {
		return ""
	}
	if n := d.Snapshot.Node(v.Because[0].Facts["node"]); n != nil && cluster.Ready(n.Object) {
		return n.Name()
	}
	return ""
}
