package plan

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// limit says why the group may not add one machine beyond extra more than it already adds, nil when it may (S-06). total is what
// the cluster has without the extra ones.
func (d *growing) limit(st *growGroup, total totals, extra int) *reason.Reason {
	g := d.allowed.Growth
	about := reason.Group(string(st.ID))
	because := func(r reason.Reason) *reason.Reason { return &r }
	capacity := d.believed(st.groupState) + st.adding + extra
	if capacity >= st.Max {
		st.wanted = true
		return because(reason.New(reason.GroupAtMax, about, "capacity", capacity, "max", st.Max))
	}
	if b := d.m.Groups[st.ID].Backoff; b.Until.After(d.now) && capacity >= b.Ceiling {
		return because(d.backingOff(st.ID, b))
	}
	if why := d.tries(st, extra); why != nil {
		return why
	}
	if g.MaxAtOnce > 0 && st.adding+extra >= g.MaxAtOnce {
		return because(reason.New(reason.GroupAtOnce, about, "machines", st.adding+extra, "limit", g.MaxAtOnce))
	}
	if n, why, until := d.ceilings.Room(st.Group); n <= extra {
		d.wake(until)
		return because(why)
	}
	total.add(st.Template, extra)
	return d.clusterLimit(st, total)
}

// clusterLimit says why a machine of the group would be more than the whole cluster may have beside such a total, nil when it would not.
func (d *growing) clusterLimit(st *growGroup, total totals) *reason.Reason {
	because := func(r reason.Reason) *reason.Reason { return &r }
	g, about := d.allowed.Growth, reason.Group(string(st.ID))
	if d.awaitsReady() {
		return because(reason.New(reason.ClusterNotReady, about))
	}
	if g.MaxNodes > 0 && total.nodes+1 > g.MaxNodes {
		return because(reason.New(reason.ClusterNodesLimit, about, "nodes", total.nodes, "limit", g.MaxNodes))
	}
	has := total
	total.add(st.Template, 1)
	if total.milli > g.MaxCores*1000 {
		return because(reason.New(reason.ClusterCoresLimit, about, "cores", has.milli/1000, "limit", g.MaxCores))
	}
	if total.bytes > g.MaxMemoryGiB<<30 {
		return because(reason.New(reason.ClusterMemoryLimit, about, "memory", has.bytes>>30, "limit", g.MaxMemoryGiB))
	}
	for i, of := range total.kinds {
		if total.gpus[i] > of.Max && total.gpus[i] > has.gpus[i] {
			return because(reason.New(reason.ClusterGPULimit, about, "kind", of.Kind, "gpus", has.gpus[i], "limit", of.Max))
		}
	}
	return nil
}

// awaitsReady says whether nothing grows before a node of the cluster is Ready.
func (d *growing) awaitsReady() bool {
	return d.allowed.Growth.NeedsReady && !slices.ContainsFunc(d.s.Nodes, func(n *cluster.Node) bool { return cluster.Ready(n.Object) })
}

// mostMore is how many machines the group may add by its own limits, beyond what it already adds.
func (d *growing) mostMore(st *growGroup) int {
	if d.awaitsReady() {
		return 0
	}
	n := st.Max - d.believed(st.groupState) - st.adding
	if b := d.m.Groups[st.ID].Backoff; b.Until.After(d.now) {
		n = min(n, b.Ceiling-d.believed(st.groupState)-st.adding)
	}
	if d.m.Groups[st.ID].Breaker.open() {
		n = min(n, 1-st.coming-st.adding)
	}
	if most := d.allowed.Growth.MaxAtOnce; most > 0 {
		n = min(n, most-st.adding)
	}
	room, _, _ := d.ceilings.Room(st.Group)
	return max(0, min(n, room))
}

// totals is what the whole cluster has, with machines that are coming and those that this cycle adds.
type totals struct {
	nodes int
	milli int64 // thousandths of cores
	bytes int64 // of memory
	kinds []policy.GPUTotal
	gpus  []int64 // by kind; never changed
}

// totalsOf is nothing yet, of which GPUs of these kinds are counted.
func totalsOf(kinds []policy.GPUTotal) totals {
	return totals{kinds: kinds, gpus: make([]int64, len(kinds))}
}

func (t *totals) add(n *corev1.Node, count int) {
	t.nodes += count
	if n != nil {
		t.milli += int64(count) * n.Status.Capacity.Cpu().MilliValue()
		t.bytes += int64(count) * n.Status.Capacity.Memory().Value()
		for i, of := range t.kinds {
			if has := cluster.GPUsOf(n, of.Kind); has > 0 {
				t.gpus = slices.Clone(t.gpus)
				t.gpus[i] += int64(count) * has
			}
		}
	}
}

// totals counts as the guard does: nodes, and for every group what its capacity promises beyond its nodes.
func (d *growing) totals() totals {
	if d.has == nil {
		d.has = d.hasNow()
	}
	t := *d.has
	for _, g := range d.s.Groups {
		if st := d.groups[g.ID]; st.adding > 0 {
			t.add(g.Template, st.adding)
		}
	}
	return t
}

// hasNow is what the cluster has without what this cycle adds.
func (d *growing) hasNow() *totals {
	t := totalsOf(d.allowed.Growth.GPUs)
	joined := map[cluster.GroupID]int{}
	for _, n := range d.s.Nodes {
		if n.Parked.UID == "" {
			t.add(n.Object, 1)
		}
		if n.Instance != nil {
			joined[n.Group]++
		}
	}
	for _, g := range d.s.Groups {
		st := d.groups[g.ID]
		t.add(g.Template, max(0, d.believed(st.groupState)-joined[g.ID]))
	}
	return &t
}

// room is what limits over several groups leave, and how much of each one machine uses up: machines, thousandths of cores and bytes of
// memory and GPUs of the whole cluster, then the operator's ceilings over all groups together, in machines or millionths of a dollar.
func (d *growing) room() (limits []int64, uses func(*growGroup) []int64) {
	g, t := d.allowed.Growth, d.totals()
	limits = []int64{unlimited, max(0, g.MaxCores*1000-t.milli), max(0, g.MaxMemoryGiB<<30-t.bytes)}
	if g.MaxNodes > 0 {
		limits[0] = max(0, int64(g.MaxNodes-t.nodes))
	}
	for i, of := range t.kinds {
		limits = append(limits, max(0, of.Max-t.gpus[i]))
	}
	var shared []cluster.Ceiling
	for _, c := range g.Ceilings {
		if c.Group == "" {
			unit := 1e6
			if c.Ceiling.Unit == cluster.CeilingMachines {
				unit = 1
			}
			shared = append(shared, c.Ceiling)
			limits = append(limits, int64(max(0, min(unlimited, math.Floor(unit*d.ceilings.left(c)+1e-9)))))
		}
	}
	return limits, func(st *growGroup) []int64 {
		c := st.Template.Status.Capacity
		uses := []int64{1, c.Cpu().MilliValue(), c.Memory().Value()}
		for _, of := range t.kinds {
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
