package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
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

// census counts nodes and machines: of the whole cluster with its unmanaged nodes, and of each group that the cycle saw.
type census struct {
	all    counts
	groups map[cluster.GroupID]*groupCounts
}

// groupCounts is what the census has of one group.
type groupCounts struct {
	counts
	verdict action.Verdict
}

// well says whether the group may be scaled.
func (c *groupCounts) well(tolerated policy.Health) bool {
	_, unreadable := find(c.verdict.Because, reason.GroupUnreadable)
	_, incomplete := find(c.verdict.Because, reason.GroupIncomplete)
	return !unreadable && !incomplete && c.healthy(tolerated)
}

// count looks at each node and each verdict once, however many groups there are.
func count(entry journal.Entry) census {
	c := census{groups: make(map[cluster.GroupID]*groupCounts, len(entry.Seen.Groups))}
	each := make([]groupCounts, len(entry.Seen.Groups))
	for i, g := range entry.Seen.Groups {
		c.groups[g.ID] = &each[i]
	}
	left := leftBehind(entry)
	for _, n := range entry.Seen.Nodes {
		if left[n.Name()] && !cluster.Ready(n.Object) {
			continue
		}
		c.all.node(n, entry)
		if of := c.groups[n.Group]; of != nil {
			of.node(n, entry)
		}
	}
	for _, v := range entry.Plan.Verdicts {
		switch v.Subject.Kind {
		case reason.KindGroup:
			if of := c.groups[cluster.GroupID(v.Subject.Name)]; of != nil {
				of.verdict = v
			}
		case reason.KindNode:
			if v.Outcome != action.NodeIdle && v.Outcome != action.NodeCordoned && v.Outcome != action.NodeDraining {
				continue
			}
			if n := entry.Seen.Node(v.Subject.Name); n != nil {
				c.all.candidates++
				if of := c.groups[n.Group]; of != nil {
					of.candidates++
				}
			}
		case reason.KindInstance:
			if g := groupOfMachine(entry, v.Subject); g != nil {
				c.all.machine(v)
				c.groups[g.ID].machine(v)
			}
		}
	}
	return c
}

// node counts a node.
func (c *counts) node(n *cluster.Node, entry journal.Entry) {
	if n.Parked.UID != "" {
		c.suspended++
		return
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

// leftBehind are the nodes of which nothing but the object is left: as in the decision, they are no nodes, and not Ready ones least of all. A large
// scale-down would otherwise call the cluster unhealthy until the objects are deleted, too.
func leftBehind(entry journal.Entry) map[string]bool {
	left := map[string]bool{}
	for _, v := range entry.Plan.Verdicts {
		if _, gone := find(v.Because, reason.NodeMachineGone); gone && v.Subject.Kind == reason.KindNode {
			left[v.Subject.Name] = true
		}
	}
	return left
}

// machine counts a machine without a node, by the verdict about it.
func (c *counts) machine(v action.Verdict) {
	_, late := find(v.Because, reason.MachineNeverJoined)
	_, lost := find(v.Because, reason.MachineLost)
	if late || lost && v.Outcome == action.MachineDeleting {
		c.longUnregistered++
	} else if lost || v.Outcome == action.MachineComing {
		c.unregistered++
	}
}

// groupOfMachine is the group that has the machine, nil when none that the cycle saw has it.
func groupOfMachine(entry journal.Entry, machine reason.Ref) *cluster.Group {
	for _, g := range entry.Seen.Groups {
		id, within := strings.CutPrefix(machine.Name, string(g.ID))
		if !within || !strings.HasPrefix(id, "/") {
			continue
		}
		if slices.ContainsFunc(g.Instances, func(in *cluster.Instance) bool { return string(in.ID) == id[1:] }) {
			return g
		}
	}
	return nil
}

// healthy says whether no more nodes are unready than the operator tolerates.
func (c counts) healthy(tolerated policy.Health) bool { return tolerated.Tolerates(c.unready, c.total) }

// failure is one that a cycle was the first to notice.
type failure struct {
	cluster.Failure
	Group    *cluster.Group // nil when the cycle saw none
	machines int            // that failed
}

// reason is cluster-autoscaler's word for it: what ran out of time, the cloud's own code, or that the cloud failed.
func (f failure) reason() string {
	if f.Kind == timedOut {
		return timedOut
	}
	return cmp.Or(f.Code, cloudProviderError)
}

// newFailures are the failures to start machines that this cycle was the first to notice: what the cloud said of them, and
// machines that never joined, or whose nodes did not become Ready, as Kind "timeout".
func newFailures(entry journal.Entry) []failure {
	late := map[reason.Ref]reason.Reason{}
	for _, v := range entry.Plan.Verdicts {
		if v.Subject.Kind != reason.KindInstance {
			continue
		}
		if why, ok := find(v.Because, reason.MachineNeverJoined); ok {
			late[v.Subject] = why
		}
	}
	var failures []failure
	ledger := entry.Seen.View()
	for _, g := range entry.Seen.Groups {
		noticed, lacking := entry.Before.Groups[g.ID].Noticed, 0
		add := func(f cluster.Failure, machines int) {
			if f.At.After(noticed) {
				failures = append(failures, failure{f, g, machines})
			}
		}
		for _, in := range g.Instances {
			if in.State == cluster.StateFailed {
				lacking++
				if in.Failure != nil {
					add(*in.Failure, 1)
				}
			}
			if len(late) == 0 {
				continue
			}
			if why, ok := late[reason.Instance(string(g.ID), string(in.ID))]; ok {
				since, _ := in.WaitedSince(ledger)
				add(cluster.Failure{At: since.Add(entry.Policy.Growth.Node.ProvisionTime), Kind: timedOut, Code: "NeverJoined", Message: why.Sentence()}, 1)
			}
		}
		if g.Failure != nil {
			add(*g.Failure, max(lacking, entry.Before.Groups[g.ID].Capacity-len(g.Instances)))
		}
	}
	for _, n := range entry.Seen.Nodes {
		if n.Instance == nil || !n.Instance.State.Expected() || cluster.Ready(n.Object) || !entry.Policy.Growth.Late(n.Object, entry.Seen.Time) {
			continue
		}
		due := entry.Policy.Growth.Due(n.Object)
		if !due.After(entry.After.Since) || !due.After(entry.Before.Groups[n.Group].Noticed) {
			continue
		}
		failures = append(failures, failure{cluster.Failure{At: due, Kind: timedOut, Code: string(reason.NodeNeverReady)}, entry.Seen.Group(n.Group), 1})
	}
	return failures
}

// growthLatencies are, for every growth that the cloud accepted in this cycle, how long the youngest pod it is for had waited:
// from the moment the scheduler found no node for it to the cloud's answer. The API server rounds the first down to a whole
// second, so a latency reads up to one second too long; it is never below zero.
func growthLatencies(entry journal.Entry) []time.Duration {
	var pods map[string]*cluster.Pod // nil until a growth asks
	var waits []time.Duration
	for _, d := range Deeds(entry) {
		if _, grows := d.of.(action.SetCapacity); !grows || d.Status() != memory.Accepted {
			continue
		}
		if pods == nil {
			pods = podsByKey(entry)
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
