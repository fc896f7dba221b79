package node

import (
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
)

// Hosting ranks a node among those that pods could move to.
func (v *Facts) Hosting() int {
	switch {
	case v.Settled:
		return 0
	case len(v.Movers) > 0:
		return 1
	}
	return 2
}

// Moving are the node's pods that have to find another place. Those already on their way out are not asked, nor daemons' pods, which run
// nowhere else.
func Moving(v *Facts) []*cluster.Pod {
	stays := func(p *cluster.Pod) bool { return p.Leaving() || p.Daemon() }
	if !slices.ContainsFunc(v.Movers, stays) {
		return v.Movers
	}
	return slices.DeleteFunc(slices.Clone(v.Movers), stays)
}

// Consent is what the policy and the budgets' selectors say of a node's pods. Time that passes takes no consent back: a pod that may be evicted
// now may be so later. It holds from then on, and as long as the budgets and the pods' controllers are the same: see [plan.Planner.begin].
type Consent struct {
	Known    bool
	Since    time.Time
	Budgeted []*cluster.Pod // the pods that budgets select
}
