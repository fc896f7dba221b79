package node

import (
	"time"

	"sluice.dev/sluice/cluster"
)

// Overdue says whether a machine without a node has had its time.
func (d *View) Overdue(st *GroupFacts, in *cluster.Instance) bool {
	return waitedFor(st, in) && d.hadTime(in)
}

// hadTime says whether a machine has been waited for as long as it is to be.
func (d *View) hadTime(in *cluster.Instance) bool {
	since := d.Waits(in)
	return !since.IsZero() && d.TimeUp(since)
}

// TimeUp says whether a machine that has been expected to become a node since then has had its time.
func (d *View) TimeUp(since time.Time) bool {
	due := since.Add(d.Policy.Growth.Provision)
	d.Wake(due)
	return !d.Now.Before(due)
}
