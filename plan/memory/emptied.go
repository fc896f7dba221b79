package memory

import (
	"time"

	"sluice.dev/sluice/cluster"
)

// Emptied is when a node was last told to be empty of pods: when it was cordoned for that, or a pod was evicted from it.
type Emptied struct {
	Group cluster.GroupID `json:"group"`
	At    time.Time       `json:"at"`
}
