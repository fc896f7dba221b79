package grow

import (
	"sluice.dev/sluice/scheduling"
)

// machine is one that is being added. handle is its place in the checker; of, number and zone are set by take, when it is open. plain and
// meant are what the solution puts on it: they are empty for machines that [Joint.further] or the chain opens.
//
//	field  written by
//	pods   [Joint.granted]; a machine with 0 is given up by closeEmpty
//	plain  openMix, which then grants these pods at once
//	meant  openMix; settle grants as many of them as the checker lets stay
//	zonal  [Joint.granted], for [turns.TellTurns]; only in a group over zones
type machine struct {
	handle scheduling.Handle
	of     *Order
	number int    // in the order in which machines of the group are opened
	zone   string // "" in a group that spans none
	pods   int
	plain  []meant   // pods that do not mind others, which are there already
	meant  []meant   // pods that do, to be shown to the checker
	zonal  []granted // of its pods those that are there for its zone
}

// open gives the machine its place in the checker.
func (m *machine) open(h scheduling.Handle) { m.handle = h }
