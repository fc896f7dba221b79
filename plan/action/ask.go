package action

import (
	"sluice.dev/sluice/cluster"
)

// AskExpander asks the operator's own server which groups may grow. It changes nothing: the next cycle, which follows at once, decides with
// the answer.
type AskExpander struct {
	Offers []Offer `json:"offers"` // sorted by group, never empty
}

// Offer is one [grow.Option] as the server is told of it.
type Offer struct {
	Group cluster.GroupID `json:"group"`
	Nodes int             `json:"nodes"`
	Pods  []string        `json:"pods"` // "namespace/name", sorted
}

func (AskExpander) isAction() {}
