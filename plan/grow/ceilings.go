package grow

import (
	"math"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// Ceilings says how many machines each group may still add under the operator's ceilings. Machines that are taken count for all groups that
// are asked about later. The keys of the maps are [policy.GroupCeiling.String]. Begin makes a new value in each round of [Rounds], so a
// round that is taken back leaves nothing here.
//
//	unit          counts against the limit                                                     one machine takes
//	machines      machines granted within the window, and this cycle's                         1
//	usd           what running machines cost within the window, and an hour of this cycle's    the price of one hour
//	usd-per-hour  what the machines that are there or promised cost an hour, and this cycle's  its price an hour
//
//	field  from
//	used   the memory: what counts within the window, without this cycle
//	rates  what groups are believed to have; only for usd-per-hour
//	taken  Take, in the unit of the ceiling
//	any    false where no group has a ceiling, which spares the rest
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

// Room is how many machines the group may add, [math.MaxInt] when no ceiling bounds it. Of several ceilings the one that leaves least
// counts, the first of equals. because names it. until is when that ceiling lets more pass if nothing is added meanwhile. It is zero where
// time changes nothing.
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
			// Nobody can hold a ceiling in USD for a machine without a price; assumed prices do not count here.
			if each = g.PriceUSDPerHour; each <= 0 {
				return 0, reason.New(reason.CeilingUnpriced, about, "ceiling", words), time.Time{}
			}
		}
		// 1e-9 makes up for floating point: 0.6/0.2 is 2.9999999999999996.
		room := int(max(0, min(math.Floor(c.left(ceiling)/each+1e-9), math.MaxInt32)))
		if room < machines {
			machines = room
			because = reason.New(reason.CeilingReached, about, "ceiling", words, "used", rounded(limit.Limit-c.left(ceiling)), "limit", limit.Limit)
			until = c.used[words].Eases(c.now, limit.Window)
		}
	}
	return machines, because, until
}

// left is what a ceiling leaves, in its own unit. It is negative when more runs than the ceiling allows: a ceiling removes nothing.
func (c *Ceilings) left(ceiling policy.GroupCeiling) float64 {
	words := ceiling.String()
	return ceiling.Ceiling.Limit - c.rates[words] - c.taken[words] - c.used[words].Within(c.now, ceiling.Ceiling.Window)
}

// Take counts machines that this cycle adds to the group; a negative number gives them back. Under a ceiling of USD within a window each
// machine has to find the price of one hour in what is left.
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
