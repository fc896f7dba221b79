package policy

import (
	"slices"
	"time"
)

// Pods come in one rush as long as no two that follow each other are further apart than burstSilence, and for burstRush at least; a few that come
// close together are none. A rush is over when no pod has come for burstPause.
const (
	burstSilence = 300 * time.Millisecond
	burstRush    = time.Second
	burstPause   = 400 * time.Millisecond
)

// AskAgain is when a group may be asked for machines again that was asked at this time, by when pods came lately, in order: at once when none
// came since then; when they have paused, if they come in one rush; and in any case at the latest of times, a window after the last one that came
// before it was asked. Pods that came again after a silence may do so once more, so that nothing but the window's end says that they will not.
func (g Growth) AskAgain(asked time.Time, came []time.Time) (again, latest time.Time) {
	since, _ := slices.BinarySearchFunc(came, asked.Add(1), time.Time.Compare)
	if since == len(came) {
		return asked, asked
	}
	latest = asked
	if since > 0 {
		latest = came[since-1]
	}
	latest = latest.Add(g.BurstWindow)
	last, begun := came[len(came)-1], len(came)-1
	for begun > 0 && came[begun].Sub(came[begun-1]) <= burstSilence {
		begun--
	}
	if paused := last.Add(burstPause); begun < since && last.Sub(came[begun]) >= burstRush && paused.Before(latest) {
		return paused, latest
	}
	return latest, latest
}
