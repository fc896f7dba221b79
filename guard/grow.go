package guard

import (
	"slices"
	"time"

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
	live := g.Live()
	switch {
	case w.To < live:
		return refuse("S-01", "capacity %d of group %s is below its %d live machines", w.To, g.ID, live)
	case g.Capacity < live:
		return refuse("S-02", "group %s says capacity %d but lists %d live machines", g.ID, g.Capacity, live)
	case w.From != g.Capacity:
		return refuse("S-03", "the decision rests on capacity %d of group %s, the cloud says %d", w.From, g.ID, g.Capacity)
	case g.Read.Version == "":
		return refuse("S-04", "the read of group %s has no version to send with the write", g.ID)
	case w.To <= g.Capacity:
		return refuse("S-05", "growing group %s from %d to %d would not make it larger", g.ID, g.Capacity, w.To)
	case w.To > g.Max:
		return refuse("S-06", "capacity %d of group %s is above its max %d", w.To, g.ID, g.Max)
	}
	if err := checkStrays(w, e, allowed.Growth.Provision); err != nil {
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

// mostStrays is how many machines of a group may fail to register before it gets no more of them.
const mostStrays = 3

// checkStrays holds groups whose machines do not become nodes: more would not either, and each is paid for. One that was a node is lost, and says nothing of
// those that come.
func checkStrays(w Grow, e Evidence, patience time.Duration) error {
	strays := 0
	for _, in := range e.Group.Instances {
		if since := in.UpSince(); in.State != cluster.StateRunning || since.IsZero() || e.Newest.Time.Sub(since) < patience || e.Fleet != nil && e.Fleet.Joined(fleet.GroupID(w.Group), fleet.UID(in.UID)) {
			continue
		}
		if !slices.ContainsFunc(e.Newest.Nodes, func(n *cluster.Node) bool { return n.CouldBe(in) }) {
			strays++
		}
	}
	if strays >= mostStrays {
		return refuse("S-35", "%d machines of group %s run for more than %s and are no nodes", strays, w.Group, patience)
	}
	return nil
}
