package plan

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
)

// RunTime is what was learned of how long the pods of one owner run, or of owners that are alike. It is immutable.
type RunTime struct {
	Mean    time.Duration         `json:"mean,omitempty"`    // of those that were seen to end, recent ones weighing more; 0 while none was
	Ended   int                   `json:"ended,omitempty"`   // how many were, up to [settledRuns]
	Seen    time.Time             `json:"seen"`              // when one of them last ran
	Watched map[types.UID]Watched `json:"watched,omitempty"` // pods whose end is awaited; at most [watchedRuns]
}

// Watched is a pod that runs.
type Watched struct {
	Node  string    `json:"node"`
	Began time.Time `json:"began"`
}

// What is learned is bounded: so many owners, the ones that were not seen for longest forgotten first; so many pods of each watched at a
// time; and a mean that follows the last so many runs.
const (
	knownOwners = 512
	watchedRuns = 16
	settledRuns = 64
)

// with is the run time after one more pod ended.
func (r RunTime) with(run time.Duration) RunTime {
	r.Ended = min(r.Ended+1, settledRuns)
	r.Mean += (run - r.Mean) / time.Duration(r.Ended)
	return r
}

// ownerOf names the controller of a class's pods, "" when they have none or belong to their node.
func ownerOf(of *cluster.Class) string {
	o := of.Owner()
	if o == nil || of.Daemon() {
		return ""
	}
	return of.Namespace + "/" + o.Kind + "/" + o.Name
}

// wider names what an owner is one of, the nearest first: the owners whose names differ only in a number at the end, as those of Jobs of one
// series do, and all of its namespace.
func wider(owner string) []string {
	namespace, _, _ := strings.Cut(owner, "/")
	if series := strings.TrimRight(owner, "0123456789"); series != owner {
		return []string{series + "*", namespace + "/*"}
	}
	return []string{namespace + "/*"}
}

// learnRunTimes watches the pods that a drain target may concern: how long each took from its start to the first cycle that does not see it
// any more. Only pods that have just begun are taken up: of pods that began together those that run still are the long ones. Pods that somebody deletes and those of nodes that go are not counted, for they may not have ended by themselves.
func (d *decision) learnRunTimes() {
	before := d.m.Runs
	d.m.Runs = nil
	if len(d.allowed.Growth.DrainTargets) == 0 {
		return
	}
	runs := make(map[string]RunTime, len(before))
	for owner, r := range before {
		r.Watched = nil
		runs[owner] = r
	}
	there := map[types.UID]bool{}
	fresh := map[string]int{}
	for _, n := range d.s.Nodes {
		for _, p := range n.Pods {
			owner := ownerOf(p.Class)
			if owner == "" || p.Started().IsZero() || d.allowed.Growth.Drain(p.Namespace, n.Group) == 0 {
				continue
			}
			there[p.UID] = true
			r := runs[owner]
			r.Seen = d.now
			_, known := before[owner].Watched[p.UID]
			young := !p.Started().Before(before[owner].Seen.Truncate(time.Second)) // it began since the last cycle, or nobody knows its owner yet
			if !known && young {
				fresh[owner]++
			}
			if !p.Leaving() && (known || young && fresh[owner]+len(before[owner].Watched) <= watchedRuns) {
				if r.Watched == nil {
					r.Watched = map[types.UID]Watched{}
				}
				r.Watched[p.UID] = Watched{n.Name(), p.Started()}
			}
			runs[owner] = r
		}
	}
	for _, owner := range sortedKeys(before) {
		for _, uid := range sortedKeys(before[owner].Watched) {
			w := before[owner].Watched[uid]
			if n := d.s.Node(w.Node); there[uid] || n == nil || n.Object.Spec.Unschedulable {
				continue
			}
			run := max(d.now.Sub(w.Began), time.Second)
			runs[owner] = runs[owner].with(run)
			for _, all := range wider(owner) {
				r := runs[all].with(run)
				r.Seen = d.now
				runs[all] = r
			}
		}
	}
	d.m.Runs = forgetOldest(runs)
}

// forgetOldest keeps the owners that were seen last.
func forgetOldest(runs map[string]RunTime) map[string]RunTime {
	if len(runs) <= knownOwners {
		return runs
	}
	owners := sortedKeys(runs)
	slices.SortStableFunc(owners, func(a, b string) int { return runs[a].Seen.Compare(runs[b].Seen) })
	for _, owner := range owners[:len(owners)-knownOwners] {
		delete(runs, owner)
	}
	return runs
}

func sortedKeys[K ~string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// runTime is how long pods of the class are expected to run: what they say themselves, else what earlier pods of their owner took, else
// those of owners like it; 0 when nobody knows.
func (d *decision) runTime(of *cluster.Class) time.Duration {
	if run := policy.RunTime(of); run > 0 {
		return run
	}
	owner := ownerOf(of)
	if owner == "" {
		return 0
	}
	if r := d.m.Runs[owner]; r.Ended > 0 {
		return r.Mean
	}
	for _, all := range wider(owner) {
		if r := d.m.Runs[all]; r.Ended > 0 {
			return r.Mean
		}
	}
	return 0
}
