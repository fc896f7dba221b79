package remove

import (
	"sluice.dev/sluice/plan/grow"
)

// Outgoing is a group and its machines that leave.
type Outgoing struct {
	*grow.Order
	leaving    int // machines that still count as capacity and are on the ladder, stepping on it or being cleaned up
	unrepaired int // nodes that are not Ready and that its min keeps
	drying     int // nodes that run dry, or could
	emptied    int // further nodes of which this cycle found that they can be emptied with those that leave
}
