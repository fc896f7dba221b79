package policy

import (
	"slices"
	"time"
)

// Pods come in one rush as long as no two that follow each other are further apart than burstSilence, and for burstRush at least; a few
// that come close together are none. A rush is over when no pod has come for burstPause.
const (
	burstSilence = 300 * time.Millisecond
	burstRush    = time.Second
	burstPause   = 400 * time.Millisecond
)

// drainedAsks is how often a burst is asked for, the first time included, by the time that the scheduler has judged all of it.
const drainedAsks = 3

// Burst is what is known of pods that come for a group that was asked for machines lately.
type Burst struct {
	Asked   time.Time   // when it was asked last
	Asks    int         // how often in a row, each less than two windows after the one before
	Came    []time.Time // when pods came lately, in order: the scheduler had judged them
	Queued  bool        // there are others that the scheduler has not judged yet
	Drained bool        // there were some since it was asked, and there are none now
}

// AskAgain is when the group may be asked for machines again, and at the latest:
//
//	none came since it was asked            at once
//	the scheduler has others to judge       at the latest
//	it had some, and has none               when none has come for burstPause, for the first drainedAsks requests
//	they come in one rush                   when none has come for burstPause
//	they come, and pause, and come          at the latest: what has paused once may do so again
//
// The latest is a window after the last one that came before it was asked; two windows from the third request on, while the scheduler
// has others to judge.
func (g Growth) AskAgain(b Burst) (again, latest time.Time) {
	since, _ := slices.BinarySearchFunc(b.Came, b.Asked.Add(1), time.Time.Compare)
	if since == len(b.Came) {
		return b.Asked, b.Asked
	}
	latest = b.Asked
	if since > 0 {
		latest = b.Came[since-1]
	}
	latest = latest.Add(g.BurstWindow)
	if b.Queued {
		if b.Asks >= drainedAsks-1 {
			latest = latest.Add(g.BurstWindow)
		}
		return latest, latest
	}
	last, begun := b.Came[len(b.Came)-1], len(b.Came)-1
	for begun > 0 && b.Came[begun].Sub(b.Came[begun-1]) <= burstSilence {
		begun--
	}
	rush := begun < since && last.Sub(b.Came[begun]) >= burstRush
	if paused := last.Add(burstPause); (rush || b.Drained && b.Asks < drainedAsks) && paused.Before(latest) {
		return paused, latest
	}
	return latest, latest
}
