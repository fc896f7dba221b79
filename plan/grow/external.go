package grow

import (
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
)

// ask is the question to the expander's server. The cycle that asks buys nothing more for pods; the next one finds the answer in its
// memory.
func ask(options []Option) *action.AskExpander {
	a := &action.AskExpander{}
	for _, o := range options {
		a.Offers = append(a.Offers, action.Offer{Group: o.Group, Nodes: o.Nodes, Pods: o.Pods})
	}
	return a
}

// answers says whether the server was asked about the groups of these options, in the same order. When others are offered now, the answer
// is no answer to them, and the server is asked again.
func answers(a *memory.Answer, options []Option) bool {
	return slices.EqualFunc(a.Offered, options, func(id cluster.GroupID, o Option) bool { return id == o.Group })
}

// chosen are the options that the server named:
//
//	the server                               kept                      why
//	did not answer, or not well              all                       what went wrong
//	named groups that were offered           these                     ""
//	named only groups that were not offered  all                       says so
//	named none                               none, and no group grows  ""
func chosen(a *memory.Answer, options []Option) (kept []Option, why string) {
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
