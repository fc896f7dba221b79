package memory

import (
	"maps"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
)

// Grant is what the cloud accepted for a group.
type Grant struct {
	Group    cluster.GroupID `json:"group"`
	Machines int             `json:"machines"`
	At       time.Time       `json:"at"`
}

// Spend is the memory after what happened since the last cycle was counted for every ceiling with a window: machines that were granted, and
// what running ones cost, by the minute begun: what is handed on to the next process is not written in each cycle. A pause of more than an hour is paid for one
// hour: nobody knows what ran then.
func (m Memory) Spend(s *cluster.Snapshot, allowed *policy.Policy) Memory {
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
				u = m.Ceilings[words].Trimmed(s.Time, window)
			}
			if c.Ceiling.Unit == cluster.CeilingUSD {
				m.PaidUntil = until
				u = u.Plus(s.Time, window, float64(g.Standing())*g.PriceUSDPerHour*elapsed.Hours())
			} else {
				for _, granted := range m.Granted {
					if granted.Group == g.ID {
						u = u.Plus(granted.At, window, float64(granted.Machines))
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
