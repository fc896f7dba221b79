package economics

import (
	"cmp"
	"slices"
	"time"
)

// ClusterAutoscaler is a model of cluster-autoscaler's loop: what it does for pods that wait and with machines that are not needed. It
// loses no time on reads and writes, and meets no failures.
type ClusterAutoscaler struct {
	Expander  Expander
	Unneeded  time.Duration // --scale-down-unneeded-time
	AfterAdd  time.Duration // --scale-down-delay-after-add
	EvictJobs bool          // pods of Jobs may be evicted, as its defaults have it; otherwise only services
	Deletions int           // --max-scale-down-parallelism; 0 for its default
	Drains    int           // --max-drain-parallelism; 0 for its default

	since    map[*Machine]time.Duration // unneeded
	recheck  map[*Machine]time.Duration // found unremovable: not looked at before
	added    time.Duration              // when it last grew a group
	grew     bool
	deleting int
	drains   int
	draw     uint64
}

// The rest of its settings, at their defaults.
const (
	scanInterval  = 10 * time.Second
	podBuffer     = 2 * time.Second
	threshold     = 0.5
	maxDeletions  = 10 // --max-scale-down-parallelism
	maxDrains     = 1  // --max-drain-parallelism
	afterTaint    = 5 * time.Second
	drainTakes    = 30 * time.Second // of a pod's grace period
	recheckAfter  = 5 * time.Minute
	softTaints    = 10 // a loop
	mostPerChoice = 1000
)

// Heeds has it start a loop for a pod that waits, beside the interval.
func (c *ClusterAutoscaler) Heeds(pod bool) bool { return pod }

// Look is one loop.
func (c *ClusterAutoscaler) Look(f *Farm) time.Duration {
	if c.since == nil {
		c.since, c.recheck = map[*Machine]time.Duration{}, map[*Machine]time.Duration{}
	}
	if oldest := f.Waiting.oldest(nil); oldest != nil && f.Now-oldest.Since < podBuffer {
		return oldest.Since + podBuffer
	}
	if c.grow(f) {
		return f.Now + time.Second // the next loop follows at once; a second stands for what one takes
	}
	c.shrink(f)
	return f.Now + scanInterval
}

// grow adds machines of one kind, for pods that neither machines that are booting take.
func (c *ClusterAutoscaler) grow(f *Farm) bool {
	demands := f.Waiting.Demands()
	if len(demands) == 0 {
		return false
	}
	var coming bins
	count := make([]int, len(f.Kinds))
	for _, m := range f.Machines {
		count[m.Kind]++
		if !m.Ready {
			coming = append(coming, bin{m.Kind, m.Free})
		}
	}
	var rest []Demand
	for _, d := range demands {
		if n := coming.fill(f.Kinds, d.Asks, d.Count); n > 0 {
			rest = append(rest, Demand{d.Asks, n})
		}
	}
	var options []option
	for i := range f.Kinds {
		if o := estimate(f.Kinds, i, rest, min(mostPerChoice, f.Kinds[i].Max-count[i])); o.pods > 0 {
			options = append(options, o)
		}
	}
	c.draw++
	i := c.Expander.choose(f.Kinds, options, c.draw)
	if i < 0 {
		return false
	}
	f.Grow(options[i].kind, len(options[i].opened))
	c.added, c.grew = f.Now, true
	return true
}

// shrink finds machines that are not needed and deletes those that have not been for long enough.
func (c *ClusterAutoscaler) shrink(f *Farm) {
	var unneeded []*Machine
	for _, m := range f.Machines {
		if m.Ready && !m.Barred && len(m.Pods) == 0 {
			unneeded = append(unneeded, m)
		}
	}
	empty := len(unneeded)
	unneeded = append(unneeded, c.movable(f)...)
	kept := map[*Machine]time.Duration{}
	for _, m := range unneeded {
		since, known := c.since[m]
		if !known {
			since = f.Now
		}
		kept[m] = since
	}
	c.since = kept
	c.taint(f)
	if c.grew && f.Now < c.added+c.AfterAdd {
		return
	}
	deletions, drains := cmp.Or(c.Deletions, maxDeletions), cmp.Or(c.Drains, maxDrains)
	for i, m := range unneeded {
		drain := i >= empty
		if f.Now-kept[m] < c.Unneeded || c.deleting >= deletions || drain && c.drains >= drains {
			continue
		}
		c.remove(f, m, drain)
	}
}

// taint puts a soft taint on some machines that are not needed, and takes it off those that are.
func (c *ClusterAutoscaler) taint(f *Farm) {
	budget := softTaints
	for _, m := range f.Machines {
		_, unneeded := c.since[m]
		if m.Shunned != unneeded && budget > 0 {
			m.Shunned = unneeded
			budget--
		}
	}
}

func (c *ClusterAutoscaler) remove(f *Farm, m *Machine, drain bool) {
	f.Bar(m)
	c.deleting++
	after := afterTaint
	if drain {
		c.drains++
		after += drainTakes
		f.at(f.Now+afterTaint, func() {
			for len(m.Pods) > 0 {
				f.Evict(m.Pods[0])
			}
		})
	}
	f.at(f.Now+after, func() {
		c.deleting--
		if drain {
			c.drains--
		}
		f.Delete(m)
	})
}

// movable are machines at or below the threshold whose pods may all be evicted and find room on other machines.
func (c *ClusterAutoscaler) movable(f *Farm) []*Machine {
	var out []*Machine
	going := map[*Machine]bool{}
	var free map[*Machine]Vector
	for _, m := range f.Machines {
		if !m.Ready || m.Barred || len(m.Pods) == 0 || f.Now < c.recheck[m] || c.used(f, m) > threshold ||
			slices.ContainsFunc(m.Pods, func(r *Run) bool { return !r.Evictable && !c.EvictJobs }) {
			continue
		}
		if free == nil {
			free = map[*Machine]Vector{}
			for _, o := range f.Machines {
				if o.Ready && !o.Barred && len(o.Pods) > 0 {
					free[o] = o.Free
				}
			}
		}
		if c.move(f, m, free, going) {
			going[m] = true
			out = append(out, m)
		} else {
			c.recheck[m] = f.Now + recheckAfter
		}
	}
	return out
}

// move places a machine's pods on others on paper, false when one finds no room.
func (c *ClusterAutoscaler) move(f *Farm, m *Machine, free map[*Machine]Vector, going map[*Machine]bool) bool {
	var undo []func()
	for _, r := range m.Pods {
		i := slices.IndexFunc(f.Machines, func(o *Machine) bool {
			room, ok := free[o]
			return ok && o != m && !going[o] && r.Asks.In(room) && (r.Asks.GPU > 0) == (f.Kinds[o.Kind].Machine.GPU > 0)
		})
		if i < 0 {
			for _, u := range undo {
				u()
			}
			return false
		}
		to := f.Machines[i]
		free[to] = free[to].Minus(r.Asks)
		undo = append(undo, func() { free[to] = free[to].Plus(r.Asks) })
	}
	return true
}

// used is the utilisation as it counts for removal: of the GPUs where there are some, otherwise the larger of CPU's and memory's.
func (c *ClusterAutoscaler) used(f *Farm, m *Machine) float64 {
	room := f.Kinds[m.Kind].Room
	if room.GPU > 0 {
		return 1 - float64(m.Free.GPU)/float64(room.GPU)
	}
	return 1 - min(float64(m.Free.Milli)/float64(room.Milli), float64(m.Free.MiB)/float64(room.MiB))
}
