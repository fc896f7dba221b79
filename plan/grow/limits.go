package grow

import (
	"math"
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
)

// Limits say by how much a group may grow (S-06). There are two kinds:
//
//	limits                where                                                         asked by
//	of one group          bounds                                                        limit, MostMore
//	of the whole cluster  clusterLimit, for one machine; room, for the packing problem  limit; Joint
//
// The guard counts the same before a write is sent, on evidence of its own. ceilings is nil until [Growth.Begin].
type Limits struct {
	*Orders
	has      *Totals // what the cluster has without what this cycle adds, once somebody has asked
	ceilings *Ceilings
}

// bounds are the limits of a group's own, in the order in which they are asked; the first that is reached is told. A new limit of a group
// is a row here. A row that is not in force leaves unlimited machines. more may be negative, when the group has more than the limit allows.
//
// They count from what the group adds already, not from [place.Incoming.Opened]: whoever asks may have opened machines on trial, which are among
// the extra ones.
var bounds = []struct {
	rule string
	more func(lm *Limits, st *Order) int                      // how many machines the group may add beyond those that it already adds
	why  func(lm *Limits, st *Order, extra int) reason.Reason // why no more than extra ones
}{
	{"its max", func(lm *Limits, st *Order) int { return st.Max - lm.capacity(st) }, func(lm *Limits, st *Order, extra int) reason.Reason {
		st.want()
		return reason.New(reason.GroupAtMax, reason.Group(string(st.ID)), "capacity", lm.capacity(st)+extra, "max", st.Max)
	}},
	{"what a backoff leaves of a quota", func(lm *Limits, st *Order) int {
		b := lm.Memory.Groups[st.ID].Backoff
		return when(b.Until.After(lm.Now), b.Ceiling-lm.capacity(st))
	}, func(lm *Limits, st *Order, _ int) reason.Reason {
		return lm.backingOff(st.ID, lm.Memory.Groups[st.ID].Backoff)
	}},
	{"one at a time, while machines do not join", func(lm *Limits, st *Order) int {
		return when(lm.Memory.Groups[st.ID].Breaker.Open(), 1-st.Coming-st.Adding)
	}, func(_ *Limits, st *Order, _ int) reason.Reason { return Broken(st.ID) }},
	{"the most at once", func(lm *Limits, st *Order) int {
		most := lm.Policy.Growth.Max.AtOnce
		return when(most > 0, most-st.Adding)
	}, func(lm *Limits, st *Order, extra int) reason.Reason {
		return reason.New(reason.GroupAtOnce, reason.Group(string(st.ID)), "machines", st.Adding+extra, "limit", lm.Policy.Growth.Max.AtOnce)
	}},
	{"ceilings", func(lm *Limits, st *Order) int {
		n, _, _ := lm.ceilings.Room(st.Group)
		return n
	}, func(lm *Limits, st *Order, _ int) reason.Reason {
		_, why, until := lm.ceilings.Room(st.Group)
		lm.Wake(until)
		return why
	}},
	{"a Ready node of the cluster", func(lm *Limits, _ *Order) int { return when(lm.awaitsReady(), 0) }, func(_ *Limits, st *Order, _ int) reason.Reason {
		return reason.New(reason.ClusterNotReady, reason.Group(string(st.ID)))
	}},
}

// when is the number where a bound is in force.
func when(inForce bool, n int) int {
	if inForce {
		return n
	}
	return math.MaxInt
}

// capacity is what the group has, was asked for, and adds in this cycle, in machines. What was asked for counts while no answer or no list
// shows it yet (scenario growth-unanswered-counts).
func (lm *Limits) capacity(st *Order) int { return lm.Believed(st.GroupFacts) + st.Adding }

// limit says why the group may not add one machine beyond extra more than it already adds, nil when it may (S-06). total is what the
// cluster has without the extra ones. The first limit that is reached is told. At the max it notes that the group is wanted;
// [Order.Unasked] takes that back where no pod asks.
func (lm *Limits) limit(st *Order, total Totals, extra int) *reason.Reason {
	for _, b := range bounds {
		if b.more(lm, st) <= extra {
			return new(b.why(lm, st, extra))
		}
	}
	total.Add(st.Template, extra)
	return lm.clusterLimit(st, total)
}

// May says whether the group may add a machine now, by its own limits and those of the whole cluster.
func (lm *Limits) May(st *Order) bool {
	defer st.Unasked()()
	return lm.limit(st, lm.totals(), 0) == nil
}

// MostMore is how many machines the group may add by its own limits, beyond what it already adds. Limits of the whole cluster are not
// asked.
func (lm *Limits) MostMore(st *Order) int {
	n := math.MaxInt
	for _, b := range bounds {
		n = min(n, b.more(lm, st))
	}
	return max(0, n)
}

// backingOff says until when and why a group does not grow, or not beyond what is left of a quota.
func (lm *Limits) backingOff(id cluster.GroupID, b memory.Backoff) reason.Reason {
	lm.Wake(b.Until)
	return reason.New(reason.GroupBackoff, reason.Group(string(id)), "until", b.Until.Format(time.RFC3339), "code", b.Code, "message", b.Message)
}

// awaitsReady says whether nothing grows before a node of the cluster is Ready.
func (lm *Limits) awaitsReady() bool {
	return lm.Policy.Growth.NeedsReady && !slices.ContainsFunc(lm.Snapshot.Nodes, func(n *cluster.Node) bool { return cluster.Ready(n.Object) })
}

// clusterLimit says why one more machine of the group, beside such a total, would be more than the whole cluster may have; nil when it
// would not. Nodes that nobody manages count as well (scenario limits-count-foreign-nodes).
//
//	limit           0 means                                           a machine that adds none of it
//	nodes           no limit                                          there is none
//	cores, memory   none may be added (scenario cores-total-of-none)  is refused too while the total is above the limit
//	GPUs of a kind  none may be added                                 may be added
func (lm *Limits) clusterLimit(st *Order, total Totals) *reason.Reason {
	g, about := lm.Policy.Growth, reason.Group(string(st.ID))
	if g.Max.Nodes > 0 && total.nodes+1 > g.Max.Nodes {
		return new(reason.New(reason.ClusterNodesLimit, about, "nodes", total.nodes, "limit", g.Max.Nodes))
	}
	has := total
	total.Add(st.Template, 1)
	if total.Milli > g.Max.Cores*1000 {
		return new(reason.New(reason.ClusterCoresLimit, about, "cores", has.Milli/1000, "limit", g.Max.Cores))
	}
	if total.Bytes > g.Max.MemoryGiB<<30 {
		return new(reason.New(reason.ClusterMemoryLimit, about, "memory", has.Bytes>>30, "limit", g.Max.MemoryGiB))
	}
	for i, of := range total.Kinds {
		if total.Gpus[i] > of.Max && total.Gpus[i] > has.Gpus[i] {
			return new(reason.New(reason.ClusterGPULimit, about, "kind", of.Kind, "gpus", has.Gpus[i], "limit", of.Max))
		}
	}
	return nil
}

// totals is what the cluster has, with what this cycle adds. It counts as the guard does: nodes, and for every group what its capacity
// promises beyond its nodes. Nodes of parked machines do not count. What was there before the cycle is counted once.
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

// room is what limits over several groups leave, and how much of each one machine uses up, in the same order:
//
//	limit                          unit
//	nodes of the cluster           machines
//	cores                          thousandths of cores
//	memory                         bytes
//	GPUs, one limit for each kind  GPUs
//	ceilings over all groups       machines, or millionths of a dollar
//
// Of ceilings, what is left is rounded down and what a machine uses is rounded up: the problem never allows more than they do. Ceilings of
// one group are part of MostMore.
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

// asFarAs is how many of so many machines the group may add, with the limit that forbids more, nil when it may add all. No pod asks for
// these, so a group at its max is not noted as wanted. It adds nothing: the caller does.
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
