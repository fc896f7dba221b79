package azure

import (
	"maps"
	"time"

	"sluice.dev/sluice/cluster"
)

// takenFor is how long it is told that machines left by another hand.
const takenFor = time.Hour

// takes remembers that the machine left by another hand.
func (g *group) takes(uid string, at time.Time) {
	if _, known := g.taken[uid]; known {
		return
	}
	if g.taken == nil {
		g.taken = map[string]time.Time{}
	}
	g.taken[uid] = at.UTC()
}

// tookAway counts what left by another hand within [takenFor] of now.
func (g *group) tookAway(now time.Time) (t cluster.Taken) {
	maps.DeleteFunc(g.taken, func(_ string, at time.Time) bool { return now.Sub(at) >= takenFor })
	for _, at := range g.taken {
		t.Machines++
		if t.First.IsZero() || at.Before(t.First) {
			t.First = at
		}
		t.Last = latest(t.Last, at)
	}
	return t
}
