package guard

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

func checkGrow(w Grow, e Evidence, allowed *policy.Policy) error {
	if err := checkEvidence(w.Group, e); err != nil {
		return err
	}
	if err := checkServers(w.Group, e, allowed); err != nil {
		return err
	}
	g, about := e.Group, reason.Group(string(w.Group))
	switch live := g.Live(); {
	case g.Capacity < live:
		return refuse("S-02", reason.CapacityBelowMachines, about, "capacity", g.Capacity, "machines", live)
	case w.From != g.Capacity:
		return refuse("S-03", reason.CapacityChanged, about, "capacity", g.Capacity, "planned", w.From)
	case g.Read.Version == "":
		return refuse("S-04", reason.GroupIncomplete, about)
	case w.To <= g.Capacity:
		return refuse("S-05", reason.ScaleUpEmpty, about, "from", g.Capacity, "to", w.To)
	}
	if err := checkMachines(w, e, allowed); err != nil {
		return err
	}
	if err := checkTotals(w, e, allowed.Growth); err != nil {
		return err
	}
	return checkCost(w, e, allowed)
}

// checkCost holds the ceilings of what machines cost an hour.
func checkCost(w Grow, e Evidence, allowed *policy.Policy) error {
	for _, ceiling := range allowed.Ceilings(e.Group) {
		if ceiling.Ceiling.Unit != cluster.CeilingRate {
			continue
		}
		cost := float64(w.To) * e.Group.PriceUSDPerHour
		for _, g := range e.Newest.Groups {
			if g.ID != w.Group && ceiling.Covers(g.ID) {
				cost += float64(max(0, g.Promised())) * g.PriceUSDPerHour
			}
		}
		switch limit, about := ceiling.Ceiling.Limit, reason.Group(string(w.Group)); {
		case e.Group.PriceUSDPerHour <= 0:
			return refuse("S-06", reason.CeilingUnpriced, about, "ceiling", ceiling)
		case cost > limit*(1+1e-9):
			return refuse("S-06", reason.CeilingReached, about, "ceiling", ceiling, "used", fmt.Sprintf("%.2f", cost), "limit", limit)
		}
	}
	return nil
}

// checkTotals holds the limits of the whole cluster: what exists, what other groups still expect, and what this write adds.
func checkTotals(w Grow, e Evidence, limits policy.Growth) error {
	var nodes int
	var milli, bytes int64
	gpus := make([]int64, len(limits.Max.GPUs))
	add := func(n *corev1.Node, count int) {
		nodes += count
		if n != nil {
			milli += int64(count) * n.Status.Capacity.Cpu().MilliValue()
			bytes += int64(count) * n.Status.Capacity.Memory().Value()
			for i, of := range limits.Max.GPUs {
				gpus[i] += int64(count) * cluster.GPUsOf(n, of.Kind)
			}
		}
	}
	joined := map[cluster.GroupID]int{}
	for _, n := range e.Newest.Nodes {
		if n.Parked.UID == "" {
			add(n.Object, 1)
		}
		if n.Instance != nil {
			joined[n.Group]++
		}
	}
	for _, g := range e.Newest.Groups {
		capacity := g.Promised()
		if g.ID == w.Group {
			capacity = w.To
		}
		add(g.Template, max(0, capacity-joined[g.ID]))
	}
	var whole reason.Ref
	switch {
	case limits.Max.Nodes > 0 && nodes > limits.Max.Nodes:
		return refuse("S-06", reason.ClusterNodesLimit, whole, "nodes", nodes, "limit", limits.Max.Nodes)
	case milli > limits.Max.Cores*1000:
		return refuse("S-06", reason.ClusterCoresLimit, whole, "cores", milli/1000, "limit", limits.Max.Cores)
	case bytes > limits.Max.MemoryGiB<<30:
		return refuse("S-06", reason.ClusterMemoryLimit, whole, "memory", bytes>>30, "limit", limits.Max.MemoryGiB)
	}
	for i, of := range limits.Max.GPUs {
		if gpus[i] > of.Max && (e.Group.Template == nil || cluster.GPUsOf(e.Group.Template, of.Kind) > 0) {
			return refuse("S-06", reason.ClusterGPULimit, whole, "kind", of.Kind, "gpus", gpus[i], "limit", of.Max)
		}
	}
	return nil
}

// checkMachines holds a growth that the ledger of machines forbids: of the machines that are made, and of those that are started.
func checkMachines(w Grow, e Evidence, allowed *policy.Policy) error {
	if e.Fleet == nil {
		return refuse("S-02", reason.GroupNotRead, reason.Group(string(w.Group)))
	}
	limits, id := allowed.Fleet(e.Group), fleet.GroupID(w.Group)
	limits.Age = fleet.ReadAge
	starts, makes := e.Group.Split(w.To)
	uids := make([]fleet.UID, len(starts))
	for i, in := range starts {
		uids[i] = fleet.UID(in.UID)
	}
	var r *fleet.Refusal
	if len(starts) > 0 {
		r = e.Fleet.MayStart(id, uids, limits)
	}
	if makes > 0 && r == nil {
		limits.Max -= len(starts)
		r = e.Fleet.MayGrow(id, e.Fleet.Capacity(id)+makes, makes, limits)
	}
	if r != nil {
		for _, in := range starts {
			if fleet.UID(in.UID) == r.UID {
				r.ID = string(in.ID)
			}
		}
		return refuseAs(r, w.Group)
	}
	return nil
}
