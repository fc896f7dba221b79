package azure

import (
	"fmt"
	"time"

	"sluice.dev/sluice/cloud"
)

// What a read must say to be complete. The capacity is known, the list holds at least that many machines besides those being deleted,
// and it lacks none that the last complete read had, unless that machine was being deleted, or Azure accepted its deletion from here,
// or a second list agrees. A short list is never complete, however often it comes: capacity counts failed and stopped machines, and a
// deletion lowers it when it is accepted. Until a read is complete the machines of the last complete one stay visible, with its time.

// rereadEvery is how soon a group is read again after a read that decisions cannot rest on; each further one doubles it, up to the
// cache's time. It is less than ten seconds, so that a cycle of ten seconds finds the group due.
const rereadEvery = 5 * time.Second

// unknown says why the reading is not complete; nil when it is.
func (g *group) unknown(r *reading, known map[string]beyond) *cloud.Error {
	if r.model.unfit != "" {
		return nil
	}
	e := &cloud.Error{Kind: cloud.Transient, Group: g.id, Code: "ListIncomplete"}
	capacity, staying := r.model.capacity, r.staying()
	switch {
	case capacity < 0:
		e.Code, e.Message = "CapacityUnknown", "Azure does not say its capacity"
	case staying < capacity:
		e.Message = fmt.Sprintf("Azure lists %d of the %d machines that its capacity counts: it is read again until the list is whole", staying, capacity)
	default:
		lacks := g.lacks(r, known)
		if lacks == "" || r.sameMachines(g.doubted) {
			return nil
		}
		e.Message = fmt.Sprintf("Azure lists machine %s no more, which sluice did not delete: it is read again until two lists agree", lacks)
	}
	e.Message = fmt.Sprintf("read %s: %s", g, e.Message)
	return e
}

// lacks is the id of a machine whose absence from the reading nothing explains; "" when there is none.
func (g *group) lacks(r *reading, known map[string]beyond) string {
	if g.good == nil {
		return ""
	}
	listed := r.identities()
	for _, m := range g.good.machines {
		if !m.leaving() && !listed[m.identity()] && known[m.uid].does != verbDelete {
			return m.id
		}
	}
	return ""
}

// pace is how soon a doubted group is read again.
func (g *group) pace(longest time.Duration) time.Duration {
	return min(longest, rereadEvery<<min(g.unknowns-1, 8))
}

// staying counts the listed machines that are not being deleted, each once.
func (r *reading) staying() int {
	seen := map[string]bool{}
	for _, m := range r.machines {
		if !m.leaving() {
			seen[m.identity()] = true
		}
	}
	return len(seen)
}

// identities are the listed machines, whatever they do.
func (r *reading) identities() map[string]bool {
	all := map[string]bool{}
	for _, m := range r.machines {
		all[m.identity()] = true
	}
	return all
}

// sameMachines says whether both readings list the same machines.
func (r *reading) sameMachines(other *reading) bool {
	if other == nil {
		return false
	}
	mine, theirs := r.identities(), other.identities()
	for m := range mine {
		if !theirs[m] {
			return false
		}
	}
	return len(mine) == len(theirs)
}
