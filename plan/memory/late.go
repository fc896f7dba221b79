package memory

import (
	"time"
)

// Boot is the longest that machines of a group took from their creation until they registered, and the group's size then.
type Boot struct {
	Longest time.Duration `json:"longest"`
	Size    string        `json:"size,omitempty"`
	Learned time.Time     `json:"learned,omitzero"`
}
