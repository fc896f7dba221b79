package remove

import (
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/grow"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
)

// Bounds of the search for a saving. Within them the first that pays is taken, and later cycles look again.
const (
	mostConsolidated      = 16 // nodes that are tried, those that cost most first
	mostReplacements      = 4  // groups tried for each, the cheapest first
	leastSaving           = 1e-6
	consolidationEndsLate = 2 // a replacement is given up after so many times the provision time
)

// reserved says whether an idle node is, or may be, the replacement that a consolidation waits for, or has to stay beside it: room that the group's min
// kept when the replacement was asked for counts, and is there no more if it may go once the group is larger by one.
func (d *Removal) reserved(n *cluster.Node) bool {
	c := &d.Memory.Consolidation
	return c.Group != "" && n.Group == c.Group && !c.Asked.IsZero()
}

// came says whether a node may be the replacement that a consolidation waits for.
func (d *Removal) came(n *cluster.Node) bool {
	return d.reserved(n) && !n.Object.CreationTimestamp.Time.Before(d.Memory.Consolidation.Asked.Truncate(time.Second))
}

// replaced says whether a replacement was bought for the node of that name.
func (d *Removal) replaced(name string) bool {
	c := &d.Memory.Consolidation
	return c.Group != "" && !c.Asked.IsZero() && c.Node == name
}

// awaitsReplacement is why such a node stays until then.
func (d *Removal) awaitsReplacement() reason.Reason {
	c := d.Memory.Consolidation
	return reason.New(reason.ConsolidationWaits, reason.Node(c.Node), "group", c.Group, "saving", grow.Dollars(c.Saving))
}

// endConsolidation goes on with a consolidation that has begun, before other nodes are promised its replacement.
func (d *Removal) endConsolidation() {
	if len(d.Policy.Removal.Consolidation.Groups) == 0 {
		d.Memory.Consolidation = memory.Consolidation{}
	} else if c := d.Memory.Consolidation; !c.Asked.IsZero() {
		d.Memory.Consolidation = d.goOn(c)
	}
}

// beginConsolidation looks for a saving, once all nodes that could go anyway are known.
func (d *Removal) beginConsolidation() {
	if c := d.Memory.Consolidation; len(d.Policy.Removal.Consolidation.Groups) > 0 && c.Asked.IsZero() {
		c.Spent = c.Spent.Trimmed(d.Now, memory.Day)
		d.Memory.Consolidation = d.findSaving(c)
	}
}

// goOn waits for the replacement, and empties the node when it is there.
func (d *Removal) goOn(c memory.Consolidation) memory.Consolidation {
	at := slices.IndexFunc(d.Snapshot.Nodes, func(n *cluster.Node) bool { return n.Name() == c.Node })
	if at < 0 || d.Now.After(c.Asked.Add(consolidationEndsLate*d.Policy.Growth.Node.ProvisionTime)) {
		return c.Over()
	}
	st := d.moveable(at)
	_, onLadder := cluster.RemovalOf(d.Snapshot.Nodes[at].Object)
	switch {
	case onLadder:
		return c
	case c.Stepped || st == nil || d.refusal(st) != nil || d.forbidden(st) != nil || d.inUseBeyondRequests(st) != nil:
		return c.Over()
	}
	if c.Group != "" && !slices.ContainsFunc(d.Snapshot.Nodes, func(n *cluster.Node) bool { return d.came(n) && cluster.Ready(n.Object) }) {
		d.judgeNode(st, action.NodeKeep, d.awaitsReplacement())
		return c
	}
	if d.findDestinations().leave(st.Facts) != nil {
		return c.Over()
	}
	if held := d.keptFromLadder(st, cluster.Consolidated, nil); held != nil {
		d.destinations.Back()
		d.judgeNode(st, action.NodeKeep, held...)
		return c
	}
	d.destinations.settle()
	return d.empty(st, c)
}

// empty puts the node on the ladder.
func (d *Removal) empty(st *candidate, c memory.Consolidation) memory.Consolidation {
	c.Node, c.Stepped = st.Name(), true
	if c.Asked.IsZero() {
		c.Asked, c.Spent = d.Now, c.Spent.Plus(d.Now, memory.Day, 1)
	}
	d.drains++
	d.stepOn(st, cluster.Consolidated, reason.New(reason.NodeConsolidated, reason.Node(st.Name()), "pods", len(st.Movers), "saving", grow.Dollars(c.Saving)))
	return c
}

// findSaving looks for the first saving that pays, and acts on it when it has been one for as long as a node must be unneeded.
func (d *Removal) findSaving(c memory.Consolidation) memory.Consolidation {
	if !d.restful() {
		return c.Over()
	}
	best := d.bestSaving()
	if best == nil {
		return c.Over()
	}
	st, about := best.st, reason.Node(best.st.Name())
	facts := []any{"saving", grow.Dollars(best.usd), "worth", grow.Dollars(best.worth), "expected", d.Policy.Removal.Consolidation.Expected,
		"pods", len(st.Movers), "cost", grow.Dollars(best.cost)}
	if best.worth <= best.cost {
		d.judgeNode(st, action.NodeKeep, reason.New(reason.ConsolidationTooDear, about, facts...))
		return c.Over()
	}
	if most := d.Policy.Removal.Consolidation.PerDay; int(c.Spent.Within(d.Now, memory.Day)) >= most {
		d.Wake(c.Spent.Eases(d.Now, memory.Day))
		d.judgeNode(st, action.NodeKeep, reason.New(reason.ConsolidationSpent, about, "saving", grow.Dollars(best.usd), "limit", most))
		return c.Over()
	}
	if c.Node != st.Name() {
		c = memory.Consolidation{Node: st.Name(), Since: d.Now, Spent: c.Spent}
	}
	c.Saving = best.usd
	into := "others"
	if best.into != nil {
		c.Group = best.into.ID
		into = "others and one machine of group " + string(best.into.ID)
	} else {
		c.Group = ""
	}
	due := c.Since.Add(d.removal(st).UnneededTime)
	d.measureSoon(st, due)
	if d.Now.Before(due) {
		d.Wake(due)
		d.judgeNode(st, action.NodeIdle, reason.New(reason.ConsolidationPays, about, append(facts, "into", into, "idle", d.Now.Sub(c.Since).Truncate(time.Second), "limit", d.removal(st).UnneededTime)...))
		return c
	}
	if held := d.keptFromLadder(st, cluster.Consolidated, nil); held != nil {
		d.judgeNode(st, action.NodeIdle, append(held, reason.New(reason.ConsolidationPays, about, append(facts, "into", into, "idle", d.Now.Sub(c.Since).Truncate(time.Second), "limit", d.removal(st).UnneededTime)...))...)
		return c
	}
	if best.into == nil {
		return d.empty(st, c)
	}
	c.Asked, c.Spent = d.Now, c.Spent.Plus(d.Now, memory.Day, 1)
	d.replace(best)
	return c
}

// replace asks for the machine that takes the node's pods.
func (d *Removal) replace(s *saving) {
	g := s.into
	from, name := g.Capacity, s.st.Name()
	d.growth.Adopt(g.Order, 1)
	why := reason.New(reason.GroupReplaces, reason.Group(string(g.ID)), "from", from, "to", d.Believed(g.GroupFacts)+g.Adding, "max", g.Max, "node", name, "saving", grow.Dollars(s.usd))
	g.Because = append(g.Because, why)
	d.growth.Grows = append(d.growth.Grows, action.SetCapacity{Group: g.ID, From: from, To: d.Believed(g.GroupFacts) + g.Adding, Adds: 1, Zones: g.ZonesAfter(), Because: why})
	d.judgeNode(s.st, action.NodeKeep, reason.New(reason.ConsolidationWaits, reason.Node(name), "group", g.ID, "saving", grow.Dollars(s.usd)))
}

// restful says whether nothing is on its way: no pod waits, no machine comes or goes, no node is on the ladder or
// will be when its time has come, and no node has been promised to the pods of another.
func (d *Removal) restful() bool {
	if len(d.Snapshot.Pending) > 0 || len(d.Ladder) > 0 || len(d.soon) > 0 {
		return false
	}
	for _, g := range d.groups {
		if g.Coming > 0 || g.leaving > 0 || g.Deleting() > 0 || g.drying > 0 || g.Adding > 0 {
			return false
		}
	}
	return d.destinations == nil || len(d.destinations.took) == 0
}
