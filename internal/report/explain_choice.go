package report

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// Choice is a group that could have grown for a pod: what a machine of it costs, or why an empty one does not hold the pod.
type Choice struct {
	Group   cluster.GroupID `json:"group"`
	Chosen  bool            `json:"chosen,omitempty"`
	USD     *float64        `json:"usdPerHour"`        // of one machine by list price, nil when unknown
	Refuses []reason.Reason `json:"refuses,omitempty"` // why an empty machine does not hold it; other pods are not looked at
	Said    []reason.Reason `json:"said,omitempty"`    // what the plan compared, and what keeps the group from growing
	Unknown bool            `json:"unknown,omitempty"` // nothing is known of the group's machines
}

// Holds says whether an empty machine of the group would hold the pod, as far as it is known.
func (c Choice) Holds() bool { return c.Chosen || !c.Unknown && len(c.Refuses) == 0 }

// Cost is what one machine costs an hour, in words.
func (c Choice) Cost() string {
	if c.USD == nil {
		return "price unknown"
	}
	return fmt.Sprintf("%.3f USD an hour", *c.USD)
}

// words are what a choice says of itself after its cost.
func (c Choice) words() string {
	about := reason.Group(string(c.Group))
	switch {
	case c.Unknown && !c.Chosen:
		return "nothing is known of its machines"
	case len(c.Refuses) > 0:
		return Phrases(c.Refuses, about)
	case len(c.Said) > 0:
		return Phrases(c.Said, about)
	case c.Chosen:
		return "grows for it"
	}
	return "could hold it"
}

// choices are the groups for a pod for which one grows, or has grown and its machine comes: that one, then those that would hold it by what a
// machine costs, then the others by how many causes they have. Nil for another pod.
func choices(entry journal.Entry, pod *cluster.Pod, of action.Verdict, verdicts map[reason.Ref]action.Verdict) (all []Choice) {
	chosen := cluster.GroupID("")
	if of.Outcome == action.PodGrows || of.Outcome == action.PodWaiting {
		for _, r := range of.Because {
			chosen = cmp.Or(chosen, cluster.GroupID(r.Facts["group"]))
		}
	}
	if chosen == "" || pod == nil || len(entry.Seen.Groups) < 2 {
		return nil
	}
	objects := entry.Seen.Objects
	objects.Nodes, objects.Pods = nil, nil
	check := scheduling.NewChecker(&cluster.Snapshot{Time: entry.Seen.Time, Objects: objects})
	for _, g := range entry.Seen.Groups {
		c := Choice{Group: g.ID, Chosen: g.ID == chosen, Unknown: g.Template == nil, Said: compared(verdicts[reason.Group(string(g.ID))], chosen)}
		if g.PriceUSDPerHour > 0 {
			c.USD = &g.PriceUSDPerHour
		}
		if !c.Chosen && !c.Unknown {
			c.Refuses = refusals(check, g, pod)
		}
		all = append(all, c)
	}
	rank := func(c Choice) int {
		switch {
		case c.Chosen:
			return 0
		case c.Holds() && c.USD != nil:
			return 1
		case c.Holds():
			return 2
		case !c.Unknown:
			return 3
		}
		return 4
	}
	slices.SortStableFunc(all, func(a, b Choice) int {
		by := cmp.Compare(rank(a), rank(b))
		if by == 0 && rank(a) == 1 {
			by = cmp.Compare(*a.USD, *b.USD)
		}
		return cmp.Or(by, cmp.Compare(len(a.Refuses), len(b.Refuses)))
	})
	return all
}

// compared are the plan's reasons about a group that tell why it was chosen or not: what it was weighed against, or what keeps it.
func compared(v action.Verdict, chosen cluster.GroupID) (all []reason.Reason) {
	for _, r := range v.Because {
		if r.Code == reason.Weighed && v.Subject.Name == string(chosen) || r.Code == reason.Outweighed && r.Facts["group"] == string(chosen) ||
			r.Code == reason.ExpanderChose || r.Code == reason.ExpanderDropped {
			all = append(all, r)
		}
	}
	if kept := v.Outcome == action.GroupFull || v.Outcome == action.GroupBackoff || v.Outcome == action.GroupHold; kept && len(all) == 0 && len(v.Because) > 0 {
		all = v.Because[:1]
	}
	return all
}

// others are the codes that depend on what runs elsewhere, which is not looked at here: a checker of a whole large cluster takes a second.
var others = map[reason.Code]bool{reason.PodAffinity: true, reason.PodAntiAffinity: true, reason.TopologySpread: true, reason.SchedulerRefused: true}

// refusals are why an empty machine of the group does not hold the pod, in the zone that comes nearest.
func refusals(check *scheduling.Checker, g *cluster.Group, pod *cluster.Pod) (fewest []reason.Reason) {
	zones := g.Zones
	if len(zones) < 2 { // all machines are where the template says
		zones = []string{g.Template.Labels[corev1.LabelTopologyZone]}
	}
	for i, zone := range zones {
		n := scheduling.Future(cluster.InZone(g.Template, zone), "new machine of "+string(g.ID))
		undo := check.Add(n, check.Daemons(n)...)
		why := slices.DeleteFunc(check.Refusals(pod, n.Name), func(r reason.Reason) bool { return others[r.Code] })
		undo()
		for j := range why {
			why[j].About = reason.Group(string(g.ID))
		}
		if i == 0 || len(why) < len(fewest) {
			fewest = why
		}
	}
	return fewest
}
