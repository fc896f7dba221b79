package policy

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

const (
	defaultGrace = 30 * time.Second // the API server's, for a pod that does not say

	// lastBreath is left between the end of a pod's grace and the moment when its machine stops: for the eviction to reach the kubelet and for
	// the last word of the containers to get out.
	lastBreath = 5 * time.Second

	// shortest is the grace that an evicted pod gets at least: none at all would kill it and not wait for the kubelet.
	shortest = time.Second

	// longest is the grace that a pod may ask for at most: more than a year is a slip of the pen, and far more no longer adds up.
	longest = 365 * 24 * time.Hour
)

// Grace is what an evicted pod gets to stop: what it asks for, up to [Drain.MaxGrace] or its band's; all the time that it says it
// needs to save its work.
func (r Removal) Grace(p *cluster.Pod) time.Duration {
	if saves := checkpoint(p); saves > 0 {
		return saves
	}
	grace := defaultGrace
	if s := p.Spec.TerminationGracePeriodSeconds; s != nil {
		grace = time.Duration(min(*s, int64(longest/time.Second))) * time.Second
	}
	return min(grace, r.longest(p))
}

// LastCall is when a pod must be evicted to have all of its grace before its machine stops.
func (p *Policy) LastCall(pod *cluster.Pod, stops time.Time) time.Time {
	return stops.Add(-p.Removal.Grace(pod) - lastBreath)
}

// GraceBefore is the grace of a pod that is evicted now from a machine that stops then.
func (p *Policy) GraceBefore(pod *cluster.Pod, now, stops time.Time) time.Duration {
	return max(shortest, min(p.Removal.Grace(pod), stops.Sub(now)-lastBreath).Truncate(time.Second))
}

// WorksOn says why a pod of a machine that stops then is not evicted yet: the policy keeps it, and more than its grace is left. False when
// it is to leave now.
func (p *Policy) WorksOn(pod *cluster.Pod, at Where, now, stops time.Time) (reason.Reason, bool) {
	why, keeps := p.Keeps(pod, at, now)
	return why, keeps && now.Before(p.LastCall(pod, stops))
}
