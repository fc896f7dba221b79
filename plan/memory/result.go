package memory

import (
	"maps"
	"time"

	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/policy"
)

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
//
//	action           accepted                 no answer yet (Asked)  failed                          refused by the guard
//	SetCapacity      is granted               is granted, for now    Backoff, not after a lost race  Backoff, if it would be refused again
//	DeleteInstances  Rest ends                Rest grows             Rest grows                      nothing
//	Cordon           its time, by this clock  nothing                Uncordoned                      nothing
//	Evict            Refused ends             nothing                Refused grows                   nothing
//	AskExpander      the answer               why there is none      why there is none               why there is none
//
// All other actions leave nothing: the next snapshot shows what came of them. Skipped and Deferred leave nothing at all, except
// AskExpander.
func (m Memory) After(p action.Plan, results []Result, allowed *policy.Policy) Memory {
	m.Answer = nil
	m.granted()
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
				m.granted(append(m.Granted, Grant{a.Group, a.Adds, r.At})...)
				if g.Repeats++; a.To != g.Capacity || r.At.Sub(g.Requested) > 2*allowed.Growth.Backoff.Initial {
					g.Repeats = 0
				}
				g.Asks = g.asksAgain(p.Time, allowed)
				g.Requested, g.Decided, g.Capacity, g.Races, m.LastGrowth = r.At, p.Time, a.To, 0, r.At
				g.Backoff = g.Backoff.unshown(g.Repeats, a, r.At, allowed)
				g.Awaited = a.Zones
			case Asked:
				m.granted(append(m.Granted, Grant{a.Group, a.Adds, r.At})...)
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
					r.Kind = "conflict"
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
				m.cordon(a.Node, Cordoned{Said: a.Removal.Since, By: r.At})
			}
		case action.Evict:
			if c, on := m.Cordoned[a.Node]; on {
				m.cordon(a.Node, c.evicted(r, p.Time, allowed))
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

// The outcomes of an action.
const (
	Accepted Status = "accepted" // the cloud or the API server took it
	Refused  Status = "refused"  // the guard stopped it before anything was sent
	Failed   Status = "failed"   // it was sent and came back with an error
	Skipped  Status = "skipped"  // nothing was sent and nothing is wrong: a budget says wait, a race was lost, a dry run
	Deferred Status = "deferred" // nothing was sent: others took so long that the next cycle decides anew
	Asked    Status = "asked"    // it was sent, and the cloud has not answered yet: what it shows tells, and a growth counts until then
)

// lasting are the properties for which the guard refuses a growth of a group again in the next cycle: because of machines that the cloud's
// answers do not show.
var lasting = map[string]bool{"S-01": true, "S-04": true, "S-06": true, "S-11": true, "S-35": true}

// transientPause is how long a group rests after a passing fault of the cloud, and longestRest what the rest after deletions that fail may
// come to, however short the first back-off of growth is.
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

// answerTo is the answer to a question that came back with this result.
func answerTo(a action.AskExpander, r Result) *Answer {
	out := &Answer{Keep: r.Chosen}
	for _, o := range a.Offers {
		out.Offered = append(out.Offered, o.Group)
	}
	if r.Status != Accepted {
		out.Keep, out.Wrong = nil, r.Message
	}
	return out
}
