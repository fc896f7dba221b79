package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sluice.dev/sluice/cluster"
)

// groups looks at the node groups one by one.
func groups(f Facts, d *Diagnosis) []Finding {
	const check = "groups"
	a := f.Azure
	if d.faulty["rights"] && a.refused() {
		return []Finding{dependent(check, "rights")}
	}
	var all []Finding
	switch {
	case a.List != nil:
		all = append(all, Finding{
			Check: check, Status: Problem, Code: GroupsUnlisted, Message: "the node groups cannot be listed: " + a.List.Sentence, Remedy: unread(a.List.Kind, a.Place),
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
	all = append(all, unreadable(f)...)
	read := false
	for _, g := range f.Groups {
		if g.Problem == "" {
			all, read = append(all, group(f, g)...), true
		}
	}
	for i := range all {
		all[i].blocks = !read
	}
	all = append(all, unlabelled(f)...)
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

// unreadable finds the groups that are not managed. Those for one and the same reason are one finding.
func unreadable(f Facts) (all []Finding) {
	reasons := map[string][]string{}
	var order []*cluster.Group
	for _, g := range f.Groups {
		if g.Problem == "" {
			continue
		}
		if reasons[g.Problem] == nil {
			order = append(order, g)
		}
		reasons[g.Problem] = append(reasons[g.Problem], string(g.ID))
	}
	for _, g := range order {
		names := reasons[g.Problem]
		message := fmt.Sprintf("group %s is not managed: %s", names[0], g.Problem)
		if len(names) > 1 {
			message = fmt.Sprintf("groups %s are not managed: %s", some(names), g.Problem)
		}
		remedy := "do what the sentence asks for; until then sluice neither grows nor shrinks it"
		if kind, ok := f.Azure.Unread[g.ID]; ok {
			remedy = unread(kind, f.Azure.Place)
		}
		all = append(all, Finding{Check: "groups", Status: Problem, Code: GroupUnreadable, Subject: strings.Join(names, ", "), Message: message, Remedy: remedy})
	}
	return all
}

// unread is what mends that Azure does not let groups be read.
func unread(kind FailureKind, at Place) string {
	switch kind {
	case Forbidden, Stranger:
		return "give the identity the role in deploy/azure-role.json on the resource group; an assignment takes some minutes to act"
	case NotFound:
		return fmt.Sprintf("correct the name in --nodes, or the place: ARM_SUBSCRIPTION_ID is %s, ARM_RESOURCE_GROUP is %s", at.Subscription, at.ResourceGroup)
	}
	return cmp.Or(kind.remedy(), "do what the sentence says")
}

// unlabelled finds the groups whose nodes say nothing of their size since K3s or RKE2 labels them: one finding for all of them.
func unlabelled(f Facts) []Finding {
	if f.Snapshot == nil {
		return nil
	}
	groups, by := f.Snapshot.Unlabelled()
	if len(groups) == 0 {
		return nil
	}
	names, size := make([]string, len(groups)), groups[0].Size
	for i, g := range groups {
		if names[i] = string(g.ID); g.Size != groups[0].Size {
			size = "SIZE"
		}
	}
	const label = "node.kubernetes.io/instance-type"
	return []Finding{{
		Check: "groups", Status: Warning, Code: SizesUnlabelled, Subject: strings.Join(names, ", "),
		Message: fmt.Sprintf("nodes of %s are labelled %s=%s, by the cloud controller of %s, and with no zone; pods that select a size or a zone get none: %s", count(len(names), "group"), label, by, by, some(names)),
		Remedy: fmt.Sprintf("start its agents with --node-label=%s=%s and --kubelet-arg=provider-id=azure:///…, and tag the scale set k8s.io_cluster-autoscaler_node-template_label_%s=%s",
			label, size, strings.ReplaceAll(label, "/", "_"), size),
	}}
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
	for _, h := range g.OtherActors {
		say(Warning, GroupOtherHands, fmt.Sprintf("group %s: %s", name, h.Does), h.Remedy)
	}
	if !g.Usable() {
		say(Warning, GroupIncomplete, fmt.Sprintf("Azure's answer about group %s is not complete: capacity %d, machines listed: %d", name, g.Capacity, g.Standing()), "look again in a minute; if it stays so, compare the scale set's capacity with its instances in Azure")
		return all
	}
	if g.Template == nil {
		say(Problem, GroupWithoutTemplate, fmt.Sprintf("what a machine of group %s will be is not known: size %s is in no table and the group has no node", name, g.Size), cmp.Or(g.Remedy, "give its cpu and memory by tags"))
	}
	if g.ControlPlane != "" {
		say(Warning, GroupControlPlane, fmt.Sprintf("group %s %s: sluice neither grows nor shrinks it unless --remove-control-plane-nodes is set", name, g.ControlPlane), "take the tags of discovery off its scale set, or its name out of --nodes")
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

func tags(f Facts, _ *Diagnosis) []Finding {
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
	read := 0
	for _, g := range f.Groups {
		if g.Problem == "" {
			read++
		}
	}
	if len(all) == 0 {
		all = append(all, ok(check, "", fmt.Sprintf("every tag of %s that is meant for an autoscaler is understood", count(read, "group"))))
	}
	return all
}
