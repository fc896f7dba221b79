package memory

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
)

// Until is when the pause ends.
func (c Cooldown) Until() time.Time { return c.at.Add(c.Delay) }

// CoolsDown says whether nothing is removed now after a growth, a deletion or a failure. It is false where each group has delays of its
// own.
func (m Memory) CoolsDown(r policy.Removal, now time.Time) bool {
	_, on := m.Cooldown(r, "", now)
	return on && !r.Delay.Local
}

// Cooldown is the first one in force for nodes of the group, false for none.
func (m *Memory) Cooldown(r policy.Removal, id cluster.GroupID, now time.Time) (Cooldown, bool) {
	own := m.Groups[id]
	grown, deleted, failed := own.Requested, own.Deleted, own.Uncordoned
	if !r.Delay.Local {
		grown = m.LastGrowth
		for _, g := range m.Groups {
			deleted, failed = Later(deleted, g.Deleted), Later(failed, g.Uncordoned)
		}
	}
	// The first one that is in force is told. A later one may last longer.
	for _, c := range [...]Cooldown{{grown, r.Delay.AfterAdd, "the last growth"}, {deleted, r.Delay.AfterDelete, "the last deletion"}, {failed, r.Delay.AfterFailure, "a node could not be tainted"}} {
		if !c.at.IsZero() && now.Before(c.Until()) {
			return c, true
		}
	}
	return Cooldown{}, false
}

// Later is the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
