// Package journal is the record of every cycle: what was seen, remembered, decided and done. Everything that sluice tells anybody
// is a view of one entry. A journal is JSON lines; an entry says what changed since the one before it, so that a quiet
// cycle costs little and any cycle can be decided again from the file alone.
package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// Entry is one cycle. It is never changed after the cycle.
type Entry struct {
	Cycle    uint64
	Seen     *cluster.Snapshot
	Policy   *policy.Policy
	Before   memory.Memory
	Plan     action.Plan
	Results  []memory.Result // one for each action of the plan
	Refused  []Refusal       // what the cloud's provider has not done of its own accord since the cycle before
	TookOver []Takeover      // growths that another process asked for, of which this one has heard since the cycle before
	DryRun   bool

	// Without says why a look at the cluster did without what the running sluice has learned, one clause; "" when it did not. A journal does
	// not hold it.
	Without string

	// After is what the cycle leaves to the next one. A journal does not hold it: the next entry has it as Before.
	After memory.Memory
}

// Refusal is a write that would have broken a promise and was no action of a plan, such as the deletion of what a removed machine has left.
type Refusal struct {
	At       time.Time `json:"at"`
	Property string    `json:"property"` // of the safety contract
	Resource string    `json:"resource"`
	Why      string    `json:"why"`
}

// Takeover is a growth that another process has asked for, and that this one counts on and goes on to watch.
type Takeover struct {
	Group    cluster.GroupID `json:"group"`
	Capacity int             `json:"capacity"` // that was asked for
	At       time.Time       `json:"at"`       // when it was asked for
}

// Sentence tells of it, to be said about its group.
func (t Takeover) Sentence() string {
	return fmt.Sprintf("takes over the growth of group %s to %d, requested at %s by another leader", t.Group, t.Capacity, t.At.UTC().Format("2006-01-02 15:04:05 UTC"))
}

// Replay decides the entry's cycle again and returns the plan that comes out, and whether it is the recorded one to the letter.
func Replay(e Entry) (action.Plan, bool, error) {
	again, _ := plan.Decide(e.Seen, e.Policy, e.Before)
	want, err := json.Marshal(e.Plan)
	if err != nil {
		return again, false, fmt.Errorf("write the recorded plan of cycle %d: %w", e.Cycle, err)
	}
	got, err := json.Marshal(again)
	if err != nil {
		return again, false, fmt.Errorf("write the replayed plan of cycle %d: %w", e.Cycle, err)
	}
	return again, bytes.Equal(want, got), nil
}
