package place

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// Unbound are pods that fit a node and that their schedulers do not bind.
// One pod whose scheduler nobody runs must not keep a node for days (scenario pod-of-no-scheduler). The states are at [memory.Unbound].
type Unbound struct {
	*node.View
	*Queue
	*Needs
}

// How long a scheduler takes for a pod that nothing is remembered of, and how long a pod is left that its scheduler does not bind.
const (
	bindsSoon   = time.Minute
	firstLeft   = 10 * time.Minute
	longestLeft = 24 * time.Hour
)

// leave leaves the pods that their schedulers have not bound in time to nodes that they fit (S-16).
//
//	pod that waits, in this order                next
//	nothing is remembered of it                  [Unbound.Remember] begins with it, at the end of the cycle
//	left, and its scheduler has judged it since  forgotten: a scheduler is there, so the pod counts again
//	left, and the rest is not over               stays left
//	left, and the rest is over                   tried: Rest stays, and doubles next time (scenario pod-turned-down-where-it-fits)
//	holds, for less than [policy.Binds]          holds on
//	holds, for longer                            left for 10 minutes, then for twice as long as last, at most a day
//	tried                                        as it was; Remember has it hold once it fits a node
func (ub *Unbound) leave() {
	if len(ub.Memory.Unbound) == 0 {
		return
	}
	now := make(map[string]memory.Unbound, len(ub.Memory.Unbound))
	for _, p := range ub.Snapshot.Pending {
		u, known := ub.Memory.Unbound[string(p.UID)]
		switch {
		case !known:
			continue
		case !u.Until.IsZero() && p.UnschedulableSince().After(u.Until.Add(-u.Rest)):
			continue // a scheduler is there, and nodes have gone since
		case u.Left(ub.Now):
		case !u.Until.IsZero():
			u.Since, u.Until = time.Time{}, time.Time{}
		case !u.Since.IsZero():
			if until := u.Since.Add(policy.Binds(len(ub.Snapshot.Pending))); ub.Now.Before(until) {
				ub.Wake(until)
				break
			}
			u.Rest = min(max(2*u.Rest, firstLeft), longestLeft)
			u.Until, u.Refused = ub.Now.Add(u.Rest), ub.refusedWith(u.Refused, p)
		}
		if u.Left(ub.Now) {
			ub.Wake(u.Until)
		}
		now[string(p.UID)] = u
	}
	if !maps.EqualFunc(now, ub.Memory.Unbound, memory.Unbound.Equal) {
		ub.Memory.Unbound = now
	}
}

// isLeft says whether the pod that waits there holds no node and makes no group grow, as its scheduler does not bind it. It gets its
// verdict.
func (ub *Unbound) isLeft(at int, p *cluster.Pod) bool {
	u := ub.Memory.Unbound[string(p.UID)]
	if !u.Left(ub.Now) {
		return false
	}
	outcome := action.PodIgnored
	if p.Unschedulable() {
		outcome = action.PodStuck
	}
	v := &ub.PodVerdicts[at]
	*v = action.Verdict{Subject: v.Subject, Outcome: outcome, Because: []reason.Reason{reason.New(reason.PodNotBound, v.Subject,
		"scheduler", cmp.Or(p.Spec.SchedulerName, corev1.DefaultSchedulerName), "age", ub.Now.Sub(u.Since).Truncate(time.Second),
		"limit", policy.Binds(len(ub.Snapshot.Pending)), "until", u.Until.Format(time.RFC3339))}}
	return true
}

// Remember remembers since when pods have fitted nodes that are there.
//
//	pod that waits                             remembered
//	left                                       as it is
//	fits a node, older than a minute, no gate  holds since now, or since it did
//	fits a node, and is known                  as it is
//	fits none, and was never left              nothing: its time begins anew when it fits a node
//	fits none, and was left once               Rest and Refused, not Since
//
// A pod is left out in its first minute: most are bound in that time, and nothing is written down for them.
func (ub *Unbound) Remember() {
	was := ub.Memory.Unbound
	if len(was) == 0 && len(ub.Counted)+len(ub.Rescues) == 0 {
		return
	}
	now := map[string]memory.Unbound{}
	verdicts, young := ub.PodVerdicts, ub.Now.Add(-bindsSoon)
	for at, p := range ub.Snapshot.Pending {
		fits := verdicts[at].Outcome == action.PodScheduling || verdicts[at].Outcome == action.PodRescues
		if len(was) == 0 && !fits {
			continue
		}
		if len(was) == 0 && p.Created().After(young) {
			break // they wait in the order of their age
		}
		u, known := was[string(p.UID)]
		switch {
		case u.Left(ub.Now):
		case fits && u.Since.IsZero() && !p.Gated() && !p.Created().After(young):
			u.Since = ub.Now
		case fits && known:
		case u.Rest == 0:
			continue
		default:
			u.Since = time.Time{}
		}
		now[string(p.UID)] = u
	}
	switch {
	case len(now) == 0:
		ub.Memory.Unbound = nil
	case !maps.EqualFunc(now, was, memory.Unbound.Equal):
		ub.Memory.Unbound = now
	}
}

// refusedWith are these groups and those on whose nodes pods such as this one had their places in the last cycle.
// It reads the places of the last cycle, before [Reservations.Remember] replaces them. Even entries of a list are nodes, odd ones counts.
func (ub *Unbound) refusedWith(refused []cluster.GroupID, p *cluster.Pod) []cluster.GroupID {
	last := ub.Memory.Places
	if last == nil {
		return refused
	}
	all := slices.Clone(refused)
	for i, at := range last.Of[p.Key] {
		if i%2 > 0 || int(at) >= len(last.Nodes) {
			continue
		}
		if n := ub.Snapshot.Node(last.Nodes[at]); n != nil && n.Group != "" {
			all = append(all, n.Group)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
