package policy

import "time"

// Of is how long a group rests after a failure of this kind (the kinds of package cloud): after the first one, and at most when
// they go on; each one doubles the rest. Flags set the usual rest. Where waiting alone mends little it is longer: a size that is not
// offered returns in days, a defective request never. Where a person mends it, it is short and stays so: the mended group serves within
// the minute. Kinds whose failure passes by itself (a lost race, a throttle, a transient fault) are no reason for a back-off and not
// asked for.
func (b Backoff) Of(kind string) (first, most time.Duration) {
	switch kind {
	case "unavailable", "invalid":
		return b.Max, max(b.Max, b.Reset)
	case "unauthorized", "denied":
		soon := min(time.Minute, b.Initial)
		return soon, soon
	}
	return b.Initial, b.Max
}
