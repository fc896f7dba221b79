package policy

import (
	"fmt"
	"time"

	"sluice.dev/sluice/cluster"
)

// Annotations by which a pod says how it leaves its node.
const (
	daemonEviction = "cluster-autoscaler.kubernetes.io/enable-ds-eviction" // true or false: whether a daemon's pod is evicted
	drainTime      = "sluice.dev/drain-time"                               // how long it has to leave, in the place of --max-drain-time
	afterDrainTime = "sluice.dev/after-drain-time"                         // what then, in the place of --after-drain-time
)

// Overdue is what becomes of a drain when a pod has not left in its time.
type Overdue string

// What may become of it. A disruption budget is never bypassed, and work that the policy keeps is never forced.
const (
	Abort Overdue = "abort" // the node is given back
	Wait  Overdue = "wait"  // for as long as it takes: the node takes no new pods meanwhile

	// Force waits no longer for a pod that was told to end: it ends with its machine. One that was not told to end gives the node back.
	Force Overdue = "force"
)

// String is what [ParseOverdue] reads.
func (o Overdue) String() string { return string(o) }

// UnmarshalText is [ParseOverdue].
func (o *Overdue) UnmarshalText(text []byte) (err error) {
	*o, err = ParseOverdue(string(text))
	return err
}

// ParseOverdue reads "abort", "wait" or "force". Its error is one clause for the operator.
func ParseOverdue(text string) (Overdue, error) {
	switch o := Overdue(text); o {
	case Abort, Wait, Force:
		return o, nil
	}
	return Abort, fmt.Errorf("%q is not abort, wait or force", text)
}

// DrainTime is how long the pod has to leave, from its node's cordon on.
func (r Removal) DrainTime(p *cluster.Pod) time.Duration {
	if own, err := time.ParseDuration(p.Annotations[drainTime]); err == nil && own > 0 {
		return own
	}
	return r.Drain.Deadline
}

// Overdue is what becomes of the drain when the pod has not left in that time.
func (r Removal) Overdue(p *cluster.Pod) Overdue {
	if own, err := ParseOverdue(p.Annotations[afterDrainTime]); err == nil {
		return own
	}
	return r.Drain.AfterDeadline
}

// Outlasted says whether the pod was told to end and has not, in all the time that it had since its node was cordoned, and nobody is to
// wait for it any longer. One that saves its work has the time that it says it needs, and so has one that somebody else has told to end,
// since the policy keeps it.
func (p *Policy) Outlasted(pod *cluster.Pod, at Where, cordoned, now time.Time) bool {
	r := &p.Removal
	if !pod.Leaving() || r.Overdue(pod) != Force || now.Before(cordoned.Add(r.DrainTime(pod))) || checkpoint(pod) > 0 && !pod.GraceOver(now) {
		return false
	}
	_, keeps := p.Keeps(pod, at, now)
	return !keeps
}

// Dismisses says whether a daemon's pod that [Policy.Belongs] to its node is evicted from it on its way out, before its machine goes:
// occupied is a node that had other pods to evict. Daemons are told to end and waited for a little, but they hold nobody up.
func (r Removal) Dismisses(p *cluster.Pod, occupied bool) bool {
	if !p.Daemon() || p.Mirror() {
		return false
	}
	switch p.Annotations[daemonEviction] {
	case "true":
		return true
	case "false":
		return false
	}
	if occupied {
		return r.Drain.OccupiedDaemons
	}
	return r.Drain.EmptyDaemons
}
