package grow

import (
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
)

func ask(options []Option) *action.AskExpander {
	a := &action.AskExpander{}
	for _, o := range options {
		a.Offers = append(a.Offers, action.Offer{Group: o.Group, Nodes: o.Nodes, Pods: o.Pods})
	}
	return a
}

// answers says whether the server was asked about these options.
func answers(a *memory.Answer, options []Option) bool {
	return slices.EqualFunc(a.Offered, options, func(id cluster.GroupID, o Option) bool { return id == o.Group })
}

// chosen are the options that the server named; all of them when it did not answer or named only groups that were not offered, and why says
// so. A server that named none wants none to grow.
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
