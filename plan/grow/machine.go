package grow

import (
	"sluice.dev/sluice/scheduling"
)

// machine is one that is being added.
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
