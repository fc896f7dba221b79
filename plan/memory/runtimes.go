package memory

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// What is learned is bounded: so many owners, the ones that were not seen for longest forgotten first; so many pods of each watched at a
// time; and a mean that follows the last so many runs.
const (
	KnownOwners = 512
	WatchedRuns = 16
	settledRuns = 64
	YoungRun    = 30 * time.Second // a pod that began longer ago is not taken up
)

// With is the run time after one more pod ended.
func (r RunTime) With(run time.Duration) RunTime {
	r.Ended = min(r.Ended+1, settledRuns)
	r.Mean += (run - r.Mean) / time.Duration(r.Ended)
	return r
}

// Watch replaces the pods of an owner that are watched by a copy with one more, or one less.
func (r RunTime) Watch(uid types.UID, w *Watched) RunTime {
	all := maps.Clone(r.Watched)
	delete(all, uid)
	switch {
	case w == nil && len(all) == 0:
		all = nil
	case w != nil && all == nil:
		all = map[types.UID]Watched{uid: *w}
	case w != nil:
		all[uid] = *w
	}
	r.Watched = all
	return r
}
