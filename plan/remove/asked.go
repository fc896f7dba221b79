package remove

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/node"
)

// considerAsked cordons nodes that a person has asked for. Neither their use nor a pending pod or room that is kept free speaks for them: a
// machine more is bought where it is needed.
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
