package plan

import (
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// delayPrefix begins annotations of a node by which others ask for time before its machine is deleted. It is cluster-autoscaler's.
const delayPrefix = "delay-deletion.cluster-autoscaler.kubernetes.io/"

// delays says which annotation an empty node still waits for, nil when there is none or the time for it is over.
func (d *removing) delays(st *nodeState) *reason.Reason {
	var asks []string
	for key := range st.Object.Annotations {
		if strings.HasPrefix(key, delayPrefix) {
			asks = append(asks, key)
		}
	}
	limit := d.allowed.Removal.DeletionDelay
	if len(asks) == 0 || limit == 0 {
		return nil
	}
	since := d.emptySince(st)
	if !d.now.Before(since.Add(limit)) {
		return nil
	}
	d.wake(since.Add(limit))
	r := reason.New(reason.NodeDelayed, reason.Node(st.Name()), "annotation", slices.Min(asks), "limit", limit)
	return &r
}

// emptySince is since when a node that is empty waits for something before its machine goes.
func (d *removing) emptySince(st *nodeState) time.Time {
	since, known := d.m.Detaching[st.Name()]
	if !known {
		since = d.now
	}
	if d.detaching == nil {
		d.detaching = map[string]time.Time{}
	}
	d.detaching[st.Name()] = since
	return since
}

// cools says until when nothing of the node's group is removed after a growth, a deletion or a failure, nil when it may be.
func (d *removing) cools(st *nodeState) *reason.Reason {
	c, on := d.m.cooldown(d.allowed.Removal, st.Group, d.now)
	if !on {
		return nil
	}
	d.wake(c.until())
	return new(reason.New(reason.RemovalCoolsDown, reason.Node(st.Name()), "until", c.until().Format(time.RFC3339), "delay", c.delay, "after", c.after))
}

// cooldown is a pause of removals that is in force.
type cooldown struct {
	at    time.Time
	delay time.Duration
	after string // what happened then
}

func (c cooldown) until() time.Time { return c.at.Add(c.delay) }

// CoolsDown says whether nothing is removed now after a growth, a deletion or a failure. It is false where each group has delays of its own.
func (m Memory) CoolsDown(r policy.Removal, now time.Time) bool {
	_, on := m.cooldown(r, "", now)
	return on && !r.LocalDelays
}

// cooldown is the first one in force for nodes of the group, false for none.
func (m *Memory) cooldown(r policy.Removal, id cluster.GroupID, now time.Time) (cooldown, bool) {
	own := m.Groups[id]
	grown, deleted, failed := own.Requested, own.Deleted, own.Uncordoned
	if !r.LocalDelays {
		grown = m.LastGrowth
		for _, g := range m.Groups {
			deleted, failed = later(deleted, g.Deleted), later(failed, g.Uncordoned)
		}
	}
	for _, c := range [...]cooldown{{grown, r.AfterAdd, "the last growth"}, {deleted, r.AfterDelete, "the last deletion"}, {failed, r.AfterFailure, "a node could not be tainted"}} {
		if !c.at.IsZero() && now.Before(c.until()) {
			return c, true
		}
	}
	return cooldown{}, false
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
