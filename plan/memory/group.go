package memory

import (
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
)

// GroupMemory is what is remembered of one group.
type GroupMemory struct {
	Requested  time.Time `json:"requested,omitzero"`  // when the cloud last accepted a growth
	Decided    time.Time `json:"decided,omitzero"`    // the cycle that decided it: pods that came later are none of those that it was for
	Asks       int       `json:"asks,omitempty"`      // growths in a row, each less than two windows of bursts after the one before
	Capacity   int       `json:"capacity,omitempty"`  // the capacity it accepted then
	Noticed    time.Time `json:"noticed,omitzero"`    // the last failure already counted
	Backoff    Backoff   `json:"backoff,omitzero"`    // from growth
	Rest       Backoff   `json:"rest,omitzero"`       // from deleting machines
	Vain       Backoff   `json:"vain,omitzero"`       // from emptying nodes of pods
	Breaker    Breaker   `json:"breaker,omitzero"`    // of machines that never become nodes
	Deleted    time.Time `json:"deleted,omitzero"`    // when the cloud last accepted a deletion of its machines
	Deletion   Deletion  `json:"deletion,omitzero"`   // the last one that was seen to end
	Uncordoned time.Time `json:"uncordoned,omitzero"` // when one of its nodes could last not be tainted for removal
	Attaches   Attaches  `json:"attaches,omitzero"`   // what kubelets of its nodes said last
	Boot       Boot      `json:"boot,omitzero"`       // what its nodes showed last
	Races      int       `json:"races,omitempty"`     // growths in a row that lost a race
	Repeats    int       `json:"repeats,omitempty"`   // growths in a row to a capacity that the cloud had just accepted, as no read showed it

	// Awaited are the machines by zone that a group over several zones has when all are there that it was asked for, as was assumed then; nil
	// when that is no question. Astray are zones that machines did not come up in although that was assumed: see [grow.Growth.NoticeStrays].
	Awaited map[string]int     `json:"awaited,omitempty"`
	Astray  map[string]Backoff `json:"astray,omitempty"`
}

// Boot is the longest that machines of a group took from their creation until they registered, and the group's size then.
type Boot struct {
	Longest time.Duration `json:"longest"`
	Size    string        `json:"size,omitempty"`
	Learned time.Time     `json:"learned,omitzero"`
}

// InUse is for how long measured use alone has kept a node.
type InUse struct {
	Since time.Time `json:"since"`
	Last  time.Time `json:"last"` // the last cycle in which its measured use was above the threshold
}

// Emptied is when a node was last told to be empty of pods: when it was cordoned for that, or a pod was evicted from it.
type Emptied struct {
	Group cluster.GroupID `json:"group"`
	At    time.Time       `json:"at"`
}

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

// Attaches is how many volumes a node of a group can attach, and the size of the group then: of another size nothing is known.
type Attaches struct {
	Volumes int    `json:"volumes"`
	Size    string `json:"size,omitempty"`
}

// Deletion is one of a group's machines that was seen to end.
type Deletion struct {
	Asked time.Time     `json:"asked"` // when the cloud accepted it
	Took  time.Duration `json:"took"`
}

// Status is what became of an action.
type Status string
