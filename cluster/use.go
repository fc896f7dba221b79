package cluster

import "time"

// NodeUse is the CPU that a node used, as the metrics API measured it.
type NodeUse struct {
	Name     string    `json:"name"`     // of the node
	MilliCPU int64     `json:"milliCPU"` // in thousandths of a core, zero or more
	At       time.Time `json:"at"`       // when it was measured, no later than when it was read
}
