package plan

import (
	"cmp"
	"maps"
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
	Seen    time.Time             `json:"seen"`              // when one of them last began or ended
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
	youngRun    = 30 * time.Second // a pod that began longer ago is not taken up
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

// learnRunTimes watches pods whose run times somebody may ask for: those of Jobs, and those that a drain target concerns. A run lasts from the pod's
// start to the first cycle that does not see it any more. Only pods that have just begun are taken up: of pods that began together those that run
// still are the long ones. Pods that somebody deletes and those of nodes that go are not counted, for they may not have ended by themselves.
func (d *placing) learnRunTimes() {
	if len(d.allowed.Growth.DrainTargets) == 0 && !d.allowed.Growth.AwaitPlaces {
		d.m.Runs = nil
		return
	}
	l := &learning{placing: d, runs: d.m.Runs}
	l.noticeEnds()
	l.takeUp()
	d.m.Runs = forgetOldest(l.runs)
}

// learning is what one cycle adds to the run times that are known.
type learning struct {
	*placing
	runs map[string]RunTime
	own  bool // runs is a copy that may be changed
}

func (l *learning) put(owner string, r RunTime) {
	if !l.own {
		l.own = true
		if l.runs = maps.Clone(l.runs); l.runs == nil {
			l.runs = map[string]RunTime{}
		}
	}
	r.Seen = l.now
	l.runs[owner] = r
}

// watch replaces the pods of an owner that are watched by a copy with one more, or one less.
func (r RunTime) watch(uid types.UID, w *Watched) RunTime {
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

// noticeEnds counts the runs that have ended.
func (l *learning) noticeEnds() {
	type end struct {
		owner string
		uid   types.UID
	}
	var ends []end
	for owner, r := range l.runs {
		for uid, w := range r.Watched {
			if !l.runsOn(w.Node, uid) {
				ends = append(ends, end{owner, uid})
			}
		}
	}
	slices.SortFunc(ends, func(a, b end) int { return cmp.Or(cmp.Compare(a.owner, b.owner), cmp.Compare(a.uid, b.uid)) })
	for _, e := range ends {
		r := l.runs[e.owner]
		w := r.Watched[e.uid]
		r = r.watch(e.uid, nil)
		if n := l.s.Node(w.Node); n == nil || n.Object.Spec.Unschedulable || slices.ContainsFunc(n.Pods, func(p *cluster.Pod) bool { return p.UID == e.uid }) {
			l.put(e.owner, r)
			continue
		}
		run := max(l.now.Sub(w.Began), time.Second)
		l.put(e.owner, r.with(run))
		for _, all := range wider(e.owner) {
			l.put(all, l.runs[all].with(run))
		}
	}
}

// runsOn says whether the pod is on the node and nobody has deleted it.
func (l *learning) runsOn(node string, uid types.UID) bool {
	n := l.s.Node(node)
	return n != nil && slices.ContainsFunc(n.Pods, func(p *cluster.Pod) bool { return p.UID == uid && !p.Leaving() })
}

// takeUp begins to watch pods that have just begun, and all that run when nothing is known yet.
func (l *learning) takeUp() {
	first := l.m.Runs == nil
	young := l.now.Add(-youngRun)
	nodes := l.facts.working
	if len(l.allowed.Growth.DrainTargets) > 0 {
		nodes = nil
		for i := range l.s.Nodes {
			nodes = append(nodes, i)
		}
	}
	for _, at := range nodes {
		n := l.s.Nodes[at]
		for _, p := range n.Pods {
			began := p.Started()
			if began.IsZero() || !first && began.Before(young) || p.Leaving() || !l.asksFor(p, n) {
				continue
			}
			owner := ownerOf(p.Class)
			r := l.runs[owner]
			if _, known := r.Watched[p.UID]; owner != "" && !known && len(r.Watched) < watchedRuns {
				l.put(owner, r.watch(p.UID, &Watched{n.Name(), began}))
			}
		}
	}
}

// asksFor says whether somebody may ask how long pods such as this one run.
func (d *placing) asksFor(p *cluster.Pod, n *cluster.Node) bool {
	return d.allowed.Growth.AwaitPlaces && ofJob(p.Class) || len(d.allowed.Growth.DrainTargets) > 0 && d.allowed.Growth.Drain(p.Namespace, n.Group) > 0
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
func (d *placing) runTime(of *cluster.Class) time.Duration {
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
