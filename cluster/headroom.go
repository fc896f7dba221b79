package cluster

import (
	"fmt"
	"strconv"
	"strings"
)

// Headroom is room that a group keeps free for pods that have not come yet: whole machines, or cores wherever they are free.
type Headroom struct {
	Machines int   // empty machines' worth
	Cores    int64 // free cores; one of the two is above zero, or both are zero for none
}

// ParseHeadroom reads "machines:N", "cores:N" or "0" for none. Errors are one clause for the operator.
func ParseHeadroom(text string) (Headroom, error) {
	unit, value, _ := strings.Cut(text, ":")
	n, err := strconv.ParseInt(value, 10, 32)
	switch {
	case text == "0":
		return Headroom{}, nil
	case err == nil && n >= 0 && unit == "machines":
		return Headroom{Machines: int(n)}, nil
	case err == nil && n >= 0 && unit == "cores":
		return Headroom{Cores: n}, nil
	}
	return Headroom{}, fmt.Errorf("%q is no headroom; give machines:N or cores:N, such as machines:2, or 0 for none", text)
}

// String is what [ParseHeadroom] reads.
func (h Headroom) String() string {
	switch {
	case h.Machines > 0:
		return fmt.Sprintf("machines:%d", h.Machines)
	case h.Cores > 0:
		return fmt.Sprintf("cores:%d", h.Cores)
	}
	return "0"
}

// MarshalText writes what [ParseHeadroom] reads.
func (h Headroom) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText is [ParseHeadroom].
func (h *Headroom) UnmarshalText(text []byte) (err error) {
	*h, err = ParseHeadroom(string(text))
	return err
}
