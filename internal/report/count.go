package report

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// counts is how many nodes of a group, or of the whole cluster, are in which condition, in cluster-autoscaler's terms.
type counts struct {
	total, ready, notStarted, unready int // nodes
	suspended                         int // nodes whose machine is parked, or stopped; the latter count as ready, notStarted or unready, too
	beingDeleted                      int // nodes whose machine the cloud is deleting; also counted as ready, notStarted or unready
	unregistered                      int // machines that are expected to become nodes
	longUnregistered                  int // machines that had their time and became none
	candidates                        int // nodes that could go, are cordoned or draining
}

// count counts the nodes and machines of one group, or of the whole cluster with its unmanaged nodes for "".
func count(entry journal.Entry, group cluster.GroupID) counts {
	var c counts
	for _, n := range entry.Seen.Nodes {
		if group != "" && n.Group != group {
			continue
		}
		if n.Parked.UID != "" {
			c.suspended++
			continue
		}
		c.total++
		switch {
		case cluster.Ready(n.Object):
			c.ready++
		case entry.Policy.Growth.Starting(n.Object, entry.Seen.Time):
			c.notStarted++
		default:
			c.unready++
		}
		if n.Instance != nil && n.Instance.Stopped() {
			c.suspended++
		}
		if n.Instance != nil && n.Instance.State == cluster.StateDeleting {
			c.beingDeleted++
		}
	}
	groups := map[string]cluster.GroupID{}
	for _, g := range entry.Seen.Groups {
		if group != "" && g.ID != group {
			continue
		}
		for _, in := range g.Instances {
			groups[reason.Instance(string(g.ID), string(in.ID)).Name] = g.ID
		}
	}
	for _, v := range entry.Plan.Verdicts {
		switch v.Subject.Kind {
		case reason.KindNode:
			n := entry.Seen.Node(v.Subject.Name)
			if n != nil && (group == "" || n.Group == group) && (v.Outcome == plan.NodeIdle || v.Outcome == plan.NodeCordoned || v.Outcome == plan.NodeDraining) {
				c.candidates++
			}
		case reason.KindInstance:
			if _, in := groups[v.Subject.Name]; !in {
				continue
			}
			_, late := find(v.Because, reason.MachineNeverJoined)
			_, lost := find(v.Because, reason.MachineLost)
			if late || lost && v.Outcome == plan.MachineDeleting {
				c.longUnregistered++
			} else if lost || v.Outcome == plan.MachineComing {
				c.unregistered++
			}
		}
	}
	return c
}

// healthy says whether no more nodes are unready than the operator tolerates.
func (c counts) healthy(tolerated policy.Health) bool { return tolerated.Tolerates(c.unready, c.total) }

// newFailures are the failures to start machines that this cycle was the first to notice: what the cloud said of them, and
// machines that never joined, or whose nodes did not become Ready, as Kind "timeout".
func newFailures(entry journal.Entry) []cluster.Failure {
	late := map[reason.Ref]reason.Reason{}
	for _, v := range entry.Plan.Verdicts {
		if why, ok := find(v.Because, reason.MachineNeverJoined); ok {
			late[v.Subject] = why
		}
	}
	var failures []cluster.Failure
	for _, g := range entry.Seen.Groups {
		noticed := entry.Before.Groups[g.ID].Noticed
		add := func(f cluster.Failure) {
			if f.At.After(noticed) {
				failures = append(failures, f)
			}
		}
		if g.Failure != nil {
			add(*g.Failure)
		}
		for _, in := range g.Instances {
			if in.State == cluster.StateFailed && in.Failure != nil {
				add(*in.Failure)
			}
			if why, ok := late[reason.Instance(string(g.ID), string(in.ID))]; ok {
				add(cluster.Failure{At: entry.Before.Nodeless[in.UID].Add(entry.Policy.Growth.Provision), Kind: "timeout", Code: "NeverJoined", Message: why.Sentence()})
			}
		}
	}
	for _, n := range entry.Seen.Nodes {
		due := entry.Policy.Growth.Due(n.Object)
		if n.Instance == nil || !n.Instance.State.Expected() || !entry.Policy.Growth.Late(n.Object, entry.Seen.Time) || !due.After(entry.After.Since) || !due.After(entry.Before.Groups[n.Group].Noticed) {
			continue
		}
		failures = append(failures, cluster.Failure{At: due, Kind: "timeout", Code: string(reason.NodeNeverReady)})
	}
	return failures
}

// growthLatencies are, for every growth that the cloud accepted in this cycle, how long the youngest pod it is for had waited:
// from the moment the scheduler found no node for it to the cloud's answer. The API server rounds the first down to a whole
// second, so a latency reads up to one second too long; it is never below zero.
func growthLatencies(entry journal.Entry) []time.Duration {
	pods := podsByKey(entry)
	var waits []time.Duration
	for _, d := range Deeds(entry) {
		if _, grows := d.of.(plan.SetCapacity); !grows || d.Status() != plan.Accepted {
			continue
		}
		var youngest time.Time
		for _, key := range d.Pods {
			if p := pods[key]; p != nil {
				if since := p.UnschedulableSince(); since.After(youngest) {
					youngest = since
				}
			}
		}
		if !youngest.IsZero() {
			waits = append(waits, max(0, d.Result.At.Sub(youngest)))
		}
	}
	return waits
}
