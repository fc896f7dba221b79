package plan

import (
	"cmp"
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
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
	day                   = 24 * time.Hour
	mostConsolidated      = 16 // nodes that are tried, those that cost most first
	mostReplacements      = 4  // groups tried for each, the cheapest first
	leastSaving           = 1e-6
	consolidationEndsLate = 2 // a replacement is given up after so many times the provision time
)

// reserved says whether an idle node is, or may be, the replacement that a consolidation waits for.
func (d *decision) reserved(n *cluster.Node) bool {
	c := d.m.Consolidation
	return c.Group != "" && n.Group == c.Group && !c.Asked.IsZero() && !n.Object.CreationTimestamp.Time.Before(c.Asked.Truncate(time.Second))
}

// replaced says whether a replacement was bought for the node.
func (d *decision) replaced(n *cluster.Node) bool {
	c := d.m.Consolidation
	return c.Group != "" && !c.Asked.IsZero() && c.Node == n.Name()
}

// awaitsReplacement is why such a node stays until then.
func (d *decision) awaitsReplacement() reason.Reason {
	c := d.m.Consolidation
	return reason.New(reason.ConsolidationWaits, reason.Node(c.Node), "group", c.Group, "saving", dollars(c.Saving))
}

// endConsolidation goes on with a consolidation that has begun, before other nodes are promised its replacement.
func (d *decision) endConsolidation() {
	if len(d.allowed.Removal.Consolidation.Groups) == 0 {
		d.m.Consolidation = Consolidation{}
	} else if c := d.m.Consolidation; !c.Asked.IsZero() {
		d.m.Consolidation = d.goOn(c)
	}
}

// beginConsolidation looks for a saving, once all nodes that could go anyway are known.
func (d *decision) beginConsolidation() {
	if c := d.m.Consolidation; len(d.allowed.Removal.Consolidation.Groups) > 0 && c.Asked.IsZero() {
		c.Spent = c.Spent.trimmed(d.now, day)
		d.m.Consolidation = d.findSaving(c)
	}
}

// over is what stays when a consolidation has ended or was given up.
func (c Consolidation) over() Consolidation { return Consolidation{Spent: c.Spent} }

// goOn waits for the replacement, and empties the node when it is there.
func (d *decision) goOn(c Consolidation) Consolidation {
	at := slices.IndexFunc(d.s.Nodes, func(n *cluster.Node) bool { return n.Name() == c.Node })
	if at < 0 || d.now.After(c.Asked.Add(consolidationEndsLate*d.allowed.Growth.Provision)) {
		return c.over()
	}
	st := d.moveable(at)
	_, onLadder := cluster.RemovalOf(d.s.Nodes[at].Object)
	switch {
	case onLadder:
		return c
	case c.Stepped || st == nil || d.refusal(st) != nil || d.forbidden(st) != nil:
		return c.over()
	}
	if c.Group != "" && !slices.ContainsFunc(d.s.Nodes, func(n *cluster.Node) bool { return d.reserved(n) && cluster.Ready(n.Object) }) {
		d.judgeNode(st, NodeKeep, d.awaitsReplacement())
		return c
	}
	if d.refuges().leave(st.sight) != nil {
		return c.over()
	}
	if spent := d.spent(st); spent != nil {
		d.refuge.back()
		d.judgeNode(st, NodeKeep, *spent)
		return c
	}
	d.refuge.settle()
	return d.empty(st, c)
}

// empty puts the node on the ladder.
func (d *decision) empty(st *nodeState, c Consolidation) Consolidation {
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
	into  *groupState // that grows by one machine for it, nil when none has to
	usd   float64     // an hour
	cost  float64     // of moving, once
	worth float64
}

// findSaving looks for the first saving that pays, and acts on it when it has been one for as long as a node must be unneeded.
func (d *decision) findSaving(c Consolidation) Consolidation {
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
	if due := c.Since.Add(d.removal(st).Unneeded); d.now.Before(due) {
		d.wake(due)
		d.judgeNode(st, NodeIdle, reason.New(reason.ConsolidationPays, about, append(facts, "into", into, "idle", d.now.Sub(c.Since).Truncate(time.Second), "limit", d.removal(st).Unneeded)...))
		return c
	}
	if spent := d.spent(st); spent != nil {
		d.judgeNode(st, NodeIdle, append([]reason.Reason{*spent}, reason.New(reason.ConsolidationPays, about, append(facts, "into", into, "idle", d.now.Sub(c.Since).Truncate(time.Second), "limit", d.removal(st).Unneeded)...))...)
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
func (d *decision) replace(s *saving) {
	g := s.into
	from, name := g.Capacity, s.st.Name()
	d.adopt(g, 1)
	why := reason.New(reason.GroupReplaces, reason.Group(string(g.ID)), "from", from, "to", d.believed(g)+g.adding, "max", g.Max, "node", name, "saving", dollars(s.usd))
	g.because = append(g.because, why)
	d.grows = append(d.grows, SetCapacity{Group: g.ID, From: from, To: d.believed(g) + g.adding, Adds: 1, Zones: g.zonesAfter(), Because: why})
	d.judgeNode(s.st, NodeKeep, reason.New(reason.ConsolidationWaits, reason.Node(name), "group", g.ID, "saving", dollars(s.usd)))
}

// restful says whether nothing is on its way: no pod waits, no machine comes or goes, no node is on the ladder or
// will be when its time has come.
func (d *decision) restful() bool {
	if len(d.s.Pending) > 0 || len(d.grows) > 0 || len(d.ladder) > 0 || d.unhealthy != nil || d.inFlight > 0 || len(d.soon) > 0 {
		return false
	}
	for _, g := range d.groups {
		if g.coming > 0 || g.leaving > 0 || g.deleting > 0 || g.drying > 0 || g.adding > 0 {
			return false
		}
	}
	return true
}

// bestSaving is the saving that is worth most beyond what it costs, nil when nothing could be saved at all.
func (d *decision) bestSaving() *saving {
	var nodes []*nodeState
	for at, n := range d.s.Nodes {
		if g := d.groups[n.Group]; g == nil || g.PriceUSDPerHour <= 0 || !d.allowed.Removal.Consolidation.Of(n.Group) {
			continue
		}
		if st := d.moveable(at); st != nil && d.refusal(st) == nil && d.cools(st) == nil && d.forbidden(st) == nil {
			nodes = append(nodes, st)
		}
	}
	price := func(st *nodeState) float64 { return d.groups[st.Group].PriceUSDPerHour }
	slices.SortStableFunc(nodes, func(a, b *nodeState) int {
		return cmp.Or(cmp.Compare(price(b), price(a)), cmp.Compare(len(a.movers), len(b.movers)))
	})
	var best *saving
	for _, st := range nodes[:min(len(nodes), mostConsolidated)] {
		if s := d.saving(st); s != nil && (best == nil || s.worth-s.cost > best.worth-best.cost+leastSaving) {
			best = s
		}
	}
	return best
}

// saving is how the node's pods could run for less, nil when they could not. A machine of the same size is no replacement.
func (d *decision) saving(st *nodeState) *saving {
	terms, own := d.allowed.Removal.Consolidation, d.groups[st.Group]
	saves := func(into *groupState, usd, cost float64) *saving {
		return &saving{st, into, usd, cost + float64(len(st.movers))*terms.PodUSD, terms.Worth(usd)}
	}
	if d.fitsOn(st, nil) {
		return saves(nil, own.PriceUSDPerHour, 0)
	}
	var cheaper []*groupState
	for _, g := range d.s.Groups {
		if to := d.groups[g.ID]; to.blocked == nil && to.Template != nil && to.PriceUSDPerHour > 0 && to.PriceUSDPerHour < own.PriceUSDPerHour &&
			to.Size != own.Size && d.mostMore(to) > 0 {
			cheaper = append(cheaper, to)
		}
	}
	slices.SortStableFunc(cheaper, func(a, b *groupState) int { return cmp.Compare(a.PriceUSDPerHour, b.PriceUSDPerHour) })
	for _, to := range cheaper[:min(len(cheaper), mostReplacements)] {
		if d.fitsOn(st, to) {
			return saves(to, own.PriceUSDPerHour-to.PriceUSDPerHour, to.PriceUSDPerHour*d.bootTime().Hours())
		}
	}
	return nil
}

// moveable is a node that works and that the ladder has no use for, with the pods that would have to leave it; nil for any other.
func (d *decision) moveable(at int) *nodeState {
	if st := d.states[at]; st != nil {
		if st.kept && !st.going && !st.onLadder && st.takes && len(st.movers) > 0 {
			return st
		}
		return nil
	}
	v := d.planner.sights[at]
	if !v.takes || v.onLadder || v.passing || v.Instance == nil || len(v.verdict.Because) == 0 || v.verdict.Because[0].Code != reason.NodeBusy {
		return nil
	}
	own := *v
	own.movers, own.loss, own.consent = nil, loss{}, consent{}
	for _, p := range v.Pods {
		if !p.Daemon() {
			own.movers = append(own.movers, p)
		}
	}
	if len(own.movers) == 0 || slices.ContainsFunc(own.movers, (*cluster.Pod).Leaving) {
		return nil
	}
	return &nodeState{sight: &own, at: at, kept: true, since: d.now, removable: d.now}
}

// fitsOn says whether all pods of the node fit on other nodes that stay, and on one more machine of a group where that is given, as the
// scheduler's rules and the budgets have it.
func (d *decision) fitsOn(st *nodeState, more *groupState) bool {
	for _, p := range st.consent.budgeted {
		if d.budgetRefuses(p) != nil {
			return false
		}
	}
	var hosts []*sight
	for at, v := range d.planner.sights {
		if other := d.states[at]; v.takes && v.Node != st.Node && (other == nil || !other.going && !other.onLadder && (len(other.movers) > 0 || other.pinned)) {
			hosts = append(hosts, v)
		}
	}
	d.hosts(hosts)
	undo := d.check.Mark()
	defer undo()
	var handles []scheduling.Handle
	for _, v := range hosts {
		if h, ok := d.check.Handle(v.Name()); ok {
			handles = append(handles, h)
		}
	}
	if more != nil {
		handles = append(handles, d.check.Open(d.template(more, more.nextZone()), "instead of "+st.Name()))
	}
	h, _ := d.check.Handle(st.Name())
	r := d.check.Refuge(handles...)
	fits := r.Leave(h, st.movers) == nil
	r.Back()
	return fits
}
