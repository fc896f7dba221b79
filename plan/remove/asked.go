package remove

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/node"
)

// considerAsked cordons nodes that a person has asked for. Neither their use nor a pending pod or room that is kept free speaks for them: a
// machine more is bought where it is needed.
//
// Unlike other nodes, it waits neither for an idle time nor for a pause after a growth, and no backoff of its group holds it. It waits for
// a turn, for the rows of standing that are marked so, and for the safety contract. Nobody asks whether its pods have places elsewhere.
func (d *Removal) considerAsked(nodes []*candidate) {
	for _, st := range nodes {
		why := *node.AskedFor(st.Node)
		block := d.holds.forbidden(st)
		if block == nil {
			block = d.holds.crowded(st)
		}
		if block == nil {
			block = d.holds.contract(st, cluster.AskedFor, nil)
		}
		if block != nil {
			d.nodes.judge(st, action.NodeIdle, append(block, why)...)
			continue
		}
		if len(st.Movers) > 0 {
			d.traffic.drain()
		}
		d.cordon(st, cluster.AskedFor, why)
	}
}
