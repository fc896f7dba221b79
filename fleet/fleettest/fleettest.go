// Package fleettest says when what a ledger of package fleet holds possible is sound, for tests of the ledger and for worlds in which a process keeps one.
package fleettest

import "sluice.dev/sluice/fleet"

// Truth is what is true of a machine, and since when its ledger can have heard of it.
type Truth struct {
	State    fleet.Set     // one element, or two while the machine passes from one to the other
	Changed  fleet.Instant // when it became so
	Own      bool          // by a write of the ledger's own process, which a record told of if that was another one
	Reported fleet.Instant // when the last whole list was asked for that told of the machine as it was, or lacked one that is gone; never for none
}

// Sound says whether a set that the ledger holds possible has the truth in it. It need not yet, right after a change, as long as a kubelet may seem to
// report; nor after the act of another hand, until a list was asked for that can be no older than it. What is being deleted may count as gone.
func (t Truth) Sound(may fleet.Set, now fleet.Instant, h fleet.Horizon) bool {
	switch {
	case may.Has(t.State), now.Sub(t.Changed) < h.Node, t.State == fleet.Leaving && may == fleet.Gone:
		return true
	}
	return !t.Own && t.Reported < t.Changed.Add(h.List)
}
