package memory

import (
	"slices"
	"time"
)

// Equal says whether both say the same of a pod.
func (u Unbound) Equal(o Unbound) bool {
	return u.Since.Equal(o.Since) && u.Until.Equal(o.Until) && u.Rest == o.Rest && slices.Equal(u.Refused, o.Refused)
}

// Left says whether the pod holds no node and makes no group grow.
func (u Unbound) Left(now time.Time) bool { return now.Before(u.Until) }
