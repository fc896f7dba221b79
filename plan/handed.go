package plan

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
)

// Breakers are what a process that takes over begins with, by group: what failed before cannot be seen any more. A group that has had no trouble lately, and
// whose machines have joined, is not in it.
type Breakers map[cluster.GroupID]Handed

// Handed is what is handed on of one group.
type Handed struct {
	Breaker
	Backoff Backoff   `json:"backoff,omitzero"` // as in [GroupMemory], and so the others
	Rest    Backoff   `json:"rest,omitzero"`
	Vain    Backoff   `json:"vain,omitzero"`
	Noticed time.Time `json:"noticed,omitzero"`
}

// Breakers are what the memory hands on at a time, nil for nothing.
func (m Memory) Breakers(now time.Time, allowed *policy.Policy) Breakers {
	var all Breakers
	for id, g := range m.Groups {
		lately := func(b Backoff) Backoff {
			if now.After(b.Until) && now.Sub(b.Last) > allowed.Growth.BackoffReset {
				return Backoff{} // the next one begins short
			}
			return b
		}
		h := Handed{Breaker: g.Breaker, Backoff: lately(g.Backoff), Rest: lately(g.Rest), Vain: lately(g.Vain)}
		if h.Backoff != (Backoff{}) {
			h.Noticed = g.Noticed
		}
		b := h.Breaker
		if b.Machines == 0 && b.Kept == "" && b.Last.IsZero() {
			if h.Backoff == (Backoff{}) && h.Rest == (Backoff{}) && h.Vain == (Backoff{}) {
				continue
			}
			h.Breaker = Breaker{}
		}
		if all == nil {
			all = Breakers{}
		}
		all[id] = h
	}
	return all
}

// Memory is that of a process that begins now and knows nothing else.
func (b Breakers) Memory(now time.Time) Memory {
	var m Memory
	for id, h := range b {
		if m.Groups == nil {
			m.Groups = map[cluster.GroupID]GroupMemory{}
		}
		m.Groups[id] = GroupMemory{Breaker: h.Breaker, Backoff: h.Backoff.from(now), Rest: h.Rest.from(now), Vain: h.Vain.from(now), Noticed: h.Noticed}
	}
	return m
}

// from is the back-off that another process began, in one that begins now: it lasts no longer than it was meant to, however far ahead that one's clock was.
func (b Backoff) from(now time.Time) Backoff {
	if b.Last.After(now) {
		b.Until, b.Last = now.Add(b.Until.Sub(b.Last)), now
	}
	return b
}
