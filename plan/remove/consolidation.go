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

// consolidation moves pods to where the same runs for less.
//
// One node at a time; what is remembered is [memory.Consolidation]:
//
//	state    evidence                      next
//	none     Node is ""                    found, when a saving pays and nothing else is on its way
//	found    Node and Since                asked, once it has paid for as long as a node must be unneeded; none when it pays no more
//	asked    Asked, and Group              cordoned, once the replacement is Ready and the pods still fit; none when they do not, or when
//	                                       twice the provision time is over
//	cordoned Stepped                       none, when the node is gone, given back, or after the same time
//
// The node is not touched before its replacement is Ready: one that never joins costs no pod its place (scenario
// consolidation-replacement-fails). A replacement that is not used goes as any idle machine does.
type consolidation struct {
	*cordons
	growth *grow.Growth
	taints *taints
	use    *uses
}

// reserved says whether an idle node is, or may be, the replacement that a consolidation waits for, or has to stay beside it: room that the
// group's min kept when the replacement was asked for counts, and is there no more if it may go once the group is larger by one.
func (cn *consolidation) reserved(n *cluster.Node) bool {
	c := &cn.Memory.Consolidation
	return c.Group != "" && n.Group == c.Group && !c.Asked.IsZero()
}

// came says whether a node may be the replacement that a consolidation waits for.
//
// Kubernetes keeps the creation time of a node in whole seconds, so that Asked is cut to one as well.
func (cn *consolidation) came(n *cluster.Node) bool {
	return cn.reserved(n) && !n.Object.CreationTimestamp.Time.Before(cn.Memory.Consolidation.Asked.Truncate(time.Second))
}

// replaced says whether a replacement was bought for the node of that name.
func (cn *consolidation) replaced(name string) bool {
	c := &cn.Memory.Consolidation
	return c.Group != "" && !c.Asked.IsZero() && c.Node == name
}

// awaitsReplacement is why such a node stays until then.
func (cn *consolidation) awaitsReplacement() reason.Reason {
	c := cn.Memory.Consolidation
	return reason.New(reason.ConsolidationWaits, reason.Node(c.Node), "group", c.Group, "saving", grow.Dollars(c.Saving))
}

// end goes on with a consolidation that has begun, before other nodes are promised its replacement.
func (cn *consolidation) end() {
	if len(cn.Policy.Removal.Consolidation.Groups) == 0 {
		cn.Memory.Consolidation = memory.Consolidation{}
	} else if c := cn.Memory.Consolidation; !c.Asked.IsZero() {
		cn.Memory.Consolidation = cn.goOn(c)
	}
}

// begin looks for a saving, once all nodes that could go anyway are known.
func (cn *consolidation) begin() {
	if c := cn.Memory.Consolidation; len(cn.Policy.Removal.Consolidation.Groups) > 0 && c.Asked.IsZero() {
		c.Spent = c.Spent.Trimmed(cn.Now, memory.Day)
		cn.Memory.Consolidation = cn.findSaving(c)
	}
}

// goOn waits for the replacement, and empties the node when it is there.
//
//	found                                                        does
//	the node is gone, or twice the provision time is over        gives up
//	it is cordoned                                               waits: advance goes on with it
//	it was cordoned, and has been given back                     gives up
//	it may go without a saving, or not at all                    gives up
//	no replacement is Ready                                      waits
//	its pods fit nowhere: others took the replacement            gives up
//	the safety contract (S-19: another node was emptied)         waits
//	none of these                                                cordons it
func (cn *consolidation) goOn(c memory.Consolidation) memory.Consolidation {
	at := slices.IndexFunc(cn.Snapshot.Nodes, func(n *cluster.Node) bool { return n.Name() == c.Node })
	if at < 0 || cn.Now.After(c.Asked.Add(consolidationEndsLate*cn.Policy.Growth.Node.ProvisionTime)) {
		return c.Over()
	}
	st := cn.moveable(at)
	_, leaves := cluster.RemovalOf(cn.Snapshot.Nodes[at].Object)
	switch {
	case leaves:
		return c
	case c.Stepped || st == nil || cn.places.refusal(st) != nil || cn.holds.forbidden(st) != nil || cn.use.inUseBeyondRequests(st) != nil:
		return c.Over()
	}
	if c.Group != "" && !slices.ContainsFunc(cn.Snapshot.Nodes, func(n *cluster.Node) bool { return cn.came(n) && cluster.Ready(n.Object) }) {
		cn.nodes.judge(st, action.NodeKeep, cn.awaitsReplacement())
		return c
	}
	if cn.places.find().leave(st.Facts) != nil {
		return c.Over()
	}
	if held := cn.holds.contract(st, cluster.Consolidated, nil); held != nil {
		cn.places.found.Back()
		cn.nodes.judge(st, action.NodeKeep, held...)
		return c
	}
	cn.places.found.settle()
	return cn.empty(st, c)
}

// empty cordons the node.
func (cn *consolidation) empty(st *candidate, c memory.Consolidation) memory.Consolidation {
	c.Node, c.Stepped = st.Name(), true
	if c.Asked.IsZero() {
		c.Asked, c.Spent = cn.Now, c.Spent.Plus(cn.Now, memory.Day, 1)
	}
	cn.traffic.drain()
	cn.cordon(st, cluster.Consolidated, reason.New(reason.NodeConsolidated, reason.Node(st.Name()), "pods", len(st.Movers), "saving", grow.Dollars(c.Saving)))
	return c
}

// findSaving looks for the first saving that pays, and acts on it when it has been one for as long as a node must be unneeded.
//
//	best saving                                   does               how long it has paid
//	there is none, or something is on its way     nothing            is forgotten
//	it is worth no more than it costs             says so            is forgotten
//	its day is spent (consolidation-day-spent)    waits              is forgotten
//	it is another node's than before              waits              begins now
//	it has paid for less than the node's limit    waits              goes on
//	the safety contract forbids it                waits              goes on
//	it needs no machine more                      cordons the node
//	it needs one                                  asks for it
//
// The last two charge the day's count, also when the saving is given up later.
func (cn *consolidation) findSaving(c memory.Consolidation) memory.Consolidation {
	if !cn.restful() {
		return c.Over()
	}
	best := cn.bestSaving()
	if best == nil {
		return c.Over()
	}
	st, about := best.st, reason.Node(best.st.Name())
	facts := []any{"saving", grow.Dollars(best.usd), "worth", grow.Dollars(best.worth), "expected", cn.Policy.Removal.Consolidation.Expected,
		"pods", len(st.Movers), "cost", grow.Dollars(best.cost)}
	if best.worth <= best.cost {
		cn.nodes.judge(st, action.NodeKeep, reason.New(reason.ConsolidationTooDear, about, facts...))
		return c.Over()
	}
	if most := cn.Policy.Removal.Consolidation.PerDay; int(c.Spent.Within(cn.Now, memory.Day)) >= most {
		cn.Wake(c.Spent.Eases(cn.Now, memory.Day))
		cn.nodes.judge(st, action.NodeKeep, reason.New(reason.ConsolidationSpent, about, "saving", grow.Dollars(best.usd), "limit", most))
		return c.Over()
	}
	if c.Node != st.Name() {
		c = memory.Consolidation{Node: st.Name(), Since: cn.Now, Spent: c.Spent}
	}
	c.Saving = best.usd
	into := "others"
	if best.into != nil {
		c.Group = best.into.ID
		into = "others and one machine of group " + string(best.into.ID)
	} else {
		c.Group = ""
	}
	limit := cn.queue.limitOf(st)
	due := c.Since.Add(limit)
	cn.use.measureSoon(st, due)
	if cn.Now.Before(due) {
		cn.Wake(due)
		cn.nodes.judge(st, action.NodeIdle, reason.New(reason.ConsolidationPays, about, append(facts, "into", into, "idle", cn.Now.Sub(c.Since).Truncate(time.Second), "limit", limit)...))
		return c
	}
	if held := cn.holds.contract(st, cluster.Consolidated, nil); held != nil {
		cn.nodes.judge(st, action.NodeIdle, append(held, reason.New(reason.ConsolidationPays, about, append(facts, "into", into, "idle", cn.Now.Sub(c.Since).Truncate(time.Second), "limit", limit)...))...)
		return c
	}
	if best.into == nil {
		return cn.empty(st, c)
	}
	c.Asked, c.Spent = cn.Now, c.Spent.Plus(cn.Now, memory.Day, 1)
	cn.replace(best)
	return c
}

// replace asks for the machine that takes the node's pods.
func (cn *consolidation) replace(s *saving) {
	g := s.into
	from, name := g.Capacity, s.st.Name()
	cn.growth.Additions.Adopt(g.Order, 1)
	why := reason.New(reason.GroupReplaces, reason.Group(string(g.ID)), "from", from, "to", cn.Believed(g.GroupFacts)+g.Adding, "max", g.Max, "node", name, "saving", grow.Dollars(s.usd))
	g.Grows(why)
	cn.growth.Grows = append(cn.growth.Grows, action.SetCapacity{Group: g.ID, From: from, To: cn.Believed(g.GroupFacts) + g.Adding, Adds: 1, Zones: g.ZonesAfter(), Because: why})
	cn.nodes.judge(s.st, action.NodeKeep, reason.New(reason.ConsolidationWaits, reason.Node(name), "group", g.ID, "saving", grow.Dollars(s.usd)))
}

// restful says whether nothing is on its way: no pod waits, no machine comes or goes, no node is cordoned or will be when its time has
// come. Nor has a node been promised to the pods of another.
func (cn *consolidation) restful() bool {
	if len(cn.Snapshot.Pending) > 0 || len(cn.Steps) > 0 || len(cn.taints.soon) > 0 {
		return false
	}
	for _, g := range cn.nodes.groups {
		if g.Coming > 0 || g.leaving > 0 || g.Deleting() > 0 || g.quiescent > 0 || g.Adding > 0 {
			return false
		}
	}
	return cn.places.found == nil || len(cn.places.found.took) == 0
}
