package node

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// pause says that somebody has paused the group, nil when nobody has. It is not grown then, none of its nodes steps on the ladder, those that
// are on it come down, and no machine of it is deleted.
func (d *View) pause(g *cluster.Group, pauses cluster.Pauses) *reason.Reason {
	until, paused := pauses.Of(g.ID, d.Now)
	if !paused {
		return nil
	}
	d.wakeAt(until)
	r := reason.New(reason.GroupPaused, reason.Group(string(g.ID)), "until", until)
	return &r
}

// Held says that somebody holds the node until a time, nil when nobody does.
func (d *View) Held(n *cluster.Node) *reason.Reason {
	until, held := cluster.Held(n.Object, d.Now)
	if !held {
		return nil
	}
	d.wakeAt(until)
	r := reason.New(reason.NodeHeld, reason.Node(n.Name()), "until", until)
	return &r
}

// wakeAt asks for a cycle at a time as sentences have it. Words are none.
func (d *View) wakeAt(said string) {
	if t, err := time.Parse(time.RFC3339, said); err == nil {
		d.Wake(t)
	}
}
