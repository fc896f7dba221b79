package cluster

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Unit is what a [Ceiling] counts.
type Unit string

// The units of ceilings.
const (
	CeilingMachines Unit = "machines"     // added within a window
	CeilingUSD      Unit = "usd"          // that running machines cost within a window, by list price
	CeilingRate     Unit = "usd-per-hour" // that all machines cost together, by list price; it has no window
)

// Ceiling stops growth before it adds too much too fast, or costs too much. It never removes anything.
type Ceiling struct {
	Unit   Unit
	Limit  float64       // above zero; whole for machines
	Window time.Duration // at least a minute and at most 31 days; zero for [CeilingRate]
}

const (
	leastWindow = time.Minute
	mostWindow  = 31 * 24 * time.Hour
)

// ParseCeiling reads "machines:N/WINDOW", "usd:N/WINDOW" or "usd-per-hour:N", such as "machines:20/10m". Errors are one clause for the
// operator.
func ParseCeiling(text string) (Ceiling, error) {
	bad := func(why string) (Ceiling, error) {
		return Ceiling{}, fmt.Errorf("%s; give machines:N/WINDOW, usd:N/WINDOW or usd-per-hour:N, such as machines:20/10m, usd:200/24h or usd-per-hour:12", why)
	}
	unit, rest, _ := strings.Cut(text, ":")
	c := Ceiling{Unit: Unit(unit)}
	number, window, windowed := strings.Cut(rest, "/")
	if c.Unit != CeilingMachines && c.Unit != CeilingUSD && c.Unit != CeilingRate {
		return bad(fmt.Sprintf("%q counts nothing that is known", unit))
	}
	var err error
	c.Limit, err = strconv.ParseFloat(number, 64)
	if err != nil || !(c.Limit > 0) || math.IsInf(c.Limit, 0) || c.Unit == CeilingMachines && c.Limit != math.Trunc(c.Limit) {
		return bad(fmt.Sprintf("%q is no limit of %s above zero", number, c.Unit))
	}
	if windowed == (c.Unit == CeilingRate) {
		return bad(fmt.Sprintf("a ceiling of %s has a window if it counts what happens over time, and only then", c.Unit))
	}
	if windowed {
		if c.Window, err = time.ParseDuration(window); err != nil || c.Window < leastWindow || c.Window > mostWindow {
			return bad(fmt.Sprintf("%q is no window from 1m to 744h", window))
		}
	}
	return c, nil
}

// String is what [ParseCeiling] reads.
func (c Ceiling) String() string {
	text := string(c.Unit) + ":" + strconv.FormatFloat(c.Limit, 'f', -1, 64)
	if c.Window > 0 {
		text += "/" + c.Window.String()
	}
	return text
}

// MarshalText writes what [ParseCeiling] reads.
func (c Ceiling) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText is [ParseCeiling].
func (c *Ceiling) UnmarshalText(text []byte) (err error) {
	*c, err = ParseCeiling(string(text))
	return err
}
