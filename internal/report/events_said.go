package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
)

// Reasons of events. Those that cluster-autoscaler has too mean the same there.
const (
	triggeredScaleUp         = "TriggeredScaleUp"
	notTriggerScaleUp        = "NotTriggerScaleUp"
	scaledUpGroup            = "ScaledUpGroup"
	failedToScaleUpGroup     = "FailedToScaleUpGroup"
	scaleUpFailed            = "ScaleUpFailed"
	tookOverScaleUp          = "TookOverScaleUp"
	scaleDown                = "ScaleDown"
	scaleDownFailed          = "ScaleDownFailed"
	scaleDownAbandoned       = "ScaleDownAbandoned"
	deleteUnregistered       = "DeleteUnregistered"
	deleteUnregisteredFailed = "DeleteUnregisteredFailed"
	guardRefused             = "GuardRefused"
	openGateFailed           = "OpenGateFailed"
	answerFailed             = "AnswerFailed"
	rightMissing             = "RightMissing"
	notMatchedGroup          = "PriorityConfigMapNotMatchedGroup"
	machinesTaken            = "MachinesTaken"
	nodesLost                = "NodesLost"
	groupReleased            = "GroupReleased"
	groupDeleted             = "GroupDeleted"
	deletingNode             = "DeletingNode" // as Kubernetes' cloud controller says it of a Node object whose machine is gone
)

// eventsOfDeeds tells objects, and the status ConfigMap, what was done in the cycle or was tried in vain.
func eventsOfDeeds(entry journal.Entry, status corev1.ObjectReference) []event {
	var events []event
	pods := podsByKey(entry)
	for _, d := range Deeds(entry) {
		switch d.Status() {
		case memory.Accepted, memory.Asked:
			events = append(events, acceptedEvents(d, entry, pods, status)...)
		case memory.Refused:
			why, _ := d.trouble()
			events = append(events, d.event(status, corev1.EventTypeWarning, guardRefused, d.Sentence+": refused: "+why.String(), d.Result.Property+" "+d.about().String()))
		case memory.Failed:
			events = append(events, failedEvent(d, entry, pods, status))
		}
	}
	for _, r := range entry.Refused {
		message := fmt.Sprintf("%s is left alone: refused by %s: %s", r.Resource, r.Property, r.Why)
		events = append(events, event{object: status, kind: corev1.EventTypeWarning, reason: guardRefused, message: message, at: r.At, same: message})
	}
	for _, t := range entry.TookOver {
		message := "Scale-up: " + t.Sentence()
		events = append(events, event{object: status, kind: corev1.EventTypeNormal, reason: tookOverScaleUp, message: message, at: entry.Seen.Time, same: message})
	}
	events = append(events, lateEvents(entry, status)...)
	return append(events, failureEvents(entry, status)...)
}

// failureEvents tell of growths that the cloud accepted and failed later, once for each, with cluster-autoscaler's words.
func failureEvents(entry journal.Entry, status corev1.ObjectReference) []event {
	var events []event
	for _, g := range entry.Seen.Groups {
		f := g.Failure
		if f == nil || !f.At.After(entry.Before.Groups[g.ID].Noticed) {
			continue
		}
		class := "Other"
		switch f.Kind {
		case "quota", "allocation", "unavailable", "network":
			class = "OutOfResources"
		}
		failed := 0
		for _, in := range g.Instances {
			if in.State == cluster.StateFailed {
				failed++
			}
		}
		message := fmt.Sprintf("Failed adding %d nodes to group %s due to %s.%s; source errors: %s", failed, g.ID, class, f.Code, f.Message)
		events = append(events, event{object: status, kind: corev1.EventTypeWarning, reason: scaleUpFailed, message: message, at: f.At, same: message})
	}
	return events
}

func (d Deed) event(object corev1.ObjectReference, kind, why, message, same string) event {
	return event{object: object, kind: kind, reason: why, message: message, at: d.Result.At, same: same}
}

func acceptedEvents(d Deed, entry journal.Entry, pods map[string]*cluster.Pod, status corev1.ObjectReference) []event {
	normal := func(object corev1.ObjectReference, why, message, same string) event {
		return d.event(object, corev1.EventTypeNormal, why, message, same)
	}
	because := d.Because.Sentence()
	switch a := d.of.(type) {
	case action.SetCapacity:
		limit := maxOf(entry, a.Group)
		setting := fmt.Sprintf("Scale-up: setting group %s size to %d instead of %d (max: %d)", a.Group, a.To, a.From, limit)
		message := fmt.Sprintf("Scale-up: group %s size set to %d instead of %d (max: %d)", a.Group, a.To, a.From, limit)
		events := []event{normal(status, scaledUpGroup, setting, setting), normal(status, scaledUpGroup, message, message)}
		message = fmt.Sprintf("pod triggered scale-up: [{%s %d->%d (max: %d)}]", a.Group, a.From, a.To, limit)
		for _, key := range a.Pods {
			if p := pods[key]; p != nil {
				events = append(events, normal(podObject(p), triggeredScaleUp, message, message))
			}
		}
		return events
	case action.Cordon:
		cordoned := normal(nodeObject(entry, d.Node), scaleDown, fmt.Sprintf("cordoned, machine %s of group %s will be deleted: %s", d.Instance, d.Group, because), "cordon")
		return []event{departure(d, entry, status), cordoned}
	case action.Uncordon:
		if taint, is := cleans(d); is {
			message := fmt.Sprintf("removed %s taint from node %s: %s", taint, d.Node, because)
			return []event{normal(nodeObject(entry, d.Node), cleanup, message, message)}
		}
		return []event{normal(nodeObject(entry, d.Node), scaleDownAbandoned, "uncordoned: "+Phrases(verdictOr(entry, d), reason.Node(d.Node)), string(d.Because.Code))}
	case action.AnswerNotice:
		if a.Notice == "" || a.Empty {
			return nil
		}
		return []event{d.event(nodeObject(entry, d.Node), corev1.EventTypeWarning, announced(d.Because), because, "notice "+a.Notice)}
	case action.Evict:
		if a.Notice != "" {
			if p := pods[d.Pod]; p != nil {
				return []event{normal(podObject(p), announced(d.Because), fmt.Sprintf("evicted from node %s: %s", d.Node, because), "")}
			}
			return nil
		}
		events := []event{normal(nodeObject(entry, d.Node), scaleDown, "draining: "+because, "evict")}
		if p := pods[d.Pod]; p != nil {
			events = append(events, normal(podObject(p), scaleDown, fmt.Sprintf("deleting pod for node scale down: node %s is being drained", d.Node), ""))
		}
		return events
	case action.DeleteInstances:
		if d.Node == "" {
			return []event{normal(status, deleteUnregistered, "Removed unregistered node "+providerID(d, entry)+": "+because+shownBy(d, entry), string(d.Group)+"/"+string(d.Instance))}
		}
		return []event{departure(d, entry, status), normal(nodeObject(entry, d.Node), scaleDown, fmt.Sprintf("deleting machine %s of group %s: %s", d.Instance, d.Group, because), "delete")}
	case action.DeleteNode:
		if n := entry.Seen.Node(d.Node); n != nil {
			if _, on := cluster.RemovalOf(n.Object); !on {
				return []event{normal(nodeObject(entry, d.Node), deletingNode, "Node object deleted: "+because+"; sluice did not ask for the machine to go", "bury")}
			}
		}
		return []event{normal(nodeObject(entry, d.Node), scaleDown, "Node object deleted: "+because, "bury")}
	}
	return nil
}

// announced is the reason of events about a notice of the cloud, such as PreemptAnnounced.
func announced(why reason.Reason) string { return why.Facts["kind"] + "Announced" }

func failedEvent(d Deed, entry journal.Entry, pods map[string]*cluster.Pod, status corev1.ObjectReference) event {
	why, _ := d.trouble()
	warn := func(object corev1.ObjectReference, code, message, about string) event {
		return d.event(object, corev1.EventTypeWarning, code, message, about+" "+d.Action+" "+d.Result.Code)
	}
	cause := why.Facts["message"]
	if d.Result.Property != "" { // the provider held it back
		cause = "refused by " + d.Result.Property + ": " + cause
	}
	message := d.Sentence + ": " + cause
	switch d.of.(type) {
	case action.SetCapacity:
		return warn(status, failedToScaleUpGroup, fmt.Sprintf("Scale-up failed for group %s: %s", d.Group, cause), string(d.Group))
	case action.DeleteInstances:
		if d.Node == "" {
			return warn(status, deleteUnregisteredFailed, "Failed to remove node "+providerID(d, entry)+": "+cause, string(d.Group)+"/"+string(d.Instance))
		}
	case action.Uncordon:
		if taint, is := cleans(d); is {
			return warn(nodeObject(entry, d.Node), cleanup, fmt.Sprintf("failed to clean %s on node %s: %s", taint, d.Node, cause), "")
		}
	case action.Evict:
		if p := pods[d.Pod]; p != nil {
			return warn(podObject(p), scaleDownFailed, message, "")
		}
	case action.OpenGate:
		if p := pods[d.Pod]; p != nil {
			return warn(podObject(p), openGateFailed, message, "")
		}
		return warn(status, openGateFailed, message, d.Sentence)
	case action.AnswerRequest, action.AnswerBuffer:
		return warn(status, answerFailed, message, d.Sentence)
	}
	return warn(nodeObject(entry, d.Node), scaleDownFailed, message, "")
}

// eventsOfPods tells pods why no group grows for them.
func eventsOfPods(entry journal.Entry) []event {
	var events []event
	pods := podsByKey(entry)
	tell := func(key string, because []reason.Reason) {
		p := pods[key]
		if p == nil {
			return
		}
		codes := make([]string, len(because))
		for i, r := range because {
			codes[i] = string(r.Code)
		}
		subject := reason.Pod(p.Namespace, p.Name)
		events = append(events, event{
			object: podObject(p), kind: corev1.EventTypeNormal, reason: notTriggerScaleUp, at: entry.Seen.Time,
			message: "pod didn't trigger scale-up: " + Phrases(because, subject), same: strings.Join(codes, " "),
		})
	}
	for _, v := range entry.Plan.Verdicts {
		if v.Subject.Kind == reason.KindPod && v.Outcome == action.PodStuck {
			tell(v.Subject.Name, causes(v.Because))
		}
	}
	for _, d := range Deeds(entry) {
		if _, grows := d.of.(action.SetCapacity); !grows {
			continue
		}
		if why, troubled := d.trouble(); troubled {
			for _, key := range d.Pods {
				tell(key, []reason.Reason{why})
			}
		}
	}
	return events
}

// eventsOfOthers tell the status ConfigMap which machines went by another hand, and which groups are managed no more, of those that were before.
func eventsOfOthers(entry journal.Entry, status corev1.ObjectReference, before map[cluster.GroupID]bool) []event {
	var events []event
	warn := func(id cluster.GroupID, why, message, same string) {
		events = append(events, event{object: status, kind: corev1.EventTypeWarning, reason: why, message: message, at: entry.Seen.Time, same: string(id) + " " + same, lasting: true})
	}
	for _, g := range entry.Seen.Groups {
		v, _ := entry.Plan.Verdict(reason.Group(string(g.ID)))
		if why, taken := find(v.Because, reason.MachinesTaken); taken {
			warn(g.ID, machinesTaken, fmt.Sprintf("node group %s: %s", g.ID, why.Sentence()), stamp(g.Taken.Last))
		}
		if why, deleted := find(v.Because, reason.GroupDeleted); deleted {
			warn(g.ID, groupDeleted, fmt.Sprintf("node group %s: %s", g.ID, why.Sentence()), stamp(g.Deleted))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(before)) {
		if before[id] && entry.Seen.Group(id) == nil {
			warn(id, groupReleased, releasedSentence(id), "")
		}
	}
	for _, loss := range entry.Seen.Objects.Lacks.Losses() {
		warn("", rightMissing, loss.String(), loss.String())
	}
	return events
}

// releasedSentence is said of a group that was managed and is none any more.
func releasedSentence(id cluster.GroupID) string {
	return fmt.Sprintf("node group %s is managed no more: it lost the tags by which it is found; its machines and nodes are left alone", id)
}

// causes leaves out the reason that only sums up the others.
func causes(because []reason.Reason) []reason.Reason {
	if len(because) > 1 && (because[0].Code == reason.NoGroupFits || because[0].Code == reason.NoGroupGrows) {
		return because[1:]
	}
	return because
}

// verdictOr are the reasons of the verdict about the deed's node, which may be more than the deed's own.
func verdictOr(entry journal.Entry, d Deed) []reason.Reason {
	if v, ok := entry.Plan.Verdict(reason.Node(d.Node)); ok {
		return v.Because
	}
	return []reason.Reason{d.Because}
}

// providerID is the deed's machine as its node would carry it, and as its group names it when the cycle did not see it.
func providerID(d Deed, entry journal.Entry) string {
	if g := entry.Seen.Group(d.Group); g != nil {
		if in := g.Instance(d.Instance); in != nil && in.ProviderID != "" {
			return in.ProviderID
		}
	}
	return string(d.Group) + "/" + string(d.Instance)
}

func maxOf(entry journal.Entry, id cluster.GroupID) int {
	if g := entry.Seen.Group(id); g != nil {
		return g.Max
	}
	return 0
}

func podObject(p *cluster.Pod) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID}
}

// nodeObject refers to a node; its UID is empty when the cycle did not see it.
func nodeObject(entry journal.Entry, name string) corev1.ObjectReference {
	o := corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: name}
	if n := entry.Seen.Node(name); n != nil {
		o.UID = n.Object.UID
	}
	return o
}
