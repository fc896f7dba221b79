package action

import (
	"encoding/json"
	"fmt"
	"time"
)

// envelope is an action on paper: its kind beside its fields.
type envelope struct {
	Kind   string          `json:"kind"`
	Action json.RawMessage `json:"action"`
}

type planOnPaper struct {
	Time     time.Time         `json:"time"`
	Actions  []envelope        `json:"actions,omitempty"`
	Verdicts []Verdict         `json:"verdicts,omitempty"`
	Counted  map[string]string `json:"counted,omitempty"`
	Cost     *Cost             `json:"cost,omitempty"`
	Measure  []string          `json:"measure,omitempty"`
	Next     time.Time         `json:"next,omitzero"`
}

// KindOf is the action's kind in journals and metrics: the name of its type.
// Two kinds have the names that their types once had: journals, and queries of metrics, outlive a renaming.
func KindOf(a Action) string {
	switch a.(type) {
	case SetCapacity:
		return "SetCapacity"
	case Cordon:
		return "Cordon"
	case Mark:
		return "Mark"
	case Uncordon:
		return "Uncordon"
	case CandidateTaint:
		return "SoftTaint"
	case CandidateUntaint:
		return "SoftUntaint"
	case Evict:
		return "Evict"
	case DeleteInstances:
		return "DeleteInstances"
	case DeleteNode:
		return "DeleteNode"
	case AskExpander:
		return "AskExpander"
	case OpenGate:
		return "OpenGate"
	case AnswerNotice:
		return "AnswerNotice"
	case AnswerRequest:
		return "AnswerRequest"
	case AnswerBuffer:
		return "AnswerBuffer"
	}
	return fmt.Sprintf("%T", a)
}

// MarshalJSON writes every action with its kind.
func (p Plan) MarshalJSON() ([]byte, error) {
	out := planOnPaper{Time: p.Time, Verdicts: p.Verdicts, Counted: p.Counted, Cost: p.Cost, Measure: p.Measure, Next: p.Next}
	for _, a := range p.Actions {
		raw, err := json.Marshal(a)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", KindOf(a), err)
		}
		out.Actions = append(out.Actions, envelope{KindOf(a), raw})
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what [Plan.MarshalJSON] wrote. An action of a kind this version does not know is an error.
// A replay that left such an action out would decide otherwise than the process that wrote the journal.
func (p *Plan) UnmarshalJSON(data []byte) error {
	var in planOnPaper
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*p = Plan{Time: in.Time, Verdicts: in.Verdicts, Counted: in.Counted, Cost: in.Cost, Measure: in.Measure, Next: in.Next}
	for _, e := range in.Actions {
		a, err := readAction(e)
		if err != nil {
			return fmt.Errorf("read action %q: %w", e.Kind, err)
		}
		p.Actions = append(p.Actions, a)
	}
	return nil
}

func readAction(e envelope) (Action, error) {
	switch e.Kind {
	case "SetCapacity":
		return read[SetCapacity](e.Action)
	case "Cordon":
		return read[Cordon](e.Action)
	case "Mark":
		return read[Mark](e.Action)
	case "Uncordon":
		return read[Uncordon](e.Action)
	case "SoftTaint":
		return read[CandidateTaint](e.Action)
	case "SoftUntaint":
		return read[CandidateUntaint](e.Action)
	case "Evict":
		return read[Evict](e.Action)
	case "DeleteInstances":
		return read[DeleteInstances](e.Action)
	case "DeleteNode":
		return read[DeleteNode](e.Action)
	case "AskExpander":
		return read[AskExpander](e.Action)
	case "OpenGate":
		return read[OpenGate](e.Action)
	case "AnswerNotice":
		return read[AnswerNotice](e.Action)
	case "AnswerRequest":
		return read[AnswerRequest](e.Action)
	case "AnswerBuffer":
		return read[AnswerBuffer](e.Action)
	}
	return nil, fmt.Errorf("unknown kind; was the journal written by a newer version?")
}

func read[A Action](raw json.RawMessage) (Action, error) {
	var a A
	err := json.Unmarshal(raw, &a)
	return a, err
}
