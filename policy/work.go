package policy

import (
	"fmt"
	"slices"
	"time"

	policyv1 "k8s.io/api/policy/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// Annotations by which a pod says what its work may be asked to do.
const (
	evictWork       = "sluice.dev/evict-work"       // never, now, or a duration: see [Patience]
	checkpointGrace = "sluice.dev/checkpoint-grace" // it saves its work when told to end, within that time, and goes on elsewhere
)

// Patience is for how long a node that runs dry waits for a pod that works before the pod is evicted; below zero for as long as it takes.
type Patience time.Duration

// Endless is the patience with all work of which nothing else is said.
const Endless Patience = -1

// ParsePatience reads "never", "now" or a duration. Its error is one clause for the operator.
func ParsePatience(text string) (Patience, error) {
	switch text {
	case "never":
		return Endless, nil
	case "now":
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return Endless, fmt.Errorf("%q is not never, now or a duration such as 2h", text)
	}
	return Patience(d), nil
}

// String is what [ParsePatience] reads.
func (p Patience) String() string {
	switch {
	case p < 0:
		return "never"
	case p == 0:
		return "now"
	}
	return time.Duration(p).String()
}

// WorkRule is one --evict-work flag: pods of Jobs in a namespace, or on nodes of a group, may be evicted so long after their node began
// to run dry; so may pods of daemons that the operator calls work. Either Namespace or Group is set.
type WorkRule struct {
	Namespace string          `json:"namespace,omitempty"`
	Group     cluster.GroupID `json:"group,omitempty"`
	Patience  Patience        `json:"patience"`
}

// String is the flag's value.
func (r WorkRule) String() string {
	return scoped(r.Namespace, r.Group) + "=" + r.Patience.String()
}

// ParseWorkRule reads "namespace/NAME=PATIENCE" or "GROUP=PATIENCE". Its errors are one clause for the operator.
func ParseWorkRule(text string) (WorkRule, error) {
	const form = "give GROUP=PATIENCE or namespace/NAME=PATIENCE with never, now or a duration, such as namespace/render=2h"
	namespace, group, rest, err := parseScoped(text, form)
	if err != nil {
		return WorkRule{}, err
	}
	patience, err := ParsePatience(rest)
	if err != nil {
		return WorkRule{}, fmt.Errorf("%w; %s", err, form)
	}
	return WorkRule{namespace, group, patience}, nil
}

// Where is where a pod runs, as far as that has a say in its eviction.
type Where struct {
	Group      cluster.GroupID                 // of its node
	DaemonWork []cluster.PodSelector           // which daemons' pods are work there, as the group itself says
	Budgets    []*policyv1.PodDisruptionBudget // of the cluster
	Cordoned   time.Time                       // since when its node is on its way out, zero when it is not
	Dry        time.Time                       // since when its node runs dry, zero when it does not
	Quiesced   bool                            // all patience with its work is over
}

// budgeted says whether a disruption budget selects the pod.
func (at Where) budgeted(pod *cluster.Pod) bool {
	return slices.ContainsFunc(at.Budgets, func(b *policyv1.PodDisruptionBudget) bool { return cluster.Protects(b, pod) })
}

// On is where the pods of a node of the group run; the group is nil for a node of none.
func On(n *cluster.Node, g *cluster.Group, budgets []*policyv1.PodDisruptionBudget) Where {
	w := Where{Group: n.Group, Budgets: budgets}
	if g != nil {
		w.DaemonWork = g.Options.DaemonWork
	}
	if r, on := cluster.RemovalOf(n.Object); on {
		w.Cordoned = r.Since
		w.Quiesced = r.Why == cluster.RanDry
		if r.Why == cluster.RunsDry {
			w.Dry = r.Since
		}
	}
	return w
}

// Work says whether the reason for which a pod keeps its node is work that may end by itself.
func Work(why reason.Code) bool {
	switch why {
	case reason.PodOfJob, reason.PodOfDaemon, reason.PodBare, reason.PodNotSafeToEvict, reason.PodDoNotDisrupt:
		return true
	}
	return false
}

// released says whether a pod that works may be evicted all the same.
func (p *Policy) released(pod *cluster.Pod, at Where, now time.Time) bool {
	patience := p.Patience(pod, at.Group)
	return patience == 0 || patience > 0 && (at.Quiesced || !at.Dry.IsZero() && !now.Before(at.Dry.Add(time.Duration(patience))))
}

// Patience is how long a pod that works on a node of the group is waited for: by its own annotation, or, when it is of a Job or a
// daemon, by the namespace's rule or else the group's. Of several rules for the same the last holds.
func (p *Policy) Patience(pod *cluster.Pod, group cluster.GroupID) Patience {
	patience := Endless
	if o := pod.Owner(); pod.Daemon() || o != nil && o.Kind == "Job" {
		for _, r := range p.Removal.Work.Evict {
			if r.Group != "" && same(r.Group, group) {
				patience = r.Patience
			}
		}
		for _, r := range p.Removal.Work.Evict {
			if r.Namespace != "" && r.Namespace == pod.Namespace {
				patience = r.Patience
			}
		}
	}
	if checkpoint(pod) > 0 {
		patience = 0
	}
	if said, ok := pod.Annotations[evictWork]; ok {
		if own, err := ParsePatience(said); err == nil {
			patience = own
		}
	}
	return patience
}

// checkpoint is within what time a pod says that it saves its work, 0 when it does not say.
func checkpoint(pod *cluster.Pod) time.Duration {
	d, err := time.ParseDuration(pod.Annotations[checkpointGrace])
	if err != nil {
		return 0
	}
	return min(max(0, d), longest)
}
