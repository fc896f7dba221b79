package plan

import (
	"cmp"
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// gatesAtOnce is how many gates one cycle opens, at most, beyond those of a gang: each is a request of its own.
const gatesAtOnce = 500

// gate is one to open: of a waiting pod, and of its gang if that is let go as a whole.
type gate struct {
	at   int
	gang *gang
}

// openGates lets pods go that wait behind [cluster.CapacityGate] and whose room is there: the nodes that they fit are Ready, and so are
// those of as many pods of their gang as it needs. A gang is let go in one cycle.
func (d *claiming) openGates() {
	var ready []gate
	for _, dm := range d.demands {
		if dm.claim != nil || !dm.of.AwaitsCapacity() {
			continue
		}
		g, there := dm.gang, 0
		if g != nil && g.runs() {
			g = nil
		}
		if g != nil {
			there = g.placed + d.readyAmong(g.demands)
		}
		for _, at := range dm.pods[:dm.served] {
			node := d.placeOf(at)
			switch v := &d.podVerdicts[at]; {
			case node == "":
			case g != nil && there < g.Least:
				*v = Verdict{v.Subject, PodWaiting, []reason.Reason{reason.New(reason.GateKept, v.Subject, "node", node, "gang", g.Name, "there", there, "needs", g.Least)}}
			default:
				ready = append(ready, gate{at, g})
			}
		}
	}
	slices.SortFunc(ready, func(a, b gate) int { return cmp.Compare(a.at, b.at) })
	for _, o := range d.firstGates(ready) {
		p, node, v := d.waiting[o.at], d.placeOf(o.at), &d.podVerdicts[o.at]
		v.Because = []reason.Reason{reason.New(reason.GateOpens, v.Subject, "node", node)}
		d.gates = append(d.gates, OpenGate{p.Namespace, p.Name, p.UID, node, v.Because[0]})
	}
}

// firstGates are those that this cycle opens, a gang's all or none. The others' turn comes a second later.
func (d *claiming) firstGates(ready []gate) []gate {
	if len(ready) <= gatesAtOnce {
		return ready
	}
	d.wake(d.now.Add(time.Second))
	first := slices.Clone(ready[:gatesAtOnce])
	begun := map[*gang]bool{}
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
func (d *claiming) placeOf(at int) string {
	v := d.podVerdicts[at]
	if v.Outcome != PodScheduling || v.Because[0].Code != reason.FitsNode {
		return ""
	}
	if n := d.s.Node(v.Because[0].Facts["node"]); n != nil && cluster.Ready(n.Object) {
		return n.Name()
	}
	return ""
}
