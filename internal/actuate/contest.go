package actuate

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/guard"
)

// A group whose growth somebody else undoes three times within contestFor is left alone until contestFor after the last time.
const (
	contestTimes = 3
	contestFor   = 30 * time.Minute
)

// contests are with others about capacities, by group.
type contests map[cluster.GroupID]*contest

// contest is what this process last asked for and how often less was found, once for each growth. A cloud whose reads are late is nobody's doing:
// what is undone was there.
type contest struct {
	asked  int  // 0: nothing, or it was undone and is counted
	shown  bool // a read has shown as many machines
	undone []time.Time
}

// wrote remembers a growth that was accepted.
func (c *contests) wrote(id cluster.GroupID, capacity int) {
	if *c == nil {
		*c = contests{}
	}
	if (*c)[id] == nil {
		(*c)[id] = &contest{}
	}
	(*c)[id].asked, (*c)[id].shown = capacity, false
}

// removed remembers that this process itself has taken machines away.
func (c contests) removed(id cluster.GroupID, machines int) {
	if k := c[id]; k != nil && k.asked > 0 {
		k.asked = max(0, k.asked-machines)
	}
}

// meets counts a group that was read anew and says who is fought, nil when nobody is.
func (c contests) meets(g *cluster.Group, now time.Time) *guard.Opposition {
	k := c[g.ID]
	if k == nil || !g.Read.Complete || g.Capacity < 0 {
		return nil
	}
	k.shown = k.shown || g.Standing() >= k.asked
	if k.asked > 0 && k.shown && g.Capacity < k.asked {
		k.undone, k.asked = append(k.undone, now), 0
	}
	for len(k.undone) > 0 && now.Sub(k.undone[0]) >= contestFor {
		k.undone = k.undone[1:]
	}
	if len(k.undone) < contestTimes {
		return nil
	}
	return &guard.Opposition{Times: len(k.undone), Until: k.undone[len(k.undone)-1].Add(contestFor)}
}
