package memory

import (
	"maps"
	"time"

	"sluice.dev/sluice/policy"
)

// evicted is what is known of a cordoned node after an eviction that a cycle asked for. Refused grows once a cycle, by the first eviction
// that failed: several evictions may fail together for one reason.
func (c Cordoned) evicted(r Result, cycle time.Time, allowed *policy.Policy) Cordoned {
	switch {
	case r.Status == Accepted:
		c.Refused = Backoff{}
	case r.Status == Failed && !c.Refused.Until.After(cycle):
		c.Refused = c.Refused.lengthened(r, allowed)
	}
	return c
}

// cordon notes when a node was cordoned, and what became of it since.
func (m *Memory) cordon(node string, c Cordoned) { m.Cordoned = With(m.Cordoned, node, c) }

// Jumped is the memory after the clock of this process was put forward, while it ran: what is measured between two cycles began as much
// later.
func (m Memory) Jumped(by time.Duration) Memory {
	if by <= 0 || len(m.Cordoned) == 0 {
		return m
	}
	m.Cordoned = maps.Clone(m.Cordoned)
	for name, c := range m.Cordoned {
		c.By = c.By.Add(by)
		m.Cordoned[name] = c
	}
	return m
}

// Over is what stays when a consolidation has ended or was given up.
func (c Consolidation) Over() Consolidation { return Consolidation{Spent: c.Spent} }
