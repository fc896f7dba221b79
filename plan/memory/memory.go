// Package memory is what one cycle leaves to the next and what the cluster does not show, and how results of actions change it.
//
// [Placing], [Growing] and [Removing] are written by the phases of these names; of a group:
//
//	what                                              written by
//	Attaches                                          place
//	Breaker, Boot, Noticed, Astray                    grow
//	Backoff, Awaited                                  grow, and the results of actions
//	AbortedDrain, Deletion                            remove
//	Requested, Decided, Asks, Capacity, Races,
//	Repeats, Rest, Deleted, Uncordoned,
//	and LastGrowth of all                             the results of actions
package memory

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// Memory is what one cycle leaves to the next and the cluster does not show, in parts, each of which has one phase that writes it. Losing
// it is safe: timers start anew. It is a value; [plan.Decide] and [Memory.After] return changed copies, which share their maps for as long
// as these are the same: nobody else may change them.
type Memory struct {
	Placing
	Growing
	Removing
	Since  time.Time                       `json:"since,omitzero"` // the first cycle that this memory goes back to
	Groups map[cluster.GroupID]GroupMemory `json:"groups,omitempty"`
}

// Placing is what placing pods leaves to the next cycle.
type Placing struct {
	Places  *Places            `json:"places,omitempty"`  // of the pods that wait, nil when none had one
	Unbound map[string]Unbound `json:"unbound,omitempty"` // pods that fit a node and are not bound, by UID; see there
	Runs    map[string]RunTime `json:"runs,omitempty"`    // of Jobs' pods and those that a drain target may concern, by owner, series and namespace; see [RunTime]
	Looked  Looked             `json:"looked,omitzero"`   // how far cycles came that could not look at all pods
}

// Growing is what adding machines leaves to the next cycle, beside what is remembered of each group.
type Growing struct {
	Gangs      map[string]time.Time `json:"gangs,omitempty"`     // since when a gang that waits could not be whole, by its ID
	Queued     time.Time            `json:"queued,omitzero"`     // when pods of a burst were last seen that the scheduler had not judged yet
	LastGrowth time.Time            `json:"lastGrowth,omitzero"` // when the cloud last accepted a growth of any group
	Ceilings   map[string]Usage     `json:"ceilings,omitempty"`  // what counts for ceilings with a window, by their words
	PaidUntil  time.Time            `json:"paidUntil,omitzero"`  // until when running machines are counted there; zero when no ceiling counts what they cost
	Granted    []Grant              `json:"granted,omitempty"`   // what the last cycle was granted; the next one counts it
	Taken      []string             `json:"taken,omitempty"`     // spot machines that the cloud takes away, whose nodes are there still and that have counted, by UID, sorted
	Answer     *Answer              `json:"answer,omitempty"`    // to what the last cycle asked an expander's server, nil when it asked nothing
}

// Removing is what taking nodes out leaves to the next cycle, beside what is remembered of each group.
type Removing struct {
	Removable     map[string]time.Time `json:"removable,omitempty"`    // since when a node could go without a break, by its name
	Cordoned      map[string]Cordoned  `json:"cordoned,omitempty"`     // cordoned nodes, by their names; see [Cordoned]
	Detaching     map[string]time.Time `json:"detaching,omitempty"`    // since when an empty cordoned node has waited for its volumes, by its name
	Dismissed     map[string]time.Time `json:"dismissed,omitempty"`    // when the daemons of an empty cordoned node were told to end, by its name
	Emptied       map[string]Emptied   `json:"emptied,omitempty"`      // nodes that were emptied of pods lately, by name
	HandedOver    map[string]time.Time `json:"handedOver,omitempty"`   // since when a node that bears this sluice's name is of no group that is managed, by its name
	Consolidation Consolidation        `json:"consolidation,omitzero"` // see there
	InUse         map[string]InUse     `json:"inUse,omitempty"`        // nodes that measured use has kept, by their names; see [InUse]
	Measured      time.Time            `json:"measured,omitzero"`      // when nodes were last to be measured
}

// GroupMemory is what is remembered of one group.
type GroupMemory struct {
	Requested    time.Time `json:"requested,omitzero"`  // when the cloud last accepted a growth
	Decided      time.Time `json:"decided,omitzero"`    // the cycle that decided it: pods that came later are none of those that it was for
	Asks         int       `json:"asks,omitempty"`      // growths in a row, each less than two windows of bursts after the one before
	Capacity     int       `json:"capacity,omitempty"`  // the capacity it accepted then
	Noticed      time.Time `json:"noticed,omitzero"`    // the last failure already counted
	Backoff      Backoff   `json:"backoff,omitzero"`    // from growth
	Rest         Backoff   `json:"rest,omitzero"`       // from deleting machines
	AbortedDrain Backoff   `json:"vain,omitzero"`       // from emptying nodes of pods
	Breaker      Breaker   `json:"breaker,omitzero"`    // of machines that never become nodes
	Deleted      time.Time `json:"deleted,omitzero"`    // when the cloud last accepted a deletion of its machines
	Deletion     Deletion  `json:"deletion,omitzero"`   // the last one that was seen to end
	Uncordoned   time.Time `json:"uncordoned,omitzero"` // when one of its nodes could last not be tainted for removal
	Attaches     Attaches  `json:"attaches,omitzero"`   // what kubelets of its nodes said last
	Boot         Boot      `json:"boot,omitzero"`       // what its nodes showed last
	Races        int       `json:"races,omitempty"`     // growths in a row that lost a race
	Repeats      int       `json:"repeats,omitempty"`   // growths in a row to a capacity that the cloud had just accepted, as no read showed it

	// Awaited are the machines by zone that a group over several zones has when all are there that it was asked for, as was assumed then; nil
	// when that is no question. Astray are zones that machines did not come up in although that was assumed: see [grow.Failures].
	Awaited map[string]int     `json:"awaited,omitempty"`
	Astray  map[string]Backoff `json:"astray,omitempty"`
}

// Places are where a cycle saw room for the pods that wait. The next cycle lets them keep it for as long as they fit there. The machines
// that are coming were chosen for pods that share them in a certain way. Were these pods to look for room anew, each on the first machine
// that takes it, they would share otherwise, some would be left over, and further machines would be bought for them (S-34). A value is
// never changed.
type Places struct {
	// Nodes are names of nodes and, as [place.comingName] has them, of machines that are coming.
	Nodes []string `json:"nodes"`

	// Of has the places of pods by their class, those to be taken first in front: in turns the index of a node, and how many pods have room
	// on it.
	Of map[cluster.Key][]int32 `json:"of"`
}

// Looked is how far cycles came through pods that are more than one cycle can look at.
type Looked struct {
	Upto   Mark `json:"upto,omitzero"`    // the youngest pod up to which each was looked at
	Next   Mark `json:"next,omitzero"`    // where the next cycle goes on with those that were
	Unseen int  `json:"unseen,omitempty"` // pods that were not
}

// Mark is a pod's place in the order of age.
type Mark struct {
	Created time.Time `json:"created,omitzero"`
	Name    string    `json:"name,omitempty"` // with its namespace
}

// Compare orders marks by age, the oldest first.
func (m Mark) Compare(o Mark) int {
	return cmp.Or(m.Created.Compare(o.Created), cmp.Compare(m.Name, o.Name))
}

// RunTime is what was learned of how long the pods of one owner run, or of owners that are alike. It is immutable.
type RunTime struct {
	Mean    time.Duration         `json:"mean,omitempty"`    // of those that were seen to end, recent ones weighing more; 0 while none was
	Ended   int                   `json:"ended,omitempty"`   // how many were, up to [settledRuns]
	Seen    time.Time             `json:"seen"`              // when one of them last began or ended
	Watched map[types.UID]Watched `json:"watched,omitempty"` // pods whose end is awaited; at most [WatchedRuns]
}

// Watched is a pod that runs.
type Watched struct {
	Node  string    `json:"node"`
	Began time.Time `json:"began"`
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

// Backoff keeps a group from being written to after a failure.
type Backoff struct {
	Until   time.Time     `json:"until"`
	Length  time.Duration `json:"length"` // of the present or last back-off; doubles from failure to failure
	Last    time.Time     `json:"last"`   // the failure that began it
	Code    string        `json:"code"`
	Message string        `json:"message"`

	// Ceiling is a capacity up to which the group may grow meanwhile, as the cloud said how much of a quota is left; 0 for none.
	Ceiling int `json:"ceiling,omitempty"`
}

// Breaker counts machines of a group that never became Ready nodes, since one did. When it is open, the group gets one machine at a time:
// the next one tells whether they join again. The last that did not is kept for a while, so that somebody can find out why.
type Breaker struct {
	Machines int       `json:"machines,omitempty"` // at most [BreaksAt]
	Last     time.Time `json:"last,omitzero"`      // when the last of them began to be waited for
	Kept     string    `json:"kept,omitempty"`     // the machine that is kept, by its UID
	Until    time.Time `json:"until,omitzero"`     // it is kept at most until then

}

// Cordoned is by when a cordoned node was cordoned, as this process knows it: the taint says since when by the clock of the process that
// put it there, and the pause after it is measured by one clock.
type Cordoned struct {
	Said time.Time `json:"said"` // what the taint says
	By   time.Time `json:"by"`   // not later than this, by the clock of this process

	Refused Backoff `json:"refused,omitzero"` // from evicting its pods
}

// Consolidation moves pods that run well, only because the same could run for less. It is opt-in, one node at a time, and only when nothing
// else moves: a node whose pods all fit onto others, or onto others and one machine of another size that costs less. What that saves within
// the time for which it is expected to last must be worth more than moving costs. A replacement is bought first; when it is Ready, and the
// pods still fit, the node is cordoned as any other.

// Consolidation is what one cycle leaves to the next of a node that could be emptied for a saving.
type Consolidation struct {
	Node    string          `json:"node"`
	Since   time.Time       `json:"since"`              // it has been worth it without a break
	Group   cluster.GroupID `json:"group,omitempty"`    // of its replacement, "" when there needs to be none
	Asked   time.Time       `json:"asked,omitzero"`     // when that was asked for
	Stepped bool            `json:"stepped,omitempty"`  // the node is cordoned
	Saving  float64         `json:"savingUSDPerHour"`   // what that saves
	Spent   Usage           `json:"spentDay,omitempty"` // nodes of the last day; it stays when the rest is over
}

// Cooldown is a pause of removals that is in force.
type Cooldown struct {
	at    time.Time
	Delay time.Duration
	After string // what happened then
}

// Grant is what the cloud accepted for a group.
type Grant struct {
	Group    cluster.GroupID `json:"group"`
	Machines int             `json:"machines"`
	At       time.Time       `json:"at"`
}

// Handed is what is handed on of one group.
type Handed struct {
	Breaker
	Backoff      Backoff            `json:"backoff,omitzero"` // as in [GroupMemory], and so the others
	Rest         Backoff            `json:"rest,omitzero"`
	AbortedDrain Backoff            `json:"vain,omitzero"`
	Noticed      time.Time          `json:"noticed,omitzero"`
	Astray       map[string]Backoff `json:"astray,omitempty"`
}

// Breakers are what a process that takes over begins with: what failed before, and what counts for a window, cannot be seen any more.
type Breakers struct {
	Groups    map[cluster.GroupID]Handed `json:"groups,omitempty"`   // that had trouble lately, or whose machines have not joined
	Ceilings  map[string]Usage           `json:"ceilings,omitempty"` // as in [Memory], and so the others
	PaidUntil time.Time                  `json:"paidUntil,omitzero"`
	Granted   []Grant                    `json:"granted,omitempty"`    // what the last cycle was granted
	Emptied   Usage                      `json:"emptiedFor,omitempty"` // nodes that were emptied for a saving within the last day
}

// Usage is what counted for a ceiling within its window, in slices of time, the oldest first. It is immutable.
type Usage []Slice

// Slice is a stretch of time and what counted in it.
type Slice struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to"` // the last time at which something was added
	Amount float64   `json:"amount"`
}

// Answer is what became of an [action.AskExpander]. It holds for one cycle, and for the groups that were offered: how many machines each
// would add may have changed, since pods come while the server thinks, and asking anew for each of them would never end.
type Answer struct {
	Offered []cluster.GroupID `json:"offered"` // sorted
	Keep    []cluster.GroupID `json:"keep,omitempty"`
	Wrong   string            `json:"wrong,omitempty"` // why there is no answer; then every group stays
}

// Status is what became of an action.
type Status string

// Result is what became of the plan's action of the same index.
type Result struct {
	Status     Status         `json:"status"`
	At         time.Time      `json:"at"`                   // when the answer was known
	Property   string         `json:"property,omitempty"`   // of the safety contract: for Refused, and for Failed when the provider itself held it back
	Kind       string         `json:"kind,omitempty"`       // for Failed: the cloud error's kind, or "kubernetes"
	Code       string         `json:"code,omitempty"`       // for Failed: the cloud's own code; for Refused: the reason's
	Message    string         `json:"message,omitempty"`    // one sentence
	Reason     *reason.Reason `json:"reason,omitempty"`     // for Refused: with its facts
	RetryAfter time.Duration  `json:"retryAfter,omitempty"` // for Failed: how long the cloud asked to be left alone

	Quota *cluster.Quota `json:"quota,omitempty"` // for Failed of kind "quota": the cloud's numbers

	Chosen []cluster.GroupID `json:"chosen,omitempty"` // for an accepted [action.AskExpander]: the groups that the server named
}
