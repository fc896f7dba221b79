package report

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/grow"
	"sluice.dev/sluice/reason"
)

// More reasons of events that cluster-autoscaler has, with its meaning.
const (
	scaleUpTimedOut      = "ScaleUpTimedOut"
	scaleDownEmpty       = "ScaleDownEmpty"
	clusterUnhealthy     = "ClusterUnhealthy"
	maxNodesTotalReached = "MaxNodesTotalReached"
	cleanup              = "ClusterAutoscalerCleanup"
	configMapInvalid     = "PriorityConfigMapInvalid"
	noGroupMatched       = "PriorityConfigMapNoGroupMatched"
)

// lateEvents tell of machines that did not become Ready nodes in their time, once for each group.
func lateEvents(entry journal.Entry, status corev1.ObjectReference) []event {
	var events []event
	for _, f := range newFailures(entry) {
		if f.Kind != timedOut || f.Group == nil {
			continue
		}
		message := fmt.Sprintf("Nodes added to group %s failed to register within %s", f.Group.ID, entry.Policy.Growth.Node.ProvisionTime)
		events = append(events, event{object: status, kind: corev1.EventTypeWarning, reason: scaleUpTimedOut, message: message, at: f.At, same: message})
	}
	return events
}

// eventsOfCluster tell the status ConfigMap what keeps the whole cluster from being scaled, for as long as it does.
func eventsOfCluster(entry journal.Entry, status corev1.ObjectReference) []event {
	var events []event
	warn := func(why, message string) {
		events = append(events, event{object: status, kind: corev1.EventTypeWarning, reason: why, message: message, at: entry.Seen.Time, same: message})
	}
	if !count(entry).all.healthy(entry.Policy.Health) {
		warn(clusterUnhealthy, "Cluster is unhealthy")
	}
	for _, v := range entry.Plan.Verdicts {
		if _, reached := find(v.Because, reason.ClusterNodesLimit); reached {
			warn(maxNodesTotalReached, fmt.Sprintf("Max total nodes in cluster reached: %d", entry.Policy.Growth.Max.Nodes))
			break
		}
	}
	for _, g := range entry.Seen.Groups {
		v, _ := entry.Plan.Verdict(reason.Group(string(g.ID)))
		if why, lost := find(v.Because, reason.GroupLost); lost {
			message := fmt.Sprintf("Group %s: %s", g.ID, why.Sentence())
			events = append(events, event{object: status, kind: corev1.EventTypeWarning, reason: nodesLost, message: message, at: entry.Seen.Time, same: message})
		}
	}
	return events
}

// departure tells the status ConfigMap of a node that leaves, in cluster-autoscaler's words: when it is cordoned, and when its machine is deleted.
func departure(d Deed, entry journal.Entry, status corev1.ObjectReference) event {
	say := func(why, message string) event {
		return d.event(status, corev1.EventTypeNormal, why, message, message)
	}
	n := entry.Seen.Node(d.Node)
	if a, cordons := d.of.(action.Cordon); cordons {
		if !a.Removal.Empties() {
			return say(scaleDownEmpty, fmt.Sprintf("Scale-down: removing empty node %q", d.Node))
		}
		var pods []string
		if n != nil {
			for _, p := range n.Pods {
				if !p.Daemon() {
					pods = append(pods, p.Name)
				}
			}
		}
		return say(scaleDown, fmt.Sprintf("Scale-down: removing node %s, utilization: {%s}, pods to reschedule: %s", d.Node, d.Because.Sentence(), strings.Join(pods, ",")))
	}
	if n != nil {
		if removal, _ := cluster.RemovalOf(n.Object); removal.Empties() {
			return say(scaleDown, fmt.Sprintf("Scale-down: node %s removed with drain", d.Node))
		}
	}
	return say(scaleDownEmpty, fmt.Sprintf("Scale-down: empty node %s removed", d.Node))
}

// cleans is the taint that is taken off a node which is given back because whoever put it there is gone, and not because the node is needed.
func cleans(d Deed) (taint string, is bool) {
	_, uncordons := d.of.(action.Uncordon)
	switch {
	case uncordons && d.Because.Code == reason.NodeHandedOver:
		return cluster.RemovalTaint, true
	case uncordons && d.Because.Code == reason.NodeLeftByIncumbent:
		return cluster.IncumbentTaint, true
	}
	return "", false
}

// ranking is the ConfigMap that ranks groups, as it was read last.
type ranking struct {
	of   *corev1.ConfigMap
	says grow.Ranking
}

// events tell the ConfigMap that ranks groups what is wrong with it, which groups it leaves out, and that it chose none.
func (r *ranking) events(entry journal.Entry) []event {
	c := entry.Seen.Objects.Ranking()
	if c == nil {
		return nil
	}
	if r.of != c {
		r.of, r.says = c, grow.ReadRanking(c)
	}
	var events []event
	warn := func(why, message, same string) {
		events = append(events, event{
			object: corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: c.Namespace, Name: c.Name, UID: c.UID},
			kind:   corev1.EventTypeWarning, reason: why, at: entry.Seen.Time, message: message, same: same, lasting: true,
		})
	}
	if wrong := r.says.Wrong(); wrong != "" {
		warn(configMapInvalid, "no group is ranked: "+wrong, wrong)
	}
	for _, v := range entry.Plan.Verdicts {
		if why, unranked := find(v.Because, reason.GroupUnranked); unranked {
			warn(notMatchedGroup, fmt.Sprintf("node group %s: %s", v.Subject.Name, why.Sentence()), v.Subject.Name)
		}
	}
	for _, a := range entry.Plan.Actions {
		if grow, grows := a.(action.SetCapacity); grows && r.says.Unranked(grow.Group) {
			warn(noGroupMatched, fmt.Sprintf("no priority matches a group that could grow: group %s grows unranked", grow.Group), string(grow.Group))
		}
	}
	return events
}

// eventsOfBuffers tell capacity buffers whether a group grows for them, as pods are told.
func eventsOfBuffers(entry journal.Entry) []event {
	var events []event
	for _, b := range entry.Seen.Objects.CapacityBuffers {
		v, judged := entry.Plan.Verdict(reason.Buffer(b.Namespace, b.Name))
		if !judged || v.Outcome != action.ClaimGrows && v.Outcome != action.ClaimStuck {
			continue
		}
		why, message := triggeredScaleUp, "capacity buffer triggered scale-up: "
		if v.Outcome == action.ClaimStuck {
			why, message = notTriggerScaleUp, "capacity buffer didn't trigger scale-up: "
		}
		because := causes(v.Because)
		codes := make([]string, len(because))
		for i, r := range because {
			codes[i] = string(r.Code)
		}
		events = append(events, event{
			object: corev1.ObjectReference{APIVersion: "autoscaling.x-k8s.io/v1beta1", Kind: "CapacityBuffer", Namespace: b.Namespace, Name: b.Name, UID: b.UID},
			kind:   corev1.EventTypeNormal, reason: why, at: entry.Seen.Time, message: message + Phrases(because, v.Subject), same: strings.Join(codes, " "),
		})
	}
	return events
}

// silence is how long an event that says the same of the same object is not repeated.
func (e *Events) silence() time.Duration {
	if e.Repeat {
		return 0
	}
	return eventSilence
}
