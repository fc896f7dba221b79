package plan

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// askedFor says that a person has asked for the node to be emptied and removed, nil when nobody has.
func askedFor(n *cluster.Node) *reason.Reason {
	at, asked := n.Object.Annotations[cluster.DrainAnnotation]
	if !asked {
		return nil
	}
	r := reason.New(reason.NodeAskedFor, reason.Node(n.Name()), "at", at)
	return &r
}

// considerAsked cordons nodes that a person has asked for. Neither their use nor a pending pod or room that is kept free speaks for them: a
// machine more is bought where it is needed.
func (d *removing) considerAsked(nodes []*nodeState) {
	for _, st := range nodes {
		why := *askedFor(st.Node)
		block := d.hindered(st)
		if block == nil {
			block = d.keptFromLadder(st, cluster.AskedFor, nil)
		}
		if block != nil {
			d.judgeNode(st, NodeIdle, append(block, why)...)
			continue
		}
		if len(st.movers) > 0 {
			d.drains++
		}
		d.stepOn(st, cluster.AskedFor, why)
	}
}

// hindered says why a node that a person has asked for may not step on the ladder now, nil when it may.
func (d *removing) hindered(st *nodeState) []reason.Reason {
	r, about, g := d.allowed.Removal, reason.Node(st.Name()), st.group
	is := func(why reason.Reason) []reason.Reason { return []reason.Reason{why} }
	switch {
	case !r.Enabled:
		return is(reason.New(reason.RemovalDisabled, about))
	case g.paused != nil:
		return is(*g.paused)
	case d.unhealthy != nil:
		return d.unhealthy[:1:1]
	case g.blockedRead() != nil:
		return is(*g.blockedRead())
	case d.neededOf(st, 1) != nil:
		return is(*d.neededOf(st, 1))
	case d.quorum(st) != nil:
		return is(*d.quorum(st))
	case d.inFlight >= r.MaxInFlight:
		return is(reason.New(reason.RemovalBudget, about, "inflight", d.inFlight, "limit", r.MaxInFlight))
	case len(st.movers) > 0 && d.drains >= r.MaxDrains:
		return is(reason.New(reason.RemovalBudget, about, "inflight", d.drains, "limit", r.MaxDrains))
	}
	return nil
}

// drainAsked evicts what may go from a node that a person has asked for, as disruption budgets let it, and waits for the rest without an end:
// work that the policy keeps comes to its own.
func (d *removing) drainAsked(st *nodeState, wait time.Time) {
	because := []reason.Reason{reason.New(reason.NodeDraining, reason.Node(st.Name()), "pods", len(st.movers))}
	if d.now.Before(wait) {
		d.wake(wait)
		d.judgeNode(st, NodeDraining, because...)
		return
	}
	var leavers []*cluster.Pod
	var works []reason.Reason
	for _, p := range st.movers {
		if why, keeps := d.keeps(p, st.sight); keeps && !p.Leaving() {
			works = append(works, why)
			continue
		}
		leavers = append(leavers, p)
	}
	d.judgeNode(st, NodeDraining, append(d.evict(st, leavers, because[0]), works...)...)
}
