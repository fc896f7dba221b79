package guard

import (
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/policy"
)

func checkGrow(w Grow, e Evidence, allowed *policy.Policy) error {
	if err := checkEvidence(w.Group, e); err != nil {
		return err
	}
	if err := checkServers(w.Group, e, allowed); err != nil {
		return err
	}
	g := e.Group
	switch live := g.Live(); {
	case g.Capacity < live:
		return refuse("S-02", "group %s says capacity %d but lists %d live machines", g.ID, g.Capacity, live)
	case w.From != g.Capacity:
		return refuse("S-03", "the decision rests on capacity %d of group %s, the cloud says %d", w.From, g.ID, g.Capacity)
	case g.Read.Version == "":
		return refuse("S-04", "the read of group %s has no version to send with the write", g.ID)
	case w.To <= g.Capacity:
		return refuse("S-05", "growing group %s from %d to %d would not make it larger", g.ID, g.Capacity, w.To)
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
		switch limit := ceiling.Ceiling.Limit; {
		case e.Group.PriceUSDPerHour <= 0:
			return refuse("S-06", "ceiling %s cannot be kept, since the price of group %s is unknown", ceiling, w.Group)
		case cost > limit*(1+1e-9):
			return refuse("S-06", "machines would cost %.2f USD an hour, ceiling %s", cost, ceiling)
		}
	}
	return nil
}

// checkTotals holds the limits of the whole cluster: what exists, what other groups still expect, and what this write adds.
func checkTotals(w Grow, e Evidence, limits policy.Growth) error {
	var nodes int
	var milli, bytes int64
	gpus := make([]int64, len(limits.GPUs))
	add := func(n *corev1.Node, count int) {
		nodes += count
		if n != nil {
			milli += int64(count) * n.Status.Capacity.Cpu().MilliValue()
			bytes += int64(count) * n.Status.Capacity.Memory().Value()
			for i, of := range limits.GPUs {
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
	switch {
	case limits.MaxNodes > 0 && nodes > limits.MaxNodes:
		return refuse("S-06", "the cluster would have %d nodes, its limit is %d", nodes, limits.MaxNodes)
	case milli > limits.MaxCores*1000:
		return refuse("S-06", "the cluster would have %d cores, its limit is %d", milli/1000, limits.MaxCores)
	case bytes > limits.MaxMemoryGiB<<30:
		return refuse("S-06", "the cluster would have %d GiB of memory, its limit is %d", bytes>>30, limits.MaxMemoryGiB)
	}
	for i, of := range limits.GPUs {
		if gpus[i] > of.Max && (e.Group.Template == nil || cluster.GPUsOf(e.Group.Template, of.Kind) > 0) {
			return refuse("S-06", "the cluster would have %d GPUs of kind %s, its limit is %d", gpus[i], of.Kind, of.Max)
		}
	}
	return nil
}

// checkMachines holds a growth that the ledger of machines forbids: of the machines that are made, and of those that are started.
func checkMachines(w Grow, e Evidence, allowed *policy.Policy) error {
	if e.Fleet == nil {
		return refuse("S-02", "nobody keeps a ledger of the machines of group %s", w.Group)
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
		return refuse(r.Property, "%s", r.Sentence(id))
	}
	return nil
}
