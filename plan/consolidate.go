package plan

import (
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// Consolidation moves pods that run well, only because the same could run for less. It is opt-in, one node at a time, and only when nothing else
// moves: a node whose pods all fit onto others, or onto others and one machine of another size that costs less. What that saves within the
// time for which it is expected to last must be worth more than moving costs. A replacement is bought first; when it is Ready, and the pods
// still fit, the node steps on the ladder as any other.

// Consolidation is what one cycle leaves to the next of a node that could be emptied for a saving.
type Consolidation struct {
	Node    string          `json:"node"`
	Since   time.Time       `json:"since"`              // it has been worth it without a break
	Group   cluster.GroupID `json:"group,omitempty"`    // of its replacement, "" when there needs to be none
	Asked   time.Time       `json:"asked,omitzero"`     // when that was asked for
	Stepped bool            `json:"stepped,omitempty"`  // the node is on the ladder
	Saving  float64         `json:"savingUSDPerHour"`   // what that saves
	Spent   Usage           `json:"spentDay,omitempty"` // nodes of the last day; it stays when the rest is over
}

// Bounds of the search for a saving. Within them the first that pays is taken, and later cycles look again.
const (
	mostConsolidated      = 16 // nodes that are tried, those that cost most first
	mostReplacements      = 4  // groups tried for each, the cheapest first
	leastSaving           = 1e-6
	consolidationEndsLate = 2 // a replacement is given up after so many times the provision time
)

// reserved says whether an idle node is, or may be, the replacement that a consolidation waits for, or has to stay beside it: room that the group's min
// kept when the replacement was asked for counts, and is there no more if it may go once the group is larger by one.
func (d *removing) reserved(n *cluster.Node) bool {
	c := &d.m.Consolidation
	return c.Group != "" && n.Group == c.Group && !c.Asked.IsZero()
}

// came says whether a node may be the replacement that a consolidation waits for.
func (d *removing) came(n *cluster.Node) bool {
	return d.reserved(n) && !n.Object.CreationTimestamp.Time.Before(d.m.Consolidation.Asked.Truncate(time.Second))
}

// replaced says whether a replacement was bought for the node of that name.
func (d *removing) replaced(name string) bool {
	c := &d.m.Consolidation
	return c.Group != "" && !c.Asked.IsZero() && c.Node == name
}

// awaitsReplacement is why such a node stays until then.
func (d *removing) awaitsReplacement() reason.Reason {
	c := d.m.Consolidation
	return reason.New(reason.ConsolidationWaits, reason.Node(c.Node), "group", c.Group, "saving", dollars(c.Saving))
}

// endConsolidation goes on with a consolidation that has begun, before other nodes are promised its replacement.
func (d *removing) endConsolidation() {
	if len(d.allowed.Removal.Consolidation.Groups) == 0 {
		d.m.Consolidation = Consolidation{}
	} else if c := d.m.Consolidation; !c.Asked.IsZero() {
		d.m.Consolidation = d.goOn(c)
	}
}

// beginConsolidation looks for a saving, once all nodes that could go anyway are known.
func (d *removing) beginConsolidation() {
	if c := d.m.Consolidation; len(d.allowed.Removal.Consolidation.Groups) > 0 && c.Asked.IsZero() {
		c.Spent = c.Spent.trimmed(d.now, day)
		d.m.Consolidation = d.findSaving(c)
	}
}

// over is what stays when a consolidation has ended or was given up.
func (c Consolidation) over() Consolidation { return Consolidation{Spent: c.Spent} }

// goOn waits for the replacement, and empties the node when it is there.
func (d *removing) goOn(c Consolidation) Consolidation {
	at := slices.IndexFunc(d.s.Nodes, func(n *cluster.Node) bool { return n.Name() == c.Node })
	if at < 0 || d.now.After(c.Asked.Add(consolidationEndsLate*d.allowed.Growth.Provision)) {
		return c.over()
	}
	st := d.moveable(at)
	_, onLadder := cluster.RemovalOf(d.s.Nodes[at].Object)
	switch {
	case onLadder:
		return c
	case c.Stepped || st == nil || d.refusal(st) != nil || d.forbidden(st) != nil || d.inUseBeyondRequests(st) != nil:
		return c.over()
	}
	if c.Group != "" && !slices.ContainsFunc(d.s.Nodes, func(n *cluster.Node) bool { return d.came(n) && cluster.Ready(n.Object) }) {
		d.judgeNode(st, NodeKeep, d.awaitsReplacement())
		return c
	}
	if d.refuges().leave(st.sight) != nil {
		return c.over()
	}
	if held := d.keptFromLadder(st, cluster.Consolidated, nil); held != nil {
		d.refuge.Back()
		d.judgeNode(st, NodeKeep, held...)
		return c
	}
	d.refuge.settle()
	return d.empty(st, c)
}

// empty puts the node on the ladder.
func (d *removing) empty(st *nodeState, c Consolidation) Consolidation {
	c.Node, c.Stepped = st.Name(), true
	if c.Asked.IsZero() {
		c.Asked, c.Spent = d.now, c.Spent.plus(d.now, day, 1)
	}
	d.drains++
	d.stepOn(st, cluster.Consolidated, reason.New(reason.NodeConsolidated, reason.Node(st.Name()), "pods", len(st.movers), "saving", dollars(c.Saving)))
	return c
}

// saving is a way to run a node's pods for less.
type saving struct {
	st    *nodeState
	into  *removeGroup // that grows by one machine for it, nil when none has to
	usd   float64      // an hour
	cost  float64      // of moving, once
	worth float64
}

// findSaving looks for the first saving that pays, and acts on it when it has been one for as long as a node must be unneeded.
func (d *removing) findSaving(c Consolidation) Consolidation {
	if !d.restful() {
		return c.over()
	}
	best := d.bestSaving()
	if best == nil {
		return c.over()
	}
	st, about := best.st, reason.Node(best.st.Name())
	facts := []any{"saving", dollars(best.usd), "worth", dollars(best.worth), "expected", d.allowed.Removal.Consolidation.Expected,
		"pods", len(st.movers), "cost", dollars(best.cost)}
	if best.worth <= best.cost {
		d.judgeNode(st, NodeKeep, reason.New(reason.ConsolidationTooDear, about, facts...))
		return c.over()
	}
	if most := d.allowed.Removal.Consolidation.PerDay; int(c.Spent.within(d.now, day)) >= most {
		d.wake(c.Spent.eases(d.now, day))
		d.judgeNode(st, NodeKeep, reason.New(reason.ConsolidationSpent, about, "saving", dollars(best.usd), "limit", most))
		return c.over()
	}
	if c.Node != st.Name() {
		c = Consolidation{Node: st.Name(), Since: d.now, Spent: c.Spent}
	}
	c.Saving = best.usd
	into := "others"
	if best.into != nil {
		c.Group = best.into.ID
		into = "others and one machine of group " + string(best.into.ID)
	} else {
		c.Group = ""
	}
	due := c.Since.Add(d.removal(st).Unneeded)
	d.measureSoon(st, due)
	if d.now.Before(due) {
		d.wake(due)
		d.judgeNode(st, NodeIdle, reason.New(reason.ConsolidationPays, about, append(facts, "into", into, "idle", d.now.Sub(c.Since).Truncate(time.Second), "limit", d.removal(st).Unneeded)...))
		return c
	}
	if held := d.keptFromLadder(st, cluster.Consolidated, nil); held != nil {
		d.judgeNode(st, NodeIdle, append(held, reason.New(reason.ConsolidationPays, about, append(facts, "into", into, "idle", d.now.Sub(c.Since).Truncate(time.Second), "limit", d.removal(st).Unneeded)...))...)
		return c
	}
	if best.into == nil {
		return d.empty(st, c)
	}
	c.Asked, c.Spent = d.now, c.Spent.plus(d.now, day, 1)
	d.replace(best)
	return c
}

// replace asks for the machine that takes the node's pods.
func (d *removing) replace(s *saving) {
	g := s.into
	from, name := g.Capacity, s.st.Name()
	d.adopt(g.growGroup, 1)
	why := reason.New(reason.GroupReplaces, reason.Group(string(g.ID)), "from", from, "to", d.believed(g.groupState)+g.adding, "max", g.Max, "node", name, "saving", dollars(s.usd))
	g.because = append(g.because, why)
	d.grows = append(d.grows, SetCapacity{Group: g.ID, From: from, To: d.believed(g.groupState) + g.adding, Adds: 1, Zones: g.zonesAfter(), Because: why})
	d.judgeNode(s.st, NodeKeep, reason.New(reason.ConsolidationWaits, reason.Node(name), "group", g.ID, "saving", dollars(s.usd)))
}

// restful says whether nothing is on its way: no pod waits, no machine comes or goes, no node is on the ladder or
// will be when its time has come, and no node has been promised to the pods of another.
func (d *removing) restful() bool {
	if len(d.s.Pending) > 0 || len(d.ladder) > 0 || len(d.soon) > 0 {
		return false
	}
	for _, g := range d.groups {
		if g.coming > 0 || g.leaving > 0 || g.Deleting() > 0 || g.drying > 0 || g.adding > 0 {
			return false
		}
	}
	return d.refuge == nil || len(d.refuge.took) == 0
}
