package memory

import (
	"time"
)

// InUse is for how long measured use alone has kept a node.
type InUse struct {
	Since time.Time `json:"since"`
	Last  time.Time `json:"last"` // the last cycle in which its measured use was above the threshold
}
