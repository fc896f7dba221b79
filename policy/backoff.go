package policy

import "time"

// Backoff is how long a group rests after a failure of this kind (the kinds of package cloud): after the first one, and at most when
// they go on; each one doubles the rest. Flags set the usual rest. Where waiting alone mends little it is longer: a size that is not
// offered returns in days, a defective request never. Where a person mends it, it is short and stays so: the mended group serves within
// the minute. Kinds whose failure passes by itself (a lost race, a throttle, a transient fault) are no reason for a back-off and not
// asked for.
func (g Growth) Backoff(kind string) (first, most time.Duration) {
	switch kind {
	case "unavailable", "invalid":
		return g.BackoffMost, max(g.BackoffMost, g.BackoffReset)
	case "unauthorized", "denied":
		soon := min(time.Minute, g.BackoffFirst)
		return soon, soon
	}
	return g.BackoffFirst, g.BackoffMost
}
