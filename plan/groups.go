package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// judgeGroups sums up what happens to every group. The first reason is the one that matters most; the size always follows.
func (d *removing) judgeGroups() {
	unranked := d.unranked()
	for _, g := range d.s.Groups {
		st := d.groups[g.ID]
		about := reason.Group(string(g.ID))
		size := reason.New(reason.GroupSteady, about, "nodes", st.joined, "capacity", g.Capacity, "min", g.Min, "max", g.Max)
		var because []reason.Reason
		outcome := GroupSteady
		say := func(o Outcome, why reason.Reason) {
			if len(because) == 0 {
				outcome = o
			}
			because = append(because, why)
		}
		if blocked := st.blockedRead(); blocked != nil && blocked.Code == reason.GroupAsked {
			say(GroupGrowing, *blocked)
		} else if blocked != nil {
			say(GroupHold, *blocked)
		}
		if st.paused != nil {
			say(GroupHold, *st.paused)
		}
		if st.blocked != nil && st.blocked.Code == reason.GroupDeleted {
			say(GroupHold, *st.blocked)
		}
		if st.servers {
			say(GroupHold, d.controlled(g.ID))
		}
		for _, a := range d.grows {
			if a.Group == g.ID {
				for _, why := range st.because {
					say(GroupGrow, why)
				}
			}
		}
		if st.blocked != nil && st.blocked.Code == reason.GroupBackoff {
			say(GroupBackoff, *st.blocked)
		}
		if st.blocked != nil && st.blocked.Code == reason.GroupStrays {
			say(GroupHold, *st.blocked)
		} else if d.m.Groups[g.ID].Breaker.open() {
			say(GroupBackoff, d.broken(g.ID))
		}
		if st.coming > 0 {
			if len(st.late) > 0 {
				say(GroupGrowing, reason.New(reason.GroupLate, about, "machines", len(st.late), "longest", d.longestBoot(st.groupState).Truncate(time.Second)))
			}
			say(GroupGrowing, reason.New(reason.GroupGrowing, about, "coming", st.coming))
			if st.taken != nil {
				because = append(because, *st.taken)
			}
		}
		if leaving := st.leaving + st.Deleting(); leaving > 0 {
			if stuck := d.stuck(st); stuck != nil {
				say(GroupHold, *stuck)
			}
			say(GroupShrink, reason.New(reason.GroupShrinking, about, "leaving", leaving))
		}
		if st.wanted {
			say(GroupFull, reason.New(reason.GroupAtMax, about, "capacity", d.believed(st.groupState)+st.adding, "max", g.Max))
		}
		if st.blocked != nil && st.blocked.Code == reason.GroupNoTemplate {
			say(GroupHold, *st.blocked)
		}
		if foreign := d.foreign(st.groupState); foreign != nil && len(d.unjoined(st.groupState)) > 0 {
			say(GroupHold, *foreign)
		}
		if t := g.Taken; t.Machines > 0 && (st.blocked == nil || st.blocked.Code != reason.GroupContradicted) {
			because = append(because, reason.New(reason.MachinesTaken, about, "machines", t.Machines, "since", t.First.Format(time.RFC3339)))
		}
		if outcome == GroupSteady && g.Capacity >= 0 && g.Capacity < g.Min {
			because = append(because, reason.New(reason.GroupBelowMin, about, "capacity", g.Capacity, "min", g.Min))
		}
		if n := d.failing(st.growGroup); n > 0 && len(d.s.Groups) > 1 {
			because = append(because, reason.New(reason.GroupUnready, about, "nodes", n))
		}
		if st.contract.lost != nil {
			because = append(because, *st.contract.lost)
		}
		if st.unrepaired > 0 {
			because = append(because, reason.New(reason.GroupUnrepaired, about, "nodes", st.unrepaired, "min", g.Min))
		}
		because = append(because, st.short...)
		if st.weighed != nil {
			because = append(because, *st.weighed)
		}
		if st.assumed != nil {
			because = append(because, *st.assumed)
		}
		passed := d.passedZones(st.growGroup)
		for _, zone := range slices.Sorted(maps.Keys(passed)) {
			because = append(because, passed[zone])
		}
		if st.passedOver != nil && st.adding == 0 {
			because = append(because, *st.passedOver)
		}
		if unranked(g.ID) {
			because = append(because, reason.New(reason.GroupUnranked, about, "configmap", cluster.RankingName))
		}
		for _, r := range d.complaints {
			r.About = about
			because = append(because, r)
		}
		if g.Template != nil {
			for _, t := range g.Passing.Awaited(g.Template.Spec.Taints) {
				because = append(because, reason.New(reason.GroupTaintStays, about, "taint", t.ToString(), "who", g.Passing.Remover(t.Key), "limit", d.allowed.Growth.Startup))
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
		d.judge(about, outcome, because...)
	}
}

// unranked tells the groups that the operator's ranking leaves out; none where no ranking is asked for.
func (d *removing) unranked() func(cluster.GroupID) bool {
	if !slices.Contains(d.allowed.Growth.Expanders, policy.Priority) {
		return func(cluster.GroupID) bool { return false }
	}
	return ReadRanking(d.s.Objects.Ranking()).Unranked
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
func (d *removing) stuck(st *removeGroup) *reason.Reason {
	if d.fleet == nil || st.Deleting() == 0 {
		return nil
	}
	n, first := 0, time.Time{}
	for _, in := range st.Instances {
		since := d.fleet.Leaving(fleet.GroupID(st.ID), fleet.UID(in.UID)).Time()
		if in.State != cluster.StateDeleting || since.IsZero() {
			continue
		}
		if d.wake(since.Add(longestDeletion)); d.now.Before(since.Add(longestDeletion)) {
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
