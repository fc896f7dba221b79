package place

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/policy"
)

// RunTimes are how long pods run, as far as that was learned.
// Without a drain target nothing is learned. With one, backlogs ask for them, and package remove asks when the work on a quiescing node
// ends.
type RunTimes struct{ *node.View }

// wider names what an owner is one of, the nearest first: the owners whose names differ only in a number at the end, as those of Jobs of
// one series do, and all of its namespace.
func wider(owner string) []string {
	namespace, _, _ := strings.Cut(owner, "/")
	if series := strings.TrimRight(owner, "0123456789"); series != owner {
		return []string{series + "*", namespace + "/*"}
	}
	return []string{namespace + "/*"}
}

// Learn watches pods whose run times somebody may ask for: those that a drain target concerns. A run lasts from the pod's start to the
// first cycle that does not see it any more. Only pods that have just begun are taken up: of pods that began together those that run still
// are the long ones. Pods that somebody deletes and those of nodes that go are not counted, for they may not have ended by themselves.
func (rt *RunTimes) Learn() {
	if len(rt.Policy.Growth.DrainTargets) == 0 {
		rt.Memory.Runs = nil
		return
	}
	l := &learning{RunTimes: rt, runs: rt.Memory.Runs}
	l.noticeEnds()
	l.takeUp()
	rt.Memory.Runs = forgetOldest(l.runs)
}

// learning is what one cycle adds to the run times that are known.
type learning struct {
	*RunTimes
	runs map[string]memory.RunTime
	own  bool // runs is a copy that may be changed
}

func (l *learning) put(owner string, r memory.RunTime) {
	if !l.own {
		l.own = true
		if l.runs = maps.Clone(l.runs); l.runs == nil {
			l.runs = map[string]memory.RunTime{}
		}
	}
	r.Seen = l.Now
	l.runs[owner] = r
}

// noticeEnds counts the runs that have ended.
//
//	watched pod                                  what becomes of it
//	on its node, not deleted                     is watched on
//	on its node, deleted by somebody             is dropped: it did not end by itself
//	not there, and its node is gone or cordoned  is dropped: it may have been evicted
//	not there, on a node that takes pods         has ended: counts for its owner, its series and its namespace
//
// The ends are sorted, as a mean depends on the order of its runs: the same inputs have to give the same plan.
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
		r = r.Watch(e.uid, nil)
		if n := l.Snapshot.Node(w.Node); n == nil || n.Object.Spec.Unschedulable || slices.ContainsFunc(n.Pods, func(p *cluster.Pod) bool { return p.UID == e.uid }) {
			l.put(e.owner, r)
			continue
		}
		run := max(l.Now.Sub(w.Began), time.Second)
		l.put(e.owner, r.With(run))
		for _, all := range wider(e.owner) {
			l.put(all, l.runs[all].With(run))
		}
	}
}

// runsOn says whether the pod is on the node and nobody has deleted it.
func (l *learning) runsOn(node string, uid types.UID) bool {
	n := l.Snapshot.Node(node)
	return n != nil && slices.ContainsFunc(n.Pods, func(p *cluster.Pod) bool { return p.UID == uid && !p.Leaving() })
}

// takeUp begins to watch pods that have just begun, and all that run when nothing is known yet.
func (l *learning) takeUp() {
	first := l.Memory.Runs == nil
	young := l.Now.Add(-memory.YoungRun)
	for _, n := range l.Snapshot.Nodes {
		for _, p := range n.Pods {
			began := p.Started()
			if began.IsZero() || !first && began.Before(young) || p.Leaving() || !l.asksFor(p, n) {
				continue
			}
			owner := node.OwnerOf(p.Class)
			r := l.runs[owner]
			if _, known := r.Watched[p.UID]; owner != "" && !known && len(r.Watched) < memory.WatchedRuns {
				l.put(owner, r.Watch(p.UID, &memory.Watched{Node: n.Name(), Began: began}))
			}
		}
	}
}

// asksFor says whether somebody may ask how long pods such as this one run.
func (rt *RunTimes) asksFor(p *cluster.Pod, n *cluster.Node) bool {
	return rt.Policy.Growth.Drain(p.Namespace, n.Group) > 0
}

// forgetOldest keeps the owners that were seen last.
func forgetOldest(runs map[string]memory.RunTime) map[string]memory.RunTime {
	if len(runs) <= memory.KnownOwners {
		return runs
	}
	owners := sortedKeys(runs)
	slices.SortStableFunc(owners, func(a, b string) int { return runs[a].Seen.Compare(runs[b].Seen) })
	for _, owner := range owners[:len(owners)-memory.KnownOwners] {
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

// RunTime is how long pods of the class are expected to run: what they say themselves, else what earlier pods of their owner took, else
// those of owners like it; 0 when nobody knows.
// A pod says it by the annotation sluice.dev/run-time. It is asked for a class, so all pods of the class have one answer.
func (rt *RunTimes) RunTime(of *cluster.Class) time.Duration {
	if run := policy.RunTime(of); run > 0 {
		return run
	}
	owner := node.OwnerOf(of)
	if owner == "" {
		return 0
	}
	if r := rt.Memory.Runs[owner]; r.Ended > 0 {
		return r.Mean
	}
	for _, all := range wider(owner) {
		if r := rt.Memory.Runs[all]; r.Ended > 0 {
			return r.Mean
		}
	}
	return 0
}

// usualBoot is how long a machine takes from its request to its node where nothing has been seen to join.
const usualBoot = 3 * time.Minute

// BootTime is how long machines take from their request to their node: the median of those that are there.
// A machine that took longer than the provision time is left out, as in [node.View.LearnBoots].
func (rt *RunTimes) BootTime() time.Duration {
	var took []time.Duration
	for _, n := range rt.Snapshot.Nodes {
		if n.Instance != nil && !n.Instance.Created.IsZero() {
			if t := n.Object.CreationTimestamp.Sub(n.Instance.Created); t > 0 && t <= rt.Policy.Growth.Node.ProvisionTime {
				took = append(took, t)
			}
		}
	}
	if len(took) == 0 {
		return usualBoot
	}
	slices.Sort(took)
	return took[len(took)/2]
}
