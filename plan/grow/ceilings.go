package grow

import (
	"math"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// Ceilings says how many machines each group may still add under the operator's ceilings. It is one cycle's; machines that are taken count
// for those asked about later.
type Ceilings struct {
	now     time.Time
	allowed *policy.Policy
	used    map[string]memory.Usage
	rates   map[string]float64 // what machines cost an hour that count for a ceiling of a rate, by its words
	taken   map[string]float64 // in this cycle, by the ceiling's words
	any     bool
}

// NewCeilings begins a cycle. believed is the capacity that a group has or will have by what was asked for it before.
func NewCeilings(s *cluster.Snapshot, allowed *policy.Policy, m memory.Memory, believed func(*cluster.Group) int) *Ceilings {
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
			until = c.used[words].Eases(c.now, limit.Window)
		}
	}
	return machines, because, until
}

// left is what a ceiling leaves, in its own unit; less than zero when it is exceeded.
func (c *Ceilings) left(ceiling policy.GroupCeiling) float64 {
	words := ceiling.String()
	return ceiling.Ceiling.Limit - c.rates[words] - c.taken[words] - c.used[words].Within(c.now, ceiling.Ceiling.Window)
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
