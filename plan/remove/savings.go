package remove

import (
	"cmp"
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// saving is a way to run a node's pods for less.
//
// usd is what an hour costs less; cost is what moving the pods costs, with the replacement while it boots; worth is usd for as long as the
// saving is expected to last. All are in USD. Only what is worth more than its cost is acted upon.
type saving struct {
	st    *candidate
	into  *Outgoing // that grows by one machine for it, nil when none has to
	usd   float64   // an hour
	cost  float64   // of moving, once
	worth float64
}

// trial is where the pods of one node could move to: nodes that stay and, where a group is given, one more machine of it. Nothing else may
// ask the checker until it is closed.
type trial struct {
	view         *node.View
	destinations *scheduling.Destinations
	close        func()
}

// dearestMover puts those first that cost most, then those with fewest pods, then by name.
func (cn *consolidation) dearestMover(a, b *candidate) int {
	return cmp.Or(cmp.Compare(cn.nodes.groups[b.Group].PriceUSDPerHour, cn.nodes.groups[a.Group].PriceUSDPerHour),
		cmp.Compare(len(a.Movers), len(b.Movers)), cmp.Compare(a.at, b.at))
}

// consolidates says whether nodes such as this one may be emptied for a saving.
func (cn *consolidation) consolidates(n *cluster.Node) bool {
	g := cn.nodes.groups[n.Group]
	return g != nil && g.PriceUSDPerHour > 0 && cn.Policy.Removal.Consolidation.Of(n.Group)
}

// couldMove is a node that is used too much to go, with the pods that would have to leave it; nil for any other.
//
// The copy has the movers that [node.Facts] leaves out of a used node. A node with a pod on its way out is none either.
func (cn *consolidation) couldMove(v *node.Facts) *node.Facts {
	if !v.Takes || v.Leaves || v.Instance == nil || len(v.Verdict.Because) == 0 || v.Verdict.Because[0].Code != reason.NodeBusy {
		return nil
	}
	own := *v
	own.Movers, own.Loss, own.Consent = nil, node.Loss{}, node.Consent{}
	for _, p := range v.Pods {
		if !cn.Belongs(p, v) {
			own.Movers = append(own.Movers, p)
		}
	}
	if len(own.Movers) == 0 || slices.ContainsFunc(own.Movers, (*cluster.Pod).Leaving) {
		return nil
	}
	return &own
}

// moveable is a node that works and that removal has no use for, with the pods that would have to leave it; nil for any other.
func (cn *consolidation) moveable(at int) *candidate {
	if st := cn.nodes.states[at]; st != nil {
		if st.kept && !st.going && !st.Leaves && st.Takes && len(st.Movers) > 0 {
			return st
		}
		return nil
	}
	own := cn.couldMove(cn.Memo.Facts[at])
	if own == nil {
		return nil
	}
	return &candidate{Facts: own, group: cn.nodes.outgoing(own), at: at, kept: true, wait: wait{since: cn.Now, removable: cn.Now}}
}

// dearestMoveable are the nodes that are tried, those that cost most first: all their pods may be evicted, and nothing else is in the way.
func (cn *consolidation) dearestMoveable() []*candidate {
	may := func(st *candidate) bool {
		return cn.places.refusal(st) == nil && cn.holds.cools(st) == nil && cn.evictions.backsOff(st) == nil && cn.holds.forbidden(st) == nil && cn.use.inUseBeyondRequests(st) == nil
	}
	var all, steady []*candidate // of the latter no cycle has more to say than that they are used
	watched := cn.Memo.Watched
	for at, n := range cn.Snapshot.Nodes {
		isWatched := len(watched) > 0 && watched[0] == at
		if isWatched {
			watched = watched[1:]
		}
		if !cn.consolidates(n) {
			continue
		}
		switch st := cn.moveable(at); {
		case st == nil:
		// Of these only the dearest are asked whether they may go, until enough of them may.
		case !isWatched:
			steady = append(steady, st)
		case may(st):
			all = append(all, st)
		}
	}
	slices.SortFunc(steady, cn.dearestMover)
	tried := 0
	for _, st := range steady {
		if tried == mostConsolidated {
			break
		}
		if may(st) {
			all = append(all, st)
			tried++
		}
	}
	slices.SortFunc(all, cn.dearestMover)
	return all[:min(len(all), mostConsolidated)]
}

// bestSaving is the saving that is worth most beyond what it costs, nil when nothing could be saved at all.
//
// Each node is tried with the nodes that are there first, then with one more machine of a group, the cheapest groups first. The first try
// that holds all its pods counts. A trial places pods of one node at a time and takes them back: savings of several nodes together are not
// looked for (scenario consolidation-one-at-a-time).
func (cn *consolidation) bestSaving() *saving {
	nodes := cn.dearestMoveable()
	var hosts []scheduling.Handle
	for _, at := range cn.places.hosts() {
		if h, ok := cn.Check.Handle(cn.Memo.Facts[at].NodeName); ok {
			hosts = append(hosts, h)
		}
	}
	found, tried := make([]*saving, len(nodes)), make([]int, len(nodes))
	try := func(into *Outgoing) {
		var a *trial
		for i, st := range nodes {
			if found[i] != nil || into != nil && (tried[i] == mostReplacements || !replaces(into, st)) {
				continue
			}
			if into != nil {
				tried[i]++
			}
			if a == nil {
				a = cn.trial(hosts, into)
			}
			if a.holds(st) {
				found[i] = cn.savingOf(st, into)
			}
		}
		if a != nil {
			a.close()
		}
	}
	try(nil)
	for _, g := range cn.byPrice() {
		try(g)
	}
	var best *saving
	for _, s := range found {
		if s != nil && (best == nil || s.worth-s.cost > best.worth-best.cost+leastSaving) {
			best = s
		}
	}
	return best
}

// byPrice are the groups that can grow, the cheapest first.
func (cn *consolidation) byPrice() []*Outgoing {
	var all []*Outgoing
	for _, g := range cn.Snapshot.Groups {
		if to := cn.nodes.groups[g.ID]; to.Blocked == nil && to.Template != nil && to.PriceUSDPerHour > 0 && cn.growth.Limits.May(to.Order) {
			all = append(all, to)
		}
	}
	slices.SortStableFunc(all, func(a, b *Outgoing) int { return cmp.Compare(a.PriceUSDPerHour, b.PriceUSDPerHour) })
	return all
}

// replaces says whether a machine of the group costs less than the node. One of the same size is no replacement.
//
// That holds whatever the other group costs (scenario consolidation-like-for-like).
func replaces(into *Outgoing, st *candidate) bool {
	own := st.group
	return into.PriceUSDPerHour < own.PriceUSDPerHour && into.Size != own.Size
}

// savingOf is what is saved when the node's pods run on others, or on others and one machine of the group.
func (cn *consolidation) savingOf(st *candidate, into *Outgoing) *saving {
	terms, usd, cost := cn.Policy.Removal.Consolidation, st.group.PriceUSDPerHour, float64(len(st.Movers))*cn.Policy.Removal.Consolidation.PodUSD
	if into != nil {
		usd, cost = usd-into.PriceUSDPerHour, cost+into.PriceUSDPerHour*cn.growth.RunTimes.BootTime().Hours()
	}
	return &saving{st, into, usd, cost, terms.Worth(usd)}
}

// trial looks whether pods could move to these nodes.
func (cn *consolidation) trial(hosts []scheduling.Handle, more *Outgoing) *trial {
	undo := cn.Check.Mark()
	if more != nil {
		hosts = append(slices.Clip(hosts), cn.Check.Open(cn.growth.Machines.Template(more.Incoming, more.NextZone()), "new machine of "+string(more.ID)))
	}
	return &trial{cn.View, cn.Check.Destinations(hosts...), undo}
}

// holds says whether all pods of the node fit, as the scheduler's rules and the budgets have it.
func (a *trial) holds(st *candidate) bool {
	for _, p := range st.Consent.Budgeted {
		if a.view.BudgetRefuses(p) != nil {
			return false
		}
	}
	h, _ := a.view.Check.Handle(st.Name())
	defer a.destinations.Back()
	return a.destinations.Leave(h, node.Moving(st.Facts)) == nil
}
