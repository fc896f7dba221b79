package memory

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
)

// Answer is what became of an [action.AskExpander]. It holds for one cycle, and for the groups that were offered: how many machines each would
// add may have changed, since pods come while the server thinks, and asking anew for each of them would never end.
type Answer struct {
	Offered []cluster.GroupID `json:"offered"` // sorted
	Keep    []cluster.GroupID `json:"keep,omitempty"`
	Wrong   string            `json:"wrong,omitempty"` // why there is no answer; then every group stays
}

// answerTo is the answer to a question that came back with this result.
func answerTo(a action.AskExpander, r Result) *Answer {
	out := &Answer{Keep: r.Chosen}
	for _, o := range a.Offers {
		out.Offered = append(out.Offered, o.Group)
	}
	if r.Status != Accepted {
		out.Keep, out.Wrong = nil, r.Message
	}
	return out
}
