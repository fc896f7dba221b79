package economics

import (
	"slices"
	"time"

	"sluice.dev/sluice/internal/traces"
)

// Oracle knows what comes: it buys as [Joint] does, and keeps a ready machine without pods just as long as one of the pods that come before it
// could be deleted and another one booted has its place there. What decides by what it sees cannot do better with the same purchases.
type Oracle struct {
	Joint
	pods []traces.Pod // in the order in which they come
	next int          // the first of them that has not come
}

// NewOracle knows the workload's pods.
func NewOracle(w Workload) *Oracle {
	pods := slices.Clone(w.Pods)
	slices.SortStableFunc(pods, func(a, b traces.Pod) int { return int(a.At - b.At) })
	return &Oracle{pods: pods}
}

// Look grows for what waits, and deletes what is empty and will not be needed soon.
func (o *Oracle) Look(f *Farm) time.Duration {
	var again time.Duration
	if f.Waiting.count > 0 {
		o.grow(f)
		again = f.Now + coalesce
	}
	for o.next < len(o.pods) && o.pods[o.next].At <= f.Now {
		o.next++
	}
	needed := o.needed(f)
	for _, m := range slices.Clone(f.Machines) {
		switch {
		case !m.Ready || len(m.Pods) > 0:
		case needed[m]:
			if due := f.Now + coalesce; again == 0 || due < again {
				again = due
			}
		default:
			f.Delete(m)
		}
	}
	return again
}

// needed are the machines on which pods have a place that come before another machine could take the place of one that is deleted now.
func (o *Oracle) needed(f *Farm) map[*Machine]bool {
	needed := map[*Machine]bool{}
	if !slices.ContainsFunc(f.Machines, func(m *Machine) bool { return m.Ready && len(m.Pods) == 0 }) {
		return nil
	}
	free := make([]Vector, len(f.Machines))
	for i, m := range f.Machines {
		free[i] = m.Free
	}
	from := map[Vector]int{} // no machine before it has room for such a pod
	for _, p := range o.pods[o.next:] {
		if p.At > f.Now+f.settings.Boot(0)+f.settings.Delete {
			break
		}
		at := from[p.Asks]
		for at < len(free) && (f.Machines[at].Barred || (p.Asks.GPU > 0) != (f.Kinds[f.Machines[at].Kind].Machine.GPU > 0) || !p.Asks.In(free[at])) {
			at++
		}
		if from[p.Asks] = at; at < len(free) {
			free[at] = free[at].Minus(p.Asks)
			needed[f.Machines[at]] = true
		}
	}
	return needed
}
