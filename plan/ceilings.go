package plan

import (
	"maps"
	"math"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// Ceilings says how many machines each group may still add under the operator's ceilings. It is one cycle's; machines that are taken count
// for those asked about later.
type Ceilings struct {
	now     time.Time
	allowed *policy.Policy
	used    map[string]Usage
	rates   map[string]float64 // what machines cost an hour that count for a ceiling of a rate, by its words
	taken   map[string]float64 // in this cycle, by the ceiling's words
	any     bool
}

// NewCeilings begins a cycle. believed is the capacity that a group has or will have by what was asked for it before.
func NewCeilings(s *cluster.Snapshot, allowed *policy.Policy, m Memory, believed func(*cluster.Group) int) *Ceilings {
	c := &Ceilings{now: s.Time, allowed: allowed, used: m.Ceilings, rates: map[string]float64{}, taken: map[string]float64{}}
	for _, g := range s.Groups {
		for _, ceiling := range allowed.Ceilings(g) {
			c.any = true
			if ceiling.Ceiling.Unit == cluster.CeilingRate {
				c.rates[ceiling.String()] += float64(max(0, believed(g))) * g.PriceUSDPerHour
			}
		}
	}
	return c
}

// Room is how many machines the group may add, [math.MaxInt] when no ceiling bounds it. When it is bounded, because says by which ceiling,
// and until is when that lets more pass if nothing is added meanwhile; zero when only a removal makes room, or nothing.
func (c *Ceilings) Room(g *cluster.Group) (machines int, because reason.Reason, until time.Time) {
	machines = math.MaxInt
	if !c.any {
		return machines, because, until
	}
	about := reason.Group(string(g.ID))
	for _, ceiling := range c.allowed.Ceilings(g) {
		words, limit := ceiling.String(), ceiling.Ceiling
		each := 1.0
		if limit.Unit != cluster.CeilingMachines {
			if each = g.PriceUSDPerHour; each <= 0 {
				return 0, reason.New(reason.CeilingUnpriced, about, "ceiling", words), time.Time{}
			}
		}
		room := int(max(0, min(math.Floor(c.left(ceiling)/each+1e-9), math.MaxInt32)))
		if room < machines {
			machines = room
			because = reason.New(reason.CeilingReached, about, "ceiling", words, "used", rounded(limit.Limit-c.left(ceiling)), "limit", limit.Limit)
			until = c.used[words].eases(c.now, limit.Window)
		}
	}
	return machines, because, until
}

// left is what a ceiling leaves, in its own unit; less than zero when it is exceeded.
func (c *Ceilings) left(ceiling policy.GroupCeiling) float64 {
	words := ceiling.String()
	return ceiling.Ceiling.Limit - c.rates[words] - c.taken[words] - c.used[words].within(c.now, ceiling.Ceiling.Window)
}

// Take counts machines that this cycle adds to the group. Under a ceiling of what machines cost within a window each must find the price of
// an hour in what is left.
func (c *Ceilings) Take(g *cluster.Group, machines int) {
	for _, ceiling := range c.allowed.Ceilings(g) {
		if ceiling.Ceiling.Unit == cluster.CeilingMachines {
			c.taken[ceiling.String()] += float64(machines)
		} else {
			c.taken[ceiling.String()] += float64(machines) * g.PriceUSDPerHour
		}
	}
}

func rounded(x float64) float64 { return math.Round(x*100) / 100 }

// Grant is what the cloud accepted for a group.
type Grant struct {
	Group    cluster.GroupID `json:"group"`
	Machines int             `json:"machines"`
	At       time.Time       `json:"at"`
}

// spend is the memory after what happened since the last cycle was counted for every ceiling with a window: machines that were granted, and
// what running ones cost, by the minute begun: what is handed on to the next process is not written in each cycle. A pause of more than an hour is paid for one
// hour: nobody knows what ran then.
func (m Memory) spend(s *cluster.Snapshot, allowed *policy.Policy) Memory {
	elapsed, until := time.Duration(0), m.PaidUntil
	switch late := s.Time.Sub(until); {
	case until.IsZero() || late <= -time.Minute:
		until = s.Time
	case late >= time.Hour:
		elapsed, until = time.Hour, s.Time
	case late > 0:
		elapsed = (late + time.Minute - 1).Truncate(time.Minute)
		until = until.Add(elapsed)
	}
	used := map[string]Usage{}
	m.PaidUntil = time.Time{}
	for _, g := range s.Groups {
		for _, c := range allowed.Ceilings(g) {
			words, window := c.String(), c.Ceiling.Window
			if window == 0 {
				continue
			}
			u, begun := used[words]
			if !begun {
				u = m.Ceilings[words].trimmed(s.Time, window)
			}
			if c.Ceiling.Unit == cluster.CeilingUSD {
				m.PaidUntil = until
				u = u.plus(s.Time, window, float64(g.Standing())*g.PriceUSDPerHour*elapsed.Hours())
			} else {
				for _, granted := range m.Granted {
					if granted.Group == g.ID {
						u = u.plus(granted.At, window, float64(granted.Machines))
					}
				}
			}
			used[words] = u
		}
	}
	m.Granted, m.Ceilings = nil, nil
	if maps.DeleteFunc(used, func(_ string, u Usage) bool { return len(u) == 0 }); len(used) > 0 {
		m.Ceilings = used
	}
	return m
}
