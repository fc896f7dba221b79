package policy

import "time"

// burstPause is how long no pod may have come before the second request of a burst; every further one waits for a pause that is
// burstPatience times as long.
const (
	burstPause    = 250 * time.Millisecond
	burstPatience = 4
)

// AskAgain is when a group may be asked for machines again that was asked at this time, as the n-th time in one burst, and for which a pod last
// came at that time: when pods have paused for long enough, and once the window is over in any case. Within a burst the pauses grow, so that
// pods which come slowly are gathered as well as those that come fast.
func (g Growth) AskAgain(asked time.Time, n int, came time.Time) time.Time {
	over := asked.Add(g.BurstWindow)
	for pause := burstPause; came.Add(pause).Before(over); pause *= burstPatience {
		if n--; n <= 0 {
			return came.Add(pause)
		}
	}
	return over
}

// SameBurst says whether a group that was asked at these times was asked in one burst.
func (g Growth) SameBurst(before, after time.Time) bool {
	return !before.IsZero() && after.Sub(before) < 2*g.BurstWindow
}
