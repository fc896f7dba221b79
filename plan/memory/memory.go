// Package memory is what one cycle leaves to the next and what the cluster does not show, and how results of actions change it.
//
// Each part has the phase that writes it:
//
//	what                                              written by
//	Places, Unbound, Runs, Attaches                   place
//	Gangs, Ceilings, Granted, Backoff, Breaker, Boot,
//	Awaited, Astray, Queued, Answer                   grow
//	Removable, Cordoned, Detaching, Dismissed,
//	Emptied, Consolidation, HandedOver, InUse,
//	Rest, Vain, Deletion                              remove
//	Requested, Decided, Capacity, Races, Repeats,
//	Deleted, LastGrowth                               the results of actions
package memory

import (
	"maps"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/policy"
)

// Memory is what one cycle leaves to the next and the cluster does not show. Losing it is safe: timers start anew. It is a
// value; [plan.Decide] and [Memory.After] return changed copies, which share their maps for as long as these are the same: nobody else may
// change them.
type Memory struct {
	Removable     map[string]time.Time            `json:"removable,omitempty"` // since when a node could go without a break, by its name
	Cordoned      map[string]Cordoned             `json:"cordoned,omitempty"`  // nodes on the ladder, by their names; see [Cordoned]
	Detaching     map[string]time.Time            `json:"detaching,omitempty"` // since when an empty node on the ladder has waited for its volumes, by its name
	Dismissed     map[string]time.Time            `json:"dismissed,omitempty"` // when the daemons of an empty node on the ladder were told to end, by its name
	Emptied       map[string]Emptied              `json:"emptied,omitempty"`   // nodes that were emptied of pods lately, by name
	Unbound       map[string]Unbound              `json:"unbound,omitempty"`   // pods that fit a node and are not bound, by UID; see there
	Since         time.Time                       `json:"since,omitzero"`      // the first cycle that this memory goes back to
	Groups        map[cluster.GroupID]GroupMemory `json:"groups,omitempty"`
	Taken         []string                        `json:"taken,omitempty"`        // spot machines that the cloud takes away, whose nodes are there still and that have counted, by UID, sorted
	Gangs         map[string]time.Time            `json:"gangs,omitempty"`        // since when a gang that waits could not be whole, by its ID
	Queued        time.Time                       `json:"queued,omitzero"`        // when pods of a burst were last seen that the scheduler had not judged yet
	LastGrowth    time.Time                       `json:"lastGrowth,omitzero"`    // when the cloud last accepted a growth of any group
	Ceilings      map[string]Usage                `json:"ceilings,omitempty"`     // what counts for ceilings with a window, by their words
	PaidUntil     time.Time                       `json:"paidUntil,omitzero"`     // until when running machines are counted there; zero when no ceiling counts what they cost
	Granted       []Grant                         `json:"granted,omitempty"`      // what the last cycle was granted; the next one counts it
	Runs          map[string]RunTime              `json:"runs,omitempty"`         // of Jobs' pods and those that a drain target may concern, by owner, series and namespace; see [RunTime]
	Places        *Places                         `json:"places,omitempty"`       // of the pods that wait, nil when none had one
	HandedOver    map[string]time.Time            `json:"handedOver,omitempty"`   // since when a node that bears this sluice's name is of no group that is managed, by its name
	Consolidation Consolidation                   `json:"consolidation,omitzero"` // see there
	InUse         map[string]InUse                `json:"inUse,omitempty"`        // nodes that measured use has kept, by their names; see [InUse]
	Measured      time.Time                       `json:"measured,omitzero"`      // when nodes were last to be measured
	Answer        *Answer                         `json:"answer,omitempty"`       // to what the last cycle asked an expander's server, nil when it asked nothing
}

// The outcomes of an action.
const (
	Accepted Status = "accepted" // the cloud or the API server took it
	Refused  Status = "refused"  // the guard stopped it before anything was sent
	Failed   Status = "failed"   // it was sent and came back with an error
	Skipped  Status = "skipped"  // nothing was sent and nothing is wrong: a budget says wait, a race was lost, a dry run
	Deferred Status = "deferred" // nothing was sent: others took so long that the next cycle decides anew
	Asked    Status = "asked"    // it was sent, and the cloud has not answered yet: what it shows tells, and a growth counts until then
)

// Result is what became of the plan's action of the same index.
type Result struct {
	Status     Status        `json:"status"`
	At         time.Time     `json:"at"`                   // when the answer was known
	Property   string        `json:"property,omitempty"`   // of the safety contract: for Refused, and for Failed when the provider itself held it back
	Kind       string        `json:"kind,omitempty"`       // for Failed: the cloud error's kind, or "kubernetes"
	Code       string        `json:"code,omitempty"`       // for Failed: the cloud's own code
	Message    string        `json:"message,omitempty"`    // one sentence
	RetryAfter time.Duration `json:"retryAfter,omitempty"` // for Failed: how long the cloud asked to be left alone

	Quota *cluster.Quota `json:"quota,omitempty"` // for Failed of kind "quota": the cloud's numbers

	Chosen []cluster.GroupID `json:"chosen,omitempty"` // for an accepted [action.AskExpander]: the groups that the server named
}

// With is a copy of a memory's map with another value for the key.
func With[K comparable, V any](all map[K]V, key K, value V) map[K]V {
	out := make(map[K]V, len(all)+1)
	maps.Copy(out, all)
	out[key] = value
	return out
}

// Without is a memory's map without the key: itself where it has none.
func Without[K comparable, V any](all map[K]V, key K) map[K]V {
	if _, has := all[key]; !has {
		return all
	}
	out := maps.Clone(all)
	delete(out, key)
	return out
}

// After is the memory after the plan's actions came back with these results, one for each action.
func (m Memory) After(p action.Plan, results []Result, allowed *policy.Policy) Memory {
	m.Answer, m.Granted = nil, nil
	for i, a := range p.Actions {
		if i >= len(results) {
			break
		}
		r := results[i]
		r.At = r.At.UTC().Round(0)
		switch a := a.(type) {
		case action.SetCapacity:
			g := m.Groups[a.Group]
			switch r.Status {
			case Accepted:
				m.Granted = append(m.Granted, Grant{a.Group, a.Adds, r.At})
				if g.Repeats++; a.To != g.Capacity || r.At.Sub(g.Requested) > 2*allowed.Growth.BackoffFirst {
					g.Repeats = 0
				}
				g.Asks = g.asksAgain(p.Time, allowed)
				g.Requested, g.Decided, g.Capacity, g.Races, m.LastGrowth = r.At, p.Time, a.To, 0, r.At
				g.Backoff = g.Backoff.unshown(g.Repeats, a, r.At, allowed)
				g.Awaited = a.Zones
			case Asked:
				m.Granted = append(m.Granted, Grant{a.Group, a.Adds, r.At})
				g.Asks = g.asksAgain(p.Time, allowed)
				g.Requested, g.Decided, g.Capacity, m.LastGrowth = r.At, p.Time, a.To, r.At
				g.Awaited = a.Zones
			case Failed:
				if g.Races++; r.Kind != "conflict" {
					g.Races = 0
				}
				g.Backoff = backoffAfter(g.Backoff, a, r, g.Races, allowed)
			case Refused:
				if lasting[r.Property] { // others are asked meanwhile
					g.Races++
					r.Kind, r.Code = "conflict", r.Property
					g.Backoff = backoffAfter(g.Backoff, a, r, g.Races, allowed)
				}
			}
			m.Groups = With(m.Groups, a.Group, g)
		case action.Cordon:
			if g := m.Groups[a.Machine.Group]; r.Status == Failed {
				g.Uncordoned = r.At
				m.Groups = With(m.Groups, a.Machine.Group, g)
			}
			if r.Status == Accepted {
				m.Cordoned = With(m.Cordoned, a.Node, Cordoned{Said: a.Removal.Since, By: r.At})
			}
		case action.Evict:
			if c, on := m.Cordoned[a.Node]; on {
				m.Cordoned = With(m.Cordoned, a.Node, c.evicted(r, p.Time, allowed))
			}
		case action.DeleteInstances:
			g := m.Groups[a.Group]
			switch r.Status {
			case Accepted:
				g.Rest, g.Repeats, g.Deleted = Backoff{}, 0, r.At
			case Asked, Failed:
				g.Rest = g.Rest.lengthened(r, allowed)
			}
			m.Groups = With(m.Groups, a.Group, g)
		case action.AskExpander:
			m.Answer = answerTo(a, r)
		}
	}
	return m
}

// lasting are the properties for which the guard refuses a growth of a group again in the next cycle: because of machines that the cloud's answers do not show.
var lasting = map[string]bool{"S-01": true, "S-04": true, "S-06": true, "S-11": true, "S-35": true}

// transientPause is how long a group rests after a passing fault of the cloud, and longestRest what the rest after deletions that fail may come to,
// however short the first back-off of growth is.
const (
	transientPause = 10 * time.Second
	longestRest    = 5 * time.Minute
)

// freeRaces is how many growths in a row may lose a race before that is no accident: reads may be stale. The pause after further ones
// is at most longestRace: nobody says when they tell the truth again.
const (
	freeRaces   = 3
	longestRace = time.Minute
)

// freeRepeats is how many growths in a row may repeat the one before.
const freeRepeats = 2

// Day is the window of limits by the day.
const Day = 24 * time.Hour
