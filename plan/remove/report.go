package remove

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/grow"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// underuse is what is said of an underused node.
type underuse struct {
	used, resource, threshold string
	idle, limit               time.Duration
}

// report words what is said of groups.
type report struct {
	*node.View
	nodes     *nodes
	growth    *grow.Growth
	queue     *queue
	underuses map[underuse]reason.Reason // see [report.underuse]
}

// JudgeGroups sums up what happens to every group. The first reason is the one that matters most; the size always follows.
//
// Reasons are told in this order, and the first one with an outcome decides it:
//
//	reason                                                       outcome
//	its last request has no answer                               growing
//	its read is missing, not whole or contradicted               hold
//	a person paused it; it was deleted; it is one of servers     hold
//	this cycle makes it grow                                     grow
//	it rests after a failed scale-up                             backoff
//	too many unregistered machines; the breaker is open          hold; backoff
//	machines are coming                                          growing
//	the cloud does not finish a deletion                         hold
//	machines leave                                               shrinking
//	a pod asked for it, and it is at its max                     full
//	nothing is known of its next machine                         hold
//	its machines may be another cluster's                        hold
//	none of these                                                steady
//
// What follows changes no outcome: it says what an operator should know, at last the size.
func (rp *report) JudgeGroups() {
	unranked := rp.unranked()
	for _, g := range rp.Snapshot.Groups {
		st := rp.nodes.groups[g.ID]
		about := reason.Group(string(g.ID))
		size := reason.New(reason.GroupSteady, about, "nodes", st.Nodes, "capacity", g.Capacity, "min", g.Min, "max", g.Max)
		var because []reason.Reason
		outcome := action.GroupSteady
		say := func(o action.Outcome, why reason.Reason) {
			if len(because) == 0 {
				outcome = o
			}
			because = append(because, why)
		}
		if blocked := st.BlockedRead(); blocked != nil && blocked.Code == reason.GroupAsked {
			say(action.GroupGrowing, *blocked)
		} else if blocked != nil {
			say(action.GroupHold, *blocked)
		}
		if st.Paused != nil {
			say(action.GroupHold, *st.Paused)
		}
		if st.Blocked != nil && st.Blocked.Code == reason.GroupDeleted {
			say(action.GroupHold, *st.Blocked)
		}
		if st.Servers {
			say(action.GroupHold, rp.Controlled(g.ID))
		}
		for _, a := range rp.growth.Grows {
			if a.Group == g.ID {
				for _, why := range st.Because {
					say(action.GroupGrow, why)
				}
			}
		}
		if st.Blocked != nil && st.Blocked.Code == reason.GroupBackoff {
			say(action.GroupBackoff, *st.Blocked)
		}
		if st.Blocked != nil && st.Blocked.Code == reason.GroupStrays {
			say(action.GroupHold, *st.Blocked)
		} else if rp.Memory.Groups[g.ID].Breaker.Open() {
			say(action.GroupBackoff, grow.Broken(g.ID))
		}
		if coming := st.Coming - st.lost; coming > 0 {
			if len(st.Late) > 0 {
				say(action.GroupGrowing, reason.New(reason.GroupLate, about, "machines", len(st.Late), "longest", rp.LongestBoot(st.GroupFacts).Truncate(time.Second)))
			}
			say(action.GroupGrowing, reason.New(reason.GroupGrowing, about, "coming", coming))
			if st.Taken != nil {
				because = append(because, *st.Taken)
			}
		}
		if leaving := st.leaving + st.Deleting(); leaving > 0 {
			if stuck := rp.stuck(st); stuck != nil {
				say(action.GroupHold, *stuck)
			}
			say(action.GroupShrink, reason.New(reason.GroupShrinking, about, "leaving", leaving))
		}
		if st.Wanted {
			say(action.GroupFull, reason.New(reason.GroupAtMax, about, "capacity", rp.Believed(st.GroupFacts)+st.Adding, "max", g.Max))
		}
		if st.Blocked != nil && st.Blocked.Code == reason.GroupNoTemplate {
			say(action.GroupHold, *st.Blocked)
		}
		if foreign := rp.Foreign(st.GroupFacts); foreign != nil && len(rp.Unjoined(st.GroupFacts)) > 0 {
			say(action.GroupHold, *foreign)
		}
		if t := g.Taken; t.Machines > 0 && (st.Blocked == nil || st.Blocked.Code != reason.GroupContradicted) {
			because = append(because, reason.New(reason.MachinesTaken, about, "machines", t.Machines, "since", t.First.Format(time.RFC3339)))
		}
		if outcome == action.GroupSteady && g.Capacity >= 0 && g.Capacity < g.Min {
			because = append(because, reason.New(reason.GroupBelowMin, about, "capacity", g.Capacity, "min", g.Min))
		}
		if n := rp.growth.Failures.Failing(st.Order); n > 0 && len(rp.Snapshot.Groups) > 1 {
			because = append(because, reason.New(reason.GroupUnready, about, "nodes", n))
		}
		if st.Contract.Lost != nil {
			because = append(because, *st.Contract.Lost)
		}
		if st.unrepaired > 0 {
			because = append(because, reason.New(reason.GroupUnrepaired, about, "nodes", st.unrepaired, "min", g.Min))
		}
		because = append(because, st.Short...)
		if st.Weighed != nil {
			because = append(because, *st.Weighed)
		}
		if st.Assumed != nil {
			because = append(because, *st.Assumed)
		}
		passed := rp.growth.Failures.PassedZones(st.Order)
		for _, zone := range slices.Sorted(maps.Keys(passed)) {
			because = append(because, passed[zone])
		}
		if st.PassedOver != nil && st.Adding == 0 {
			because = append(because, *st.PassedOver)
		}
		if unranked(g.ID) {
			because = append(because, reason.New(reason.GroupUnranked, about, "configmap", cluster.RankingName))
		}
		for _, r := range rp.growth.Chain.Complaints {
			r.About = about
			because = append(because, r)
		}
		if g.Template != nil {
			for _, t := range g.Passing.Awaited(g.Template.Spec.Taints) {
				because = append(because, reason.New(reason.GroupTaintStays, about, "taint", t.ToString(), "who", g.Passing.Remover(t.Key), "limit", rp.Policy.Growth.Node.StartupTime))
			}
		}
		if l := g.Learned; l != nil && len(l.Renewed) > 0 {
			because = append(because, reason.New(reason.TemplateRenewed, about, "what", some(l.Renewed), "since", l.Changed.Format(time.RFC3339)))
		}
		if len(g.Drift) > 0 {
			because = append(because, reason.New(reason.TemplateDrift, about, "differences", differences(g.Drift)))
		}
		if g.Capacity >= 0 { // otherwise the reason why it is unknown stands there already
			because = append(because, size)
		}
		rp.Judge(about, outcome, because...)
	}
}

// unranked tells the groups that the operator's ranking leaves out; none where no ranking is asked for.
func (rp *report) unranked() func(cluster.GroupID) bool {
	if !slices.Contains(rp.Policy.Growth.Expanders, policy.Priority) {
		return func(cluster.GroupID) bool { return false }
	}
	return grow.ReadRanking(rp.Snapshot.Objects.Ranking()).Unranked
}

// shownDifferences is how many differences a sentence spells out.
const shownDifferences = 3

func differences(drift []cluster.Difference) string {
	var parts []string
	for _, x := range drift {
		parts = append(parts, fmt.Sprintf("%s (described %s, found %s)", x.What, x.Offered, x.Found))
	}
	return some(parts)
}

// some are the first of these, and how many more there are.
func some(parts []string) string {
	if more := len(parts) - shownDifferences; more > 0 {
		parts = append(slices.Clone(parts[:shownDifferences]), fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}

// longestDeletion is how long the cloud may take to delete a machine before a person is told.
const longestDeletion = 20 * time.Minute

// stuck says how many of the group's machines the cloud has not finished deleting for so long; nil for none.
func (rp *report) stuck(st *Outgoing) *reason.Reason {
	if rp.Fleet == nil || st.Deleting() == 0 {
		return nil
	}
	n, first := 0, time.Time{}
	for _, in := range st.Instances {
		since := rp.Fleet.Leaving(fleet.GroupID(st.ID), fleet.UID(in.UID)).Time()
		if in.State != cluster.StateDeleting || since.IsZero() {
			continue
		}
		if rp.Wake(since.Add(longestDeletion)); rp.Now.Before(since.Add(longestDeletion)) {
			continue
		}
		if n++; first.IsZero() || since.Before(first) {
			first = since
		}
	}
	if n == 0 {
		return nil
	}
	return new(reason.New(reason.GroupDeletionStuck, reason.Group(string(st.ID)), "machines", n, "since", first.Format(time.RFC3339), "limit", longestDeletion))
}

// underuse is in what an underused node that could go is underused, and for how long it has been. Nodes of which the same is to be said
// share the words.
func (rp *report) underuse(st *candidate, limit time.Duration) reason.Reason {
	words := underuse{node.Percent(st.Used), string(st.Resource), node.Percent(st.Threshold), rp.queue.idleFor(st), limit}
	said, ok := rp.underuses[words]
	if !ok {
		said = reason.New(reason.NodeUnderused, reason.Ref{}, "used", words.used, "resource", words.resource, "threshold", words.threshold, "idle", words.idle, "limit", words.limit)
		rp.underuses[words] = said
	}
	said.About = reason.Node(st.Name())
	return said
}
