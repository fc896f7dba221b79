package memory

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
)

// IsZero says that nothing is handed on.
func (b Breakers) IsZero() bool {
	return len(b.Groups)+len(b.Ceilings)+len(b.Granted)+len(b.Emptied) == 0
}

// Breakers are what the memory passes on at a time.
func (m Memory) Breakers(now time.Time, allowed *policy.Policy) Breakers {
	all := Breakers{Ceilings: m.Ceilings, PaidUntil: m.PaidUntil, Granted: m.Granted, Emptied: m.Consolidation.Spent.Trimmed(now, Day)}
	for id, g := range m.Groups {
		if h, some := g.handed(now, allowed); some {
			if all.Groups == nil {
				all.Groups = map[cluster.GroupID]Handed{}
			}
			all.Groups[id] = h
		}
	}
	return all
}

// handed is what the group passes on, and whether there is anything.
func (g GroupMemory) handed(now time.Time, allowed *policy.Policy) (h Handed, some bool) {
	lately := func(b Backoff) Backoff {
		if now.After(b.Until) && now.Sub(b.Last) > allowed.Growth.Backoff.Reset {
			return Backoff{} // the next one begins short
		}
		return b
	}
	h = Handed{Backoff: lately(g.Backoff), Rest: lately(g.Rest), AbortedDrain: lately(g.AbortedDrain)}
	for zone, b := range g.Astray {
		if b = lately(b); b != (Backoff{}) {
			h.Astray = With(h.Astray, zone, b)
		}
	}
	some = h.Backoff != (Backoff{}) || h.Rest != (Backoff{}) || h.AbortedDrain != (Backoff{}) || h.Astray != nil
	if h.Backoff != (Backoff{}) {
		h.Noticed = g.Noticed
	}
	if b := g.Breaker; b.Machines > 0 || b.Kept != "" || !b.Last.IsZero() {
		h.Breaker, some = b, true
	}
	return h, some
}

// Memory is that of a process that begins now and knows nothing else.
func (b Breakers) Memory(now time.Time) Memory {
	var groups map[cluster.GroupID]GroupMemory
	for id, h := range b.Groups {
		g := GroupMemory{Breaker: h.Breaker, Backoff: h.Backoff.from(now), Rest: h.Rest.from(now), AbortedDrain: h.AbortedDrain.from(now), Noticed: h.Noticed}
		for zone, b := range h.Astray {
			g.Astray = With(g.Astray, zone, b.from(now))
		}
		groups = With(groups, id, g)
	}
	return Memory{
		Growing:  Growing{Ceilings: b.Ceilings, PaidUntil: b.PaidUntil, Granted: b.Granted},
		Removing: Removing{Consolidation: Consolidation{Spent: b.Emptied}},
		Groups:   groups,
	}
}

// BreaksAt is how many machines of a group may fail to become Ready nodes one after the other before its breaker opens (S-35).
const BreaksAt = 3

// Equal says whether both breakers stand alike.
func (b Breaker) Equal(other Breaker) bool {
	return b.Machines == other.Machines && b.Kept == other.Kept && b.Last.Equal(other.Last) && b.Until.Equal(other.Until)
}

// Open says whether the group gets one machine at a time.
func (b Breaker) Open() bool { return b.Machines >= BreaksAt }
