package memory

import (
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
)

// Unbound is a pod that fits a node, and that its scheduler has not bound:
//
//	state  evidence                                            next
//	holds  Until is zero: it has fitted a node since Since     left once that is longer than [policy.Binds]; forgotten once it fits no node
//	left   Until is to come: it holds no node and buys none    tried at Until; forgotten once its scheduler has judged it anew
//	tried  both are zero: it waits as any other pod            holds once it fits a node
//
// It is forgotten when it waits no more.
type Unbound struct {
	Since time.Time     `json:"since,omitzero"` // without a break; a pod is younger than [place.bindsSoon] before
	Until time.Time     `json:"until,omitzero"`
	Rest  time.Duration `json:"rest,omitempty"` // how long it was left last: doubles from time to time, up to [place.longestLeft]

	// Refused are the groups, sorted, on whose nodes its scheduler did not bind it: another one is chosen before them.
	Refused []cluster.GroupID `json:"refused,omitempty"`
}

// Equal says whether both say the same of a pod.
func (u Unbound) Equal(o Unbound) bool {
	return u.Since.Equal(o.Since) && u.Until.Equal(o.Until) && u.Rest == o.Rest && slices.Equal(u.Refused, o.Refused)
}

// Left says whether the pod holds no node and makes no group grow.
func (u Unbound) Left(now time.Time) bool { return now.Before(u.Until) }
