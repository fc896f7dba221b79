package plan

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// Unbound is a pod that fits a node, and that its scheduler has not bound:
//
//	state  evidence                                            next
//	holds  Until is zero: it has fitted a node since Since     left once that is longer than [policy.Binds]; forgotten once it fits no node
//	left   Until is to come: it holds no node and buys none    tried at Until; forgotten once its scheduler has judged it anew
//	tried  both are zero: it waits as any other pod            holds once it fits a node
//
// It is forgotten when it waits no more.
type Unbound struct {
	Since time.Time     `json:"since,omitzero"` // without a break; a pod is younger than [bindsSoon] before
	Until time.Time     `json:"until,omitzero"`
	Rest  time.Duration `json:"rest,omitempty"` // how long it was left last: doubles from time to time, up to [longestLeft]

	// Refused are the groups, sorted, on whose nodes its scheduler did not bind it: another one is chosen before them.
	Refused []cluster.GroupID `json:"refused,omitempty"`
}

func (u Unbound) equal(o Unbound) bool {
	return u.Since.Equal(o.Since) && u.Until.Equal(o.Until) && u.Rest == o.Rest && slices.Equal(u.Refused, o.Refused)
}

// left says whether the pod holds no node and makes no group grow.
func (u Unbound) left(now time.Time) bool { return now.Before(u.Until) }

// How long a scheduler takes for a pod that nothing is remembered of, and how long a pod is left that its scheduler does not bind.
const (
	bindsSoon   = time.Minute
	firstLeft   = 10 * time.Minute
	longestLeft = 24 * time.Hour
)

// leaveUnbound leaves the pods that their schedulers have not bound in time to nodes that they fit (S-16).
func (d *placing) leaveUnbound() {
	if len(d.m.Unbound) == 0 {
		return
	}
	now := make(map[string]Unbound, len(d.m.Unbound))
	for _, p := range d.s.Pending {
		u, known := d.m.Unbound[string(p.UID)]
		switch {
		case !known:
			continue
		case !u.Until.IsZero() && p.UnschedulableSince().After(u.Until.Add(-u.Rest)):
			continue // a scheduler is there, and nodes have gone since
		case u.left(d.now):
		case !u.Until.IsZero():
			u.Since, u.Until = time.Time{}, time.Time{}
		case !u.Since.IsZero():
			if until := u.Since.Add(policy.Binds(len(d.s.Pending))); d.now.Before(until) {
				d.wake(until)
				break
			}
			u.Rest = min(max(2*u.Rest, firstLeft), longestLeft)
			u.Until, u.Refused = d.now.Add(u.Rest), d.refusedWith(u.Refused, p)
		}
		if u.left(d.now) {
			d.wake(u.Until)
		}
		now[string(p.UID)] = u
	}
	if !maps.EqualFunc(now, d.m.Unbound, Unbound.equal) {
		d.m.Unbound = now
	}
}

// isLeft says whether the pod that waits there holds no node and makes no group grow, as its scheduler does not bind it. It gets its verdict.
func (d *placing) isLeft(at int, p *cluster.Pod) bool {
	u := d.m.Unbound[string(p.UID)]
	if !u.left(d.now) {
		return false
	}
	outcome := PodIgnored
	if p.Unschedulable() {
		outcome = PodStuck
	}
	v := &d.podVerdicts[at]
	*v = Verdict{v.Subject, outcome, []reason.Reason{reason.New(reason.PodNotBound, v.Subject,
		"scheduler", cmp.Or(p.Spec.SchedulerName, corev1.DefaultSchedulerName), "age", d.now.Sub(u.Since).Truncate(time.Second),
		"limit", policy.Binds(len(d.s.Pending)), "until", u.Until.Format(time.RFC3339))}}
	return true
}

// rememberUnbound remembers since when pods have fitted nodes that are there.
func (d *placing) rememberUnbound() {
	was := d.m.Unbound
	if len(was) == 0 && len(d.counted)+len(d.rescues) == 0 {
		return
	}
	now := map[string]Unbound{}
	verdicts, young := d.podVerdicts, d.now.Add(-bindsSoon)
	for at, p := range d.s.Pending {
		fits := verdicts[at].Outcome == PodScheduling || verdicts[at].Outcome == PodRescues
		if len(was) == 0 && !fits {
			continue
		}
		if len(was) == 0 && p.Created().After(young) {
			break // they wait in the order of their age
		}
		u, known := was[string(p.UID)]
		switch {
		case u.left(d.now):
		case fits && u.Since.IsZero() && !p.Gated() && !p.Created().After(young):
			u.Since = d.now
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
		d.m.Unbound = nil
	case !maps.EqualFunc(now, was, Unbound.equal):
		d.m.Unbound = now
	}
}

// refusedWith are these groups and those on whose nodes pods such as this one had their places in the last cycle.
func (d *placing) refusedWith(refused []cluster.GroupID, p *cluster.Pod) []cluster.GroupID {
	last := d.m.Places
	if last == nil {
		return refused
	}
	all := slices.Clone(refused)
	for i, at := range last.Of[p.Key] {
		if i%2 > 0 || int(at) >= len(last.Nodes) {
			continue
		}
		if n := d.s.Node(last.Nodes[at]); n != nil && n.Group != "" {
			all = append(all, n.Group)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// passRefused leaves out groups on whose nodes pods of these classes were not bound, where another group would do.
func (d *growing) passRefused(c *candidates) {
	if len(d.m.Unbound) == 0 {
		return
	}
	for _, w := range c.wanted {
		refused := map[cluster.GroupID]bool{}
		for _, at := range w.pods[w.served:] {
			for _, g := range d.m.Unbound[string(d.waiting[at].UID)].Refused {
				refused[g] = true
			}
		}
		if len(refused) > 0 && w.claim == nil {
			w.leave(func(i int) bool { return !refused[c.sites[i].ID] })
		}
	}
}
