package remove

import (
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/reason"
)

// delayPrefix begins annotations of a node by which others ask for time before its machine is deleted. It is cluster-autoscaler's.
const delayPrefix = "delay-deletion.cluster-autoscaler.kubernetes.io/"

// delays says which annotation an empty node still waits for, nil when there is none or the time for it is over.
func (d *Removal) delays(st *candidate) *reason.Reason {
	var asks []string
	for key := range st.Object.Annotations {
		if strings.HasPrefix(key, delayPrefix) {
			asks = append(asks, key)
		}
	}
	limit := d.Policy.Removal.DeletionDelay
	if len(asks) == 0 || limit == 0 {
		return nil
	}
	since := d.emptySince(st)
	if !d.Now.Before(since.Add(limit)) {
		return nil
	}
	d.Wake(since.Add(limit))
	r := reason.New(reason.NodeDelayed, reason.Node(st.Name()), "annotation", slices.Min(asks), "limit", limit)
	return &r
}

// emptySince is since when a node that is empty waits for something before its machine goes.
func (d *Removal) emptySince(st *candidate) time.Time {
	since, known := d.Memory.Detaching[st.Name()]
	if !known {
		since = d.Now
	}
	if d.detaching == nil {
		d.detaching = map[string]time.Time{}
	}
	d.detaching[st.Name()] = since
	return since
}

// cools says until when nothing of the node's group is removed after a growth, a deletion or a failure, nil when it may be.
func (d *Removal) cools(st *candidate) *reason.Reason {
	c, on := d.Memory.Cooldown(d.Policy.Removal, st.Group, d.Now)
	if !on {
		return nil
	}
	d.Wake(c.Until())
	return new(reason.New(reason.RemovalCoolsDown, reason.Node(st.Name()), "until", c.Until().Format(time.RFC3339), "delay", c.Delay, "after", c.After))
}
