package app

import (
	"cmp"
	"slices"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// mostSilence is for how long the API server may say nothing before nodes count as silent, too.
const mostSilence = time.Minute

// economize tells the cloud how often each group is to be asked about: as usual without an entry, and while nobody says how nodes are.
func (a *Autoscaler) economize(entry *journal.Entry) {
	if d, ok := a.parts.Cloud.(cloud.Diagnostician); ok && entry != nil {
		d.Diagnose(late(entry))
	}
	e, ok := a.parts.Cloud.(cloud.Economizer)
	switch {
	case !ok:
	case entry == nil || a.actuator.Silent() > mostSilence:
		e.Attend(nil)
	default:
		e.Attend(attention(entry.Seen, &entry.Plan))
	}
}

// late are the machines without a node that failed, or that have had half of their time to become one, those first that have waited for longest.
func late(entry *journal.Entry) []cluster.Machine {
	var all []*cluster.Instance
	ledger := entry.Seen.View()
	waited := func(in *cluster.Instance) time.Duration {
		since, _ := in.WaitedSince(ledger)
		return entry.Seen.Time.Sub(since)
	}
	for _, g := range entry.Seen.Groups {
		for _, in := range g.Instances {
			if in.Node != "" || in.State == cluster.StateDeleting || in.Stopped() {
				continue
			}
			if in.State == cluster.StateFailed || waited(in) >= entry.Policy.Growth.Node.ProvisionTime/2 {
				all = append(all, in)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *cluster.Instance) int { return cmp.Compare(waited(b), waited(a)) })
	machines := make([]cluster.Machine, len(all))
	for i, in := range all {
		machines[i] = in.Machine()
	}
	return machines
}

// attention is seldom for groups whose every machine is a node that is Ready, and in which nothing is under way, nor uncertain to the ledger of machines. A machine of which no node reports has
// its group asked about at once.
func attention(s *cluster.Snapshot, p *action.Plan) map[cluster.GroupID]cloud.Attention {
	groups := map[cluster.GroupID]cloud.Attention{}
	for _, g := range s.Groups {
		if s.Fleet.Settled(fleet.GroupID(g.ID)) && g.Usable() && g.Capacity == len(g.Instances) && len(g.Parked) == 0 {
			groups[g.ID] = cloud.Seldom
		}
	}
	for _, v := range p.Verdicts {
		if !underWay(v) {
			continue
		}
		switch v.Subject.Kind {
		case reason.KindGroup:
			delete(groups, cluster.GroupID(v.Subject.Name))
		case reason.KindNode:
			if n := s.Node(v.Subject.Name); n != nil {
				delete(groups, n.Group)
			}
		}
	}
	lost := func(id cluster.GroupID) {
		if s.Group(id) != nil {
			groups[id] = cloud.AtOnce
		}
	}
	for _, g := range s.Groups {
		for _, in := range g.Instances {
			if in.State != cluster.StateRunning || in.Node == "" {
				lost(g.ID)
			}
		}
	}
	for _, n := range s.Nodes {
		for _, in := range n.Suspects {
			lost(in.Group)
		}
		if n.Instance == nil || !cluster.Ready(n.Object) {
			lost(n.Group)
		}
		if _, leaves := cluster.RemovalOf(n.Object); (leaves || cluster.Noticed(n.Object)) && groups[n.Group] == cloud.Seldom {
			delete(groups, n.Group)
		}
	}
	return groups
}

// underWay says whether a verdict about a group or a node is that something happens to it, or will once its time has come.
func underWay(v action.Verdict) bool {
	switch v.Outcome {
	case action.GroupSteady, action.GroupFull, action.NodeKeep:
		return false
	case action.NodeIdle: // unless something else than time keeps it
		switch v.Because[0].Code {
		case reason.NodeIdle, reason.NodeUnderused, reason.ConsolidationPays:
		default:
			return false
		}
	}
	return true
}
