package remove

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
)

// considerAsked cordons nodes that a person has asked for. Neither their use nor a pending pod or room that is kept free speaks for them: a
// machine more is bought where it is needed.
func (d *Removal) considerAsked(nodes []*candidate) {
	for _, st := range nodes {
		why := *node.AskedFor(st.Node)
		block := d.holds.hindered(st)
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

// hindered says why a node that a person has asked for may not be cordoned now, nil when it may.
func (hd *holds) hindered(st *candidate) []reason.Reason {
	r, about, g := hd.Policy.Removal, reason.Node(st.Name()), st.group
	is := func(why reason.Reason) []reason.Reason { return []reason.Reason{why} }
	switch {
	case !r.Enabled:
		return is(reason.New(reason.RemovalDisabled, about))
	case g.Paused != nil:
		return is(*g.Paused)
	case hd.unhealthy != nil:
		return hd.unhealthy[:1:1]
	case g.BlockedRead() != nil:
		return is(*g.BlockedRead())
	case hd.nodes.neededOf(st, 1) != nil:
		return is(*hd.nodes.neededOf(st, 1))
	case hd.quorum(st) != nil:
		return is(*hd.quorum(st))
	case hd.traffic.inFlight >= r.Parallelism:
		return is(reason.New(reason.RemovalBudget, about, "inflight", hd.traffic.inFlight, "limit", r.Parallelism))
	case len(st.Movers) > 0 && hd.traffic.drains >= r.Drain.Parallelism:
		return is(reason.New(reason.RemovalBudget, about, "inflight", hd.traffic.drains, "limit", r.Drain.Parallelism))
	}
	return nil
}
