package plan

import (
	"slices"

	"sluice.dev/sluice/cluster"
)

// AskExpander asks the operator's own server which groups may grow. It changes nothing: the next cycle, which follows at once, decides with
// the answer.
type AskExpander struct {
	Offers []Offer `json:"offers"` // sorted by group, never empty
}

// Offer is one [Option] as the server is told of it.
type Offer struct {
	Group cluster.GroupID `json:"group"`
	Nodes int             `json:"nodes"`
	Pods  []string        `json:"pods"` // "namespace/name", sorted
}

func (AskExpander) isAction() {}

func ask(options []Option) *AskExpander {
	a := &AskExpander{}
	for _, o := range options {
		a.Offers = append(a.Offers, Offer{o.Group, o.Nodes, o.Pods})
	}
	return a
}

// Answer is what became of an [AskExpander]. It holds for one cycle, and for the groups that were offered: how many machines each would
// add may have changed, since pods come while the server thinks, and asking anew for each of them would never end.
type Answer struct {
	Offered []cluster.GroupID `json:"offered"` // sorted
	Keep    []cluster.GroupID `json:"keep,omitempty"`
	Wrong   string            `json:"wrong,omitempty"` // why there is no answer; then every group stays
}

// answerTo is the answer to a question that came back with this result.
func answerTo(a AskExpander, r Result) *Answer {
	out := &Answer{Keep: r.Chosen}
	for _, o := range a.Offers {
		out.Offered = append(out.Offered, o.Group)
	}
	if r.Status != Accepted {
		out.Keep, out.Wrong = nil, r.Message
	}
	return out
}

// answers says whether the server was asked about these options.
func answers(a *Answer, options []Option) bool {
	return slices.EqualFunc(a.Offered, options, func(id cluster.GroupID, o Option) bool { return id == o.Group })
}

// chosen are the options that the server named; all of them when it did not answer or named only groups that were not offered, and why says
// so. A server that named none wants none to grow.
func chosen(a *Answer, options []Option) (kept []Option, why string) {
	if a.Wrong != "" {
		return options, a.Wrong
	}
	for _, o := range options {
		if slices.Contains(a.Keep, o.Group) {
			kept = append(kept, o)
		}
	}
	if len(kept) == 0 && len(a.Keep) > 0 {
		return options, "its server names only groups that were not offered"
	}
	return kept, ""
}
