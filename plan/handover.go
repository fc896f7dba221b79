package plan

import (
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// handedOverFor is how long a group must have been managed no more before what stands on its nodes is taken back: a machine that was being deleted is
// gone by then, and a group that was out of sight for a moment is back.
const handedOverFor = 10 * time.Minute

// handOver takes the removal taint, the cordon and the mark off nodes of groups that were managed and are no more (S-37). Only what this process has
// seen managed is known to be its own: another sluice may manage the group by now, and what that one has put on a node since then stays.
func (d *decision) handOver() {
	d.noticeHandedOver()
	if len(d.m.HandedOver) == 0 {
		return
	}
	for _, n := range d.s.Nodes {
		since, gone := d.m.HandedOver[n.Marked.Group]
		removal, on := cluster.RemovalOf(n.Object)
		if !gone || !on || n.Instance != nil || removal.Since.After(since) || !cluster.Ready(n.Object) {
			continue
		}
		due := since.Add(handedOverFor)
		if d.now.Before(due) {
			d.wake(due)
			continue
		}
		d.ladder = append(d.ladder, Uncordon{n.Name(), n.Object.UID, reason.New(reason.GroupHandedOver, reason.Node(n.Name()), "group", n.Marked.Group, "since", since.UTC().Format(time.RFC3339))})
	}
}

// noticeHandedOver remembers which groups are managed, and since when others are no more.
func (d *decision) noticeHandedOver() {
	if slices.EqualFunc(d.m.Managed, d.s.Groups, func(id cluster.GroupID, g *cluster.Group) bool { return id == g.ID }) {
		return
	}
	managed := make([]cluster.GroupID, len(d.s.Groups))
	for i, g := range d.s.Groups {
		managed[i] = g.ID
		d.m.HandedOver = without(d.m.HandedOver, g.ID)
	}
	for _, id := range d.m.Managed {
		if !slices.Contains(managed, id) {
			d.m.HandedOver = with(d.m.HandedOver, id, d.now)
		}
	}
	d.m.Managed = managed
}
