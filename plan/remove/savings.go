package remove

import (
	"cmp"
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// dearestMover puts those first that cost most, then those with fewest pods, then by name.
func (d *Removal) dearestMover(a, b *candidate) int {
	return cmp.Or(cmp.Compare(d.groups[b.Group].PriceUSDPerHour, d.groups[a.Group].PriceUSDPerHour),
		cmp.Compare(len(a.Movers), len(b.Movers)), cmp.Compare(a.at, b.at))
}

// consolidates says whether nodes such as this one may be emptied for a saving.
func (d *Removal) consolidates(n *cluster.Node) bool {
	g := d.groups[n.Group]
	return g != nil && g.PriceUSDPerHour > 0 && d.Policy.Removal.Consolidation.Of(n.Group)
}

// couldMove is a node that is used too much to go, with the pods that would have to leave it; nil for any other.
func (d *Removal) couldMove(v *node.Facts) *node.Facts {
	if !v.Takes || v.OnLadder || v.Instance == nil || len(v.Verdict.Because) == 0 || v.Verdict.Because[0].Code != reason.NodeBusy {
		return nil
	}
	own := *v
	own.Movers, own.Loss, own.Consent = nil, node.Loss{}, node.Consent{}
	for _, p := range v.Pods {
		if !d.Belongs(p, v) {
			own.Movers = append(own.Movers, p)
		}
	}
	if len(own.Movers) == 0 || slices.ContainsFunc(own.Movers, (*cluster.Pod).Leaving) {
		return nil
	}
	return &own
}

// moveable is a node that works and that the ladder has no use for, with the pods that would have to leave it; nil for any other.
func (d *Removal) moveable(at int) *candidate {
	if st := d.states[at]; st != nil {
		if st.kept && !st.going && !st.OnLadder && st.Takes && len(st.Movers) > 0 {
			return st
		}
		return nil
	}
	own := d.couldMove(d.Memo.Facts[at])
	if own == nil {
		return nil
	}
	return &candidate{Facts: own, group: d.outgoing(own), at: at, kept: true, wait: wait{since: d.Now, removable: d.Now}}
}

// dearestMoveable are the nodes that are tried, those that cost most first: all their pods may be evicted, and nothing else is in the way.
func (d *Removal) dearestMoveable() []*candidate {
	may := func(st *candidate) bool {
		return d.refusal(st) == nil && d.cools(st) == nil && d.vain(st) == nil && d.forbidden(st) == nil && d.inUseBeyondRequests(st) == nil
	}
	var all, steady []*candidate // of the latter no cycle has more to say than that they are used
	watched := d.Memo.Watched
	for at, n := range d.Snapshot.Nodes {
		isWatched := len(watched) > 0 && watched[0] == at
		if isWatched {
			watched = watched[1:]
		}
		if !d.consolidates(n) {
			continue
		}
		switch st := d.moveable(at); {
		case st == nil:
		case !isWatched:
			steady = append(steady, st)
		case may(st):
			all = append(all, st)
		}
	}
	slices.SortFunc(steady, d.dearestMover)
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
	slices.SortFunc(all, d.dearestMover)
	return all[:min(len(all), mostConsolidated)]
}

// bestSaving is the saving that is worth most beyond what it costs, nil when nothing could be saved at all.
func (d *Removal) bestSaving() *saving {
	nodes := d.dearestMoveable()
	var hosts []scheduling.Handle
	for _, at := range d.hosts() {
		if h, ok := d.Check.Handle(d.Memo.Facts[at].NodeName); ok {
			hosts = append(hosts, h)
		}
	}
	found, tried := make([]*saving, len(nodes)), make([]int, len(nodes))
	try := func(into *Outgoing) {
		var a *annex
		for i, st := range nodes {
			if found[i] != nil || into != nil && (tried[i] == mostReplacements || !replaces(into, st)) {
				continue
			}
			if into != nil {
				tried[i]++
			}
			if a == nil {
				a = d.annex(hosts, into)
			}
			if a.holds(st) {
				found[i] = d.savingOf(st, into)
			}
		}
		if a != nil {
			a.close()
		}
	}
	try(nil)
	for _, g := range d.byPrice() {
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
func (d *Removal) byPrice() []*Outgoing {
	var all []*Outgoing
	for _, g := range d.Snapshot.Groups {
		if to := d.groups[g.ID]; to.Blocked == nil && to.Template != nil && to.PriceUSDPerHour > 0 && d.growth.MostMore(to.Order) > 0 {
			all = append(all, to)
		}
	}
	slices.SortStableFunc(all, func(a, b *Outgoing) int { return cmp.Compare(a.PriceUSDPerHour, b.PriceUSDPerHour) })
	return all
}

// replaces says whether a machine of the group costs less than the node. One of the same size is no replacement.
func replaces(into *Outgoing, st *candidate) bool {
	own := st.group
	return into.PriceUSDPerHour < own.PriceUSDPerHour && into.Size != own.Size
}

// savingOf is what is saved when the node's pods run on others, or on others and one machine of the group.
func (d *Removal) savingOf(st *candidate, into *Outgoing) *saving {
	terms, usd, cost := d.Policy.Removal.Consolidation, st.group.PriceUSDPerHour, float64(len(st.Movers))*d.Policy.Removal.Consolidation.PodUSD
	if into != nil {
		usd, cost = usd-into.PriceUSDPerHour, cost+into.PriceUSDPerHour*d.growth.BootTime().Hours()
	}
	return &saving{st, into, usd, cost, terms.Worth(usd)}
}

// annex makes an annex of these nodes.
func (d *Removal) annex(hosts []scheduling.Handle, more *Outgoing) *annex {
	undo := d.Check.Mark()
	if more != nil {
		hosts = append(slices.Clip(hosts), d.Check.Open(d.growth.Template(more.Incoming, more.NextZone()), "new machine of "+string(more.ID)))
	}
	return &annex{d, d.Check.Destinations(hosts...), undo}
}

// holds says whether all pods of the node fit, as the scheduler's rules and the budgets have it.
func (a *annex) holds(st *candidate) bool {
	for _, p := range st.Consent.Budgeted {
		if a.d.BudgetRefuses(p) != nil {
			return false
		}
	}
	h, _ := a.d.Check.Handle(st.Name())
	defer a.destinations.Back()
	return a.destinations.Leave(h, node.Moving(st.Facts)) == nil
}
