package plan

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// A node may work for what no pod requests. Before it goes as idle or underused, or for a saving, its CPU is measured; above a threshold it stays
// and its time starts anew. That is a veto and never a reason to go: where nothing is known lately, requests alone decide.

const (
	measureAhead = 75 * time.Second // before its time is up, a node is measured: once at least while there is time for an answer
	measureEvery = time.Minute      // at most
	useServes    = 3 * time.Minute  // for so long a measurement counts
)

// InUse is for how long measured use alone has kept a node.
type InUse struct {
	Since time.Time `json:"since"`
	Last  time.Time `json:"last"` // the last cycle in which its measured use was above the threshold
}

// uses is what a cycle finds of measured use.
type uses struct {
	above  map[string]InUse // nodes whose measured use is above the threshold
	asking []string         // nodes to be measured
}

// inUse says that the node's measured CPU keeps it, beyond what expendable pods request; nil when that is not so, not known, or has kept it for as long
// as it may. A node that was kept is measured until it has been calm for as long as a node must be removable before it goes.
func (d *removing) inUse(st *nodeState) *reason.Reason {
	return d.inUseAbove(st, d.allowed.Expendable)
}

// inUseBeyondRequests is [decision.inUse] of a node that works as its pods request: only work beyond that keeps it.
func (d *removing) inUseBeyondRequests(st *nodeState) *reason.Reason {
	return d.inUseAbove(st, func(*cluster.Pod) bool { return true })
}

// inUseAbove says it of a node whose use is above the threshold for busy nodes, and above what those of its pods request which count.
func (d *removing) inUseAbove(st *nodeState, counts func(*cluster.Pod) bool) *reason.Reason {
	limit := d.allowed.Removal.BusyLimit
	if d.allowed.Removal.BusyThreshold == 0 || !st.ready {
		return nil
	}
	use, before := d.m.InUse[st.Name()]
	if before {
		d.measure(st)
	}
	m, share := d.measured(st)
	if m == nil {
		return nil
	}
	threshold := max(d.allowed.Removal.BusyThreshold, d.requestedCPU(st, counts))
	if share <= threshold {
		return nil
	}
	if !before {
		use.Since = d.now
		d.measure(st)
	}
	if use.Last = d.now; d.use.above == nil {
		d.use.above = map[string]InUse{}
	}
	d.use.above[st.Name()] = use
	kept, most := d.now.Sub(use.Since), "none"
	if limit > 0 {
		if kept >= limit {
			return nil
		}
		most = limit.String()
		d.wake(use.Since.Add(limit))
	}
	d.wake(m.At.Add(useServes))
	return new(reason.New(reason.NodeInUse, reason.Node(st.Name()), "used", percent(share), "threshold", percent(threshold),
		"age", d.now.Sub(m.At).Truncate(time.Second), "kept", kept.Truncate(time.Second), "limit", most))
}

// measured is the node's last measurement and the share of its CPU that it says; nil when it is too old, of the future, or of no use.
func (d *removing) measured(st *nodeState) (*cluster.NodeUse, float64) {
	at, found := slices.BinarySearchFunc(d.s.Objects.NodeUse, st.Name(), func(u *cluster.NodeUse, name string) int { return strings.Compare(u.Name, name) })
	has := st.Object.Status.Allocatable.Cpu().MilliValue()
	if !found || has <= 0 {
		return nil, 0
	}
	m := d.s.Objects.NodeUse[at]
	if age := d.now.Sub(m.At); age < 0 || age >= useServes {
		return nil, 0
	}
	return m, float64(m.MilliCPU) / float64(has)
}

// requestedCPU is the share of the node's CPU that those of its pods request which count.
func (d *removing) requestedCPU(st *nodeState, counts func(*cluster.Pod) bool) float64 {
	has := st.Object.Status.Allocatable.Cpu().MilliValue()
	cpu := slices.Index(d.check.Resources(), corev1.ResourceCPU)
	if has <= 0 || cpu < 0 {
		return 0
	}
	var milli int64
	for _, p := range st.Pods {
		if needs := d.check.Needs(p.Class); counts(p) && cpu < len(needs) {
			milli += needs[cpu]
		}
	}
	return float64(milli) / float64(has)
}

// measureSoon has a node measured that goes at that time if nothing is in the way.
func (d *removing) measureSoon(st *nodeState, goes time.Time) {
	if !d.now.Before(goes.Add(-measureAhead)) {
		d.measure(st)
	}
}

func (d *removing) measure(st *nodeState) {
	if d.allowed.Removal.BusyThreshold > 0 && st.ready {
		d.use.asking = append(d.use.asking, st.Name())
	}
}

// endUse leaves to the next cycle which nodes are in use, and returns those to be measured now: all that are to be, at most once a minute.
func (d *removing) endUse() []string {
	kept, calm := d.use.above, useServes
	for _, g := range d.listed {
		calm = max(calm, g.removal.Unneeded)
	}
	for name, use := range d.m.InUse {
		if _, still := kept[name]; !still && d.now.Sub(use.Last) <= calm {
			if kept == nil {
				kept = map[string]InUse{}
			}
			kept[name] = use
		}
	}
	if !maps.Equal(kept, d.m.InUse) {
		d.m.InUse = kept
	}
	if since := d.now.Sub(d.m.Measured); len(d.use.asking) == 0 || since >= 0 && since < measureEvery {
		return nil
	}
	d.m.Measured = d.now
	slices.Sort(d.use.asking)
	return slices.Compact(d.use.asking)
}
