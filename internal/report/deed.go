package report

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
)

// Deed is what an action of the plan does to one thing, in words, with what became of it. An action on several machines is one
// deed for each of them, with the same result but for those that the safety contract keeps.
type Deed struct {
	Action   string             `json:"action"`             // as [action.KindOf] names it, or ParkInstances where machines are switched off and kept
	Sentence string             `json:"sentence"`           // what it does, such as "grow group agents 1 -> 3"
	Group    cluster.GroupID    `json:"group,omitempty"`    // "" where the action names none
	Instance cluster.InstanceID `json:"instance,omitempty"` // within Group
	Node     string             `json:"node,omitempty"`
	Pod      string             `json:"pod,omitempty"`  // "namespace/name" of the pod that is evicted
	Pods     []string           `json:"pods,omitempty"` // for which pending pods a group grows
	Claim    reason.Ref         `json:"claim,omitzero"` // the request or buffer that is answered
	Because  reason.Reason      `json:"because"`
	Result   *memory.Result     `json:"result,omitempty"` // nil when nobody tried to perform it

	of    action.Action
	index int // of the action in the plan
}

// Deeds are the deeds of an entry, in the order of the plan's actions.
func Deeds(entry journal.Entry) []Deed {
	var deeds []Deed
	for i, act := range entry.Plan.Actions {
		var result *memory.Result
		if i < len(entry.Results) {
			result = &entry.Results[i]
		}
		for _, d := range deedsOf(act, entry) {
			d.Action, d.Result, d.of, d.index = cmp.Or(d.Action, action.KindOf(act)), result, act, i
			deeds = append(deeds, d)
		}
	}
	return deeds
}

func deedsOf(act action.Action, entry journal.Entry) []Deed {
	switch a := act.(type) {
	case action.SetCapacity:
		return []Deed{{
			Sentence: fmt.Sprintf("grow group %s %d -> %d", a.Group, a.From, a.To),
			Group:    a.Group, Pods: a.Pods, Because: a.Because,
		}}
	case action.Cordon:
		return []Deed{{Sentence: "cordon node " + a.Node, Group: a.Machine.Group, Instance: a.Machine.ID, Node: a.Node, Because: a.Because}}
	case action.Mark:
		return []Deed{{Sentence: fmt.Sprintf("name machine %s of group %s on its node %s", a.Machine.ID, a.Machine.Group, a.Node), Group: a.Machine.Group, Instance: a.Machine.ID, Node: a.Node, Because: a.Because}}
	case action.Uncordon:
		return []Deed{{Sentence: "uncordon node " + a.Node, Group: groupOf(entry, a.Node), Node: a.Node, Because: a.Because}}
	case action.CandidateTaint:
		return []Deed{{Sentence: "put a soft taint on node " + a.Node, Group: groupOf(entry, a.Node), Node: a.Node, Because: a.Because}}
	case action.CandidateUntaint:
		return []Deed{{Sentence: "take the soft taint off node " + a.Node, Group: groupOf(entry, a.Node), Node: a.Node, Because: a.Because}}
	case action.Evict:
		pod := a.Namespace + "/" + a.Pod
		return []Deed{{Sentence: fmt.Sprintf("evict pod %s from node %s", pod, a.Node), Node: a.Node, Pod: pod, Because: a.Because}}
	case action.DeleteInstances:
		var deeds []Deed
		for _, l := range a.Machines {
			d := Deed{Group: a.Group, Instance: l.ID, Node: l.Node, Because: l.Because}
			d.Sentence = fmt.Sprintf("delete machine %s of group %s", l.ID, a.Group)
			if l.Node != "" {
				if g := entry.Seen.Group(a.Group); g != nil && g.Parks {
					d.Action, d.Sentence = "ParkInstances", fmt.Sprintf("park machine %s of group %s", l.ID, a.Group)
				}
				d.Sentence += " (node " + l.Node + ")"
			}
			deeds = append(deeds, d)
		}
		return deeds
	case action.AskExpander:
		return []Deed{{Sentence: fmt.Sprintf("ask the expander's server about %d groups", len(a.Offers))}}
	case action.DeleteNode:
		return []Deed{{Sentence: "delete the Node object " + a.Node, Group: a.Machine.Group, Instance: a.Machine.ID, Node: a.Node, Because: a.Because}}
	case action.AnswerNotice:
		sentence := "take back the answer to the notice on node " + a.Node
		switch {
		case a.Empty:
			sentence = "say that node " + a.Node + " is empty"
		case a.Notice != "":
			sentence = "answer the notice on node " + a.Node
		}
		return []Deed{{Sentence: sentence, Group: groupOf(entry, a.Node), Node: a.Node, Because: a.Because}}
	case action.OpenGate:
		pod := a.Namespace + "/" + a.Pod
		return []Deed{{Sentence: "open the scheduling gate of pod " + pod, Pod: pod, Because: a.Because}}
	case action.AnswerRequest:
		return []Deed{{Sentence: "answer provisioning request " + a.Namespace + "/" + a.Request + conditionsSaid(a.Conditions), Claim: reason.Request(a.Namespace, a.Request), Because: a.Because}}
	case action.AnswerBuffer:
		return []Deed{{Sentence: "answer capacity buffer " + a.Namespace + "/" + a.Buffer + conditionsSaid(a.Conditions), Claim: reason.Buffer(a.Namespace, a.Buffer), Because: a.Because}}
	}
	return nil
}

// conditionsSaid is what the conditions say, for the end of a sentence.
func conditionsSaid(conditions []metav1.Condition) string {
	words := make([]string, len(conditions))
	for i, c := range conditions {
		words[i] = fmt.Sprintf("%s=%s (%s)", c.Type, c.Status, c.Reason)
	}
	if len(words) == 0 {
		return ""
	}
	return ": " + strings.Join(words, ", ")
}

// Status is what became of the deed, "" when nobody tried.
func (d Deed) Status() memory.Status {
	if d.Result == nil {
		return ""
	}
	return d.Result.Status
}

// about is what the deed is done to.
func (d Deed) about() reason.Ref {
	switch {
	case d.Claim != (reason.Ref{}):
		return d.Claim
	case d.Pod != "":
		return reason.Ref{Kind: reason.KindPod, Name: d.Pod}
	case d.Node != "":
		return reason.Node(d.Node)
	case d.Instance != "":
		return reason.Instance(string(d.Group), string(d.Instance))
	}
	if d.Group == "" {
		return reason.Ref{Kind: reason.KindCluster}
	}
	return reason.Group(string(d.Group))
}

// concerns says whether somebody who asks about a thing wants to hear of the deed.
func (d Deed) concerns(about reason.Ref) bool {
	switch about.Kind {
	case reason.KindRequest, reason.KindBuffer:
		return d.Claim == about
	case reason.KindGroup:
		return string(d.Group) == about.Name
	case reason.KindNode:
		return d.Node == about.Name
	case reason.KindInstance:
		return d.Instance != "" && string(d.Group)+"/"+string(d.Instance) == about.Name
	case reason.KindPod:
		if d.Pod == about.Name {
			return true
		}
		for _, p := range d.Pods {
			if p == about.Name {
				return true
			}
		}
	}
	return false
}

// trouble is why the deed did not happen, in a reason's words; false when it did, or when nothing is wrong.
func (d Deed) trouble() (reason.Reason, bool) {
	switch d.Status() {
	case memory.Refused:
		if d.Result.Reason != nil {
			return *d.Result.Reason, true
		}
		return reason.New(reason.WriteRefused, d.about(), "property", d.Result.Property, "why", d.Result.Message), true
	case memory.Failed:
		message := d.Result.Message
		if d.Result.Code != "" {
			message = d.Result.Code + ": " + message
		}
		return reason.New(reason.WriteFailed, d.about(), "action", d.Action, "message", message), true
	}
	return reason.Reason{}, false
}

// groupOf is the group of a node as the cycle saw it, "" when it is gone.
func groupOf(entry journal.Entry, node string) cluster.GroupID {
	if n := entry.Seen.Node(node); n != nil {
		return n.Group
	}
	return ""
}
