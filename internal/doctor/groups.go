package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sluice.dev/sluice/cluster"
)

// groups looks at the node groups one by one.
func groups(f Facts) []Finding {
	const check = "groups"
	a := f.Azure
	var all []Finding
	switch {
	case a.Config != nil || a.Metadata != nil || a.Token != nil:
		return []Finding{unknown(check, "not looked at without a token")}
	case a.List != nil:
		all = append(all, Finding{
			Check: check, Status: Problem, Code: GroupsUnlisted, Message: fmt.Sprintf("the node groups cannot be listed: %v", a.List),
			Remedy: "see the findings before this one; the identity needs Microsoft.Compute/virtualMachineScaleSets/read on the resource group",
		})
	case len(f.Groups) == 0 && a.Discovered:
		all = append(all, Finding{
			Check: check, Status: Problem, Code: NoGroups, Message: fmt.Sprintf("no scale set of resource group %s has the tags that discovery asks for", a.Place.ResourceGroup),
			Remedy: "tag the scale sets as --node-group-auto-discovery asks (without it: cluster-autoscaler-enabled=true, min and max), or name them with --nodes=min:max:name",
		})
	case len(f.Groups) == 0:
		all = append(all, Finding{
			Check: check, Status: Problem, Code: NoGroups, Message: "no node group is named", Remedy: "name them with --nodes=min:max:name, or tag the scale sets",
		})
	}
	for _, g := range f.Groups {
		all = append(all, group(f, g)...)
	}
	all = append(all, paused(f)...)
	for _, s := range f.Strangers {
		all = append(all, Finding{
			Check: check, Status: Warning, Code: GroupStranger, Message: s + ", and there is no such group: it has no effect", Remedy: "correct the name, or tag the scale set so that it is found",
		})
	}
	for _, l := range a.LeftOut {
		all = append(all, Finding{
			Check: check, Status: Warning, Code: SetLeftOut, Subject: l.Name, Message: fmt.Sprintf("scale set %s is left out: %s", l.Name, l.Why),
			Remedy: "correct its tags, or take the tags of discovery off",
		})
	}
	for _, size := range a.Unpriced {
		all = append(all, Finding{
			Check: check, Status: Warning, Code: SizeUnpriced, Subject: size, Message: fmt.Sprintf("the price of %s in %s is unknown, so that groups are compared by size", size, a.Place.Location),
			Remedy: "give it in --prices-file, or switch --retail-prices on",
		})
	}
	return all
}

// paused finds what somebody has sluice leave alone, and pauses of groups that are not there.
func paused(f Facts) (all []Finding) {
	if f.Snapshot == nil {
		return nil
	}
	pauses := f.Snapshot.Objects.Pauses()
	for _, id := range pauses.Groups() {
		until, on := (cluster.Pauses{id: pauses[id]}).Of(id, f.Snapshot.Time)
		if !on {
			continue
		}
		finding := Finding{Check: "groups", Status: Warning, Code: GroupPaused, Subject: string(id), Remedy: "wait, or end it with sluice resume " + string(id)}
		switch known := slices.ContainsFunc(f.Groups, func(g *cluster.Group) bool { return strings.EqualFold(string(g.ID), string(id)) }); {
		case id == cluster.AllGroups:
			finding.Message, finding.Remedy = "every group is paused until "+until, "wait, or end it with sluice resume"
		case known:
			finding.Message = fmt.Sprintf("group %s is paused until %s: it is neither grown nor are machines of it deleted", id, until)
		default:
			finding.Message = fmt.Sprintf("group %s is paused until %s, and there is no such group", id, until)
		}
		all = append(all, finding)
	}
	return all
}

func group(f Facts, g *cluster.Group) []Finding {
	const check = "groups"
	name := string(g.ID)
	var all []Finding
	say := func(status Status, code, message, remedy string) {
		all = append(all, Finding{Check: check, Status: status, Code: code, Subject: name, Message: message, Remedy: remedy})
	}
	if joined := f.joined(g.ID); joined != nil {
		g = joined // what its nodes taught is in it
	}
	switch {
	case g.Problem != "":
		say(Problem, GroupUnreadable, fmt.Sprintf("group %s is not managed: %s", name, g.Problem), "do what the sentence asks for; until then sluice neither grows nor shrinks it")
		return all
	case !g.Usable():
		say(Warning, GroupIncomplete, fmt.Sprintf("Azure's answer about group %s is not complete: capacity %d, machines listed: %d", name, g.Capacity, g.Standing()), "look again in a minute; if it stays so, compare the scale set's capacity with its instances in Azure")
		return all
	}
	if g.Template == nil {
		say(Problem, GroupWithoutTemplate, fmt.Sprintf("what a machine of group %s will be is not known: size %s is in no table and the group has no node", name, g.Size), cmp.Or(g.Remedy, "give its cpu and memory by tags"))
	}
	switch {
	case g.Capacity < g.Min:
		say(Warning, GroupBelowMin, fmt.Sprintf("group %s has capacity %d, below its min %d", name, g.Capacity, g.Min), "grow the scale set once by hand, or lower min: sluice grows a group for pods alone")
	case g.Capacity > g.Max:
		say(Warning, GroupAboveMax, fmt.Sprintf("group %s has capacity %d, above its max %d", name, g.Capacity, g.Max), "raise max, or wait until nodes are idle: sluice deletes machines of idle ones only")
	}
	if g.Failure != nil {
		say(Warning, GroupFailed, fmt.Sprintf("the last change of group %s failed: %s", name, g.Failure.Message), "see to what the sentence names; sluice tries again by itself after a while")
	}
	for _, d := range g.Drift {
		say(Warning, TemplateDrifts, fmt.Sprintf("nodes of group %s have %s %s where Azure and tags say %s", name, d.What, d.Found, d.Offered), "correct the scale set's tags, or what kubelet is told at its start: an empty group is judged by the tags alone")
	}
	if len(all) == 0 {
		all = append(all, ok(check, name, fmt.Sprintf("group %s: %s (min %d, max %d)", name, count(g.Capacity, "machine"), g.Min, g.Max)))
	}
	return all
}

// joined is the group as the snapshot has it; nil without a snapshot.
func (f Facts) joined(id cluster.GroupID) *cluster.Group {
	if f.Snapshot == nil {
		return nil
	}
	return f.Snapshot.Group(id)
}

func tags(f Facts) []Finding {
	const check = "tags"
	var all []Finding
	for _, n := range f.Azure.Notices {
		message := n.Sentence
		if n.Group != "" {
			message = fmt.Sprintf("group %s: %s", n.Group, n.Sentence)
		}
		all = append(all, Finding{
			Check: check, Status: Warning, Code: GroupNoticed, Subject: n.Group, Message: message,
			Remedy: "do what the sentence says; until then sluice does without",
		})
	}
	switch {
	case len(all) == 0 && len(f.Groups) == 0:
		all = append(all, unknown(check, "not looked at without a group"))
	case len(all) == 0:
		all = append(all, ok(check, "", "every tag of the groups that is meant for an autoscaler is understood"))
	}
	return all
}
