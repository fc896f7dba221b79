package grow

import (
	"math"
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
)

// Limits say by how much a group may grow.
type Limits struct {
	*Orders
	has      *Totals // what the cluster has without what this cycle adds, once somebody has asked
	ceilings *Ceilings
}

// limit says why the group may not add one machine beyond extra more than it already adds, nil when it may (S-06). total is what
// the cluster has without the extra ones.
func (lm *Limits) limit(st *Order, total Totals, extra int) *reason.Reason {
	g := lm.Policy.Growth
	about := reason.Group(string(st.ID))
	because := func(r reason.Reason) *reason.Reason { return &r }
	capacity := lm.Believed(st.GroupFacts) + st.Adding + extra
	if capacity >= st.Max {
		st.want()
		return because(reason.New(reason.GroupAtMax, about, "capacity", capacity, "max", st.Max))
	}
	if b := lm.Memory.Groups[st.ID].Backoff; b.Until.After(lm.Now) && capacity >= b.Ceiling {
		return because(lm.backingOff(st.ID, b))
	}
	if why := lm.tries(st, extra); why != nil {
		return why
	}
	if g.Max.AtOnce > 0 && st.Adding+extra >= g.Max.AtOnce {
		return because(reason.New(reason.GroupAtOnce, about, "machines", st.Adding+extra, "limit", g.Max.AtOnce))
	}
	if n, why, until := lm.ceilings.Room(st.Group); n <= extra {
		lm.Wake(until)
		return because(why)
	}
	total.Add(st.Template, extra)
	return lm.clusterLimit(st, total)
}

// backingOff says until when and why a group does not grow, or not beyond what is left of a quota.
func (lm *Limits) backingOff(id cluster.GroupID, b memory.Backoff) reason.Reason {
	lm.Wake(b.Until)
	return reason.New(reason.GroupBackoff, reason.Group(string(id)), "until", b.Until.Format(time.RFC3339), "code", b.Code, "message", b.Message)
}

// tries says that the group gets one machine at a time and has it, with extra ones beyond those that it adds; nil when it may have one
// more.
func (lm *Limits) tries(st *Order, extra int) *reason.Reason {
	if b := lm.Memory.Groups[st.ID].Breaker; !b.Open() || st.Coming+st.Adding+extra < 1 {
		return nil
	}
	return new(Broken(st.ID))
}

// clusterLimit says why a machine of the group would be more than the whole cluster may have beside such a total, nil when it would not.
func (lm *Limits) clusterLimit(st *Order, total Totals) *reason.Reason {
	because := func(r reason.Reason) *reason.Reason { return &r }
	g, about := lm.Policy.Growth, reason.Group(string(st.ID))
	if lm.awaitsReady() {
		return because(reason.New(reason.ClusterNotReady, about))
	}
	if g.Max.Nodes > 0 && total.nodes+1 > g.Max.Nodes {
		return because(reason.New(reason.ClusterNodesLimit, about, "nodes", total.nodes, "limit", g.Max.Nodes))
	}
	has := total
	total.Add(st.Template, 1)
	if total.Milli > g.Max.Cores*1000 {
		return because(reason.New(reason.ClusterCoresLimit, about, "cores", has.Milli/1000, "limit", g.Max.Cores))
	}
	if total.Bytes > g.Max.MemoryGiB<<30 {
		return because(reason.New(reason.ClusterMemoryLimit, about, "memory", has.Bytes>>30, "limit", g.Max.MemoryGiB))
	}
	for i, of := range total.Kinds {
		if total.Gpus[i] > of.Max && total.Gpus[i] > has.Gpus[i] {
			return because(reason.New(reason.ClusterGPULimit, about, "kind", of.Kind, "gpus", has.Gpus[i], "limit", of.Max))
		}
	}
	return nil
}

// awaitsReady says whether nothing grows before a node of the cluster is Ready.
func (lm *Limits) awaitsReady() bool {
	return lm.Policy.Growth.NeedsReady && !slices.ContainsFunc(lm.Snapshot.Nodes, func(n *cluster.Node) bool { return cluster.Ready(n.Object) })
}

// MostMore is how many machines the group may add by its own limits, beyond what it already adds.
func (lm *Limits) MostMore(st *Order) int {
	if lm.awaitsReady() {
		return 0
	}
	n := st.Max - lm.Believed(st.GroupFacts) - st.Adding
	if b := lm.Memory.Groups[st.ID].Backoff; b.Until.After(lm.Now) {
		n = min(n, b.Ceiling-lm.Believed(st.GroupFacts)-st.Adding)
	}
	if lm.Memory.Groups[st.ID].Breaker.Open() {
		n = min(n, 1-st.Coming-st.Adding)
	}
	if most := lm.Policy.Growth.Max.AtOnce; most > 0 {
		n = min(n, most-st.Adding)
	}
	room, _, _ := lm.ceilings.Room(st.Group)
	return max(0, min(n, room))
}

// totals counts as the guard does: nodes, and for every group what its capacity promises beyond its nodes.
func (lm *Limits) totals() Totals {
	if lm.has == nil {
		lm.has = lm.hasNow()
	}
	t := *lm.has
	for _, g := range lm.Snapshot.Groups {
		if st := lm.Groups[g.ID]; st.Adding > 0 {
			t.Add(g.Template, st.Adding)
		}
	}
	return t
}

// hasNow is what the cluster has without what this cycle adds.
func (lm *Limits) hasNow() *Totals {
	t := TotalsOf(lm.Policy.Growth.Max.GPUs)
	joined := map[cluster.GroupID]int{}
	for _, n := range lm.Snapshot.Nodes {
		if n.Parked.UID == "" {
			t.Add(n.Object, 1)
		}
		if n.Instance != nil {
			joined[n.Group]++
		}
	}
	for _, g := range lm.Snapshot.Groups {
		st := lm.Groups[g.ID]
		t.Add(g.Template, max(0, lm.Believed(st.GroupFacts)-joined[g.ID]))
	}
	return &t
}

// room is what limits over several groups leave, and how much of each one machine uses up: machines, thousandths of cores and bytes of
// memory and GPUs of the whole cluster, then the operator's ceilings over all groups together, in machines or millionths of a dollar.
func (lm *Limits) room() (limits []int64, uses func(*Order) []int64) {
	g, t := lm.Policy.Growth, lm.totals()
	limits = []int64{unlimited, max(0, g.Max.Cores*1000-t.Milli), max(0, g.Max.MemoryGiB<<30-t.Bytes)}
	if g.Max.Nodes > 0 {
		limits[0] = max(0, int64(g.Max.Nodes-t.nodes))
	}
	for i, of := range t.Kinds {
		limits = append(limits, max(0, of.Max-t.Gpus[i]))
	}
	var shared []cluster.Ceiling
	for _, c := range g.Ceilings {
		if c.Group == "" {
			unit := 1e6
			if c.Ceiling.Unit == cluster.CeilingMachines {
				unit = 1
			}
			shared = append(shared, c.Ceiling)
			limits = append(limits, int64(max(0, min(unlimited, math.Floor(unit*lm.ceilings.left(c)+1e-9)))))
		}
	}
	return limits, func(st *Order) []int64 {
		c := st.Template.Status.Capacity
		uses := []int64{1, c.Cpu().MilliValue(), c.Memory().Value()}
		for _, of := range t.Kinds {
			uses = append(uses, cluster.GPUsOf(st.Template, of.Kind))
		}
		for _, c := range shared {
			if c.Unit == cluster.CeilingMachines {
				uses = append(uses, 1)
			} else {
				uses = append(uses, int64(math.Ceil(st.PriceUSDPerHour*1e6)))
			}
		}
		return uses
	}
}

// unlimited is more than any cluster has.
const unlimited = 1 << 60

// asFarAs is how many of so many machines the group may add, with the limit that forbids more, nil when it may add all.
func (lm *Limits) asFarAs(st *Order, machines int) (int, *reason.Reason) {
	total := lm.totals()
	defer st.Unasked()()
	for n := range machines {
		if limit := lm.limit(st, total, n); limit != nil {
			return n, limit
		}
	}
	return machines, nil
}
