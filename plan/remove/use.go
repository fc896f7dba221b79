package remove

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
)

// A node may work for what no pod requests. Before it goes as idle or underused, or for a saving, its CPU is measured; above a threshold it stays
// and its time starts anew. That is a veto and never a reason to go: where nothing is known lately, requests alone decide.

const (
	measureAhead = 75 * time.Second // before its time is up, a node is measured: once at least while there is time for an answer
	measureEvery = time.Minute      // at most
	useServes    = 3 * time.Minute  // for so long a measurement counts
)

// inUse says that the node's measured CPU keeps it, beyond what expendable pods request; nil when that is not so, not known, or has kept it for as long
// as it may. A node that was kept is measured until it has been calm for as long as a node must be removable before it goes.
func (d *Removal) inUse(st *candidate) *reason.Reason {
	return d.inUseAbove(st, d.Policy.Expendable)
}

// inUseBeyondRequests is [Removal.inUse] of a node that works as its pods request: only work beyond that keeps it.
func (d *Removal) inUseBeyondRequests(st *candidate) *reason.Reason {
	return d.inUseAbove(st, func(*cluster.Pod) bool { return true })
}

// inUseAbove says it of a node whose use is above the threshold for busy nodes, and above what those of its pods request which count.
func (d *Removal) inUseAbove(st *candidate, counts func(*cluster.Pod) bool) *reason.Reason {
	limit := d.Policy.Removal.Busy.Limit
	if d.Policy.Removal.Busy.Threshold == 0 || !st.Ready {
		return nil
	}
	use, before := d.Memory.InUse[st.Name()]
	if before {
		d.measure(st)
	}
	m, share := d.measured(st)
	if m == nil {
		return nil
	}
	threshold := max(d.Policy.Removal.Busy.Threshold, d.requestedCPU(st, counts))
	if share <= threshold {
		return nil
	}
	if !before {
		use.Since = d.Now
		d.measure(st)
	}
	if use.Last = d.Now; d.use.above == nil {
		d.use.above = map[string]memory.InUse{}
	}
	d.use.above[st.Name()] = use
	kept, most := d.Now.Sub(use.Since), "none"
	if limit > 0 {
		if kept >= limit {
			return nil
		}
		most = limit.String()
		d.Wake(use.Since.Add(limit))
	}
	d.Wake(m.At.Add(useServes))
	return new(reason.New(reason.NodeInUse, reason.Node(st.Name()), "used", node.Percent(share), "threshold", node.Percent(threshold),
		"age", d.Now.Sub(m.At).Truncate(time.Second), "kept", kept.Truncate(time.Second), "limit", most))
}

// measured is the node's last measurement and the share of its CPU that it says; nil when it is too old, of the future, or of no use.
func (d *Removal) measured(st *candidate) (*cluster.NodeUse, float64) {
	at, found := slices.BinarySearchFunc(d.Snapshot.Objects.NodeUse, st.Name(), func(u *cluster.NodeUse, name string) int { return strings.Compare(u.Name, name) })
	has := st.Object.Status.Allocatable.Cpu().MilliValue()
	if !found || has <= 0 {
		return nil, 0
	}
	m := d.Snapshot.Objects.NodeUse[at]
	if age := d.Now.Sub(m.At); age < 0 || age >= useServes {
		return nil, 0
	}
	return m, float64(m.MilliCPU) / float64(has)
}

// requestedCPU is the share of the node's CPU that those of its pods request which count.
func (d *Removal) requestedCPU(st *candidate, counts func(*cluster.Pod) bool) float64 {
	has := st.Object.Status.Allocatable.Cpu().MilliValue()
	cpu := slices.Index(d.Check.Resources(), corev1.ResourceCPU)
	if has <= 0 || cpu < 0 {
		return 0
	}
	var milli int64
	for _, p := range st.Pods {
		if needs := d.Check.Needs(p.Class); counts(p) && cpu < len(needs) {
			milli += needs[cpu]
		}
	}
	return float64(milli) / float64(has)
}

// measureSoon has a node measured that goes at that time if nothing is in the way.
func (d *Removal) measureSoon(st *candidate, goes time.Time) {
	if !d.Now.Before(goes.Add(-measureAhead)) {
		d.measure(st)
	}
}

func (d *Removal) measure(st *candidate) {
	if d.Policy.Removal.Busy.Threshold > 0 && st.Ready {
		d.use.asking = append(d.use.asking, st.Name())
	}
}

// EndUse leaves to the next cycle which nodes are in use, and returns those to be measured now: all that are to be, at most once a minute.
func (d *Removal) EndUse() []string {
	kept, calm := d.use.above, useServes
	for _, g := range d.listed {
		calm = max(calm, g.Removal.UnneededTime)
	}
	for name, use := range d.Memory.InUse {
		if _, still := kept[name]; !still && d.Now.Sub(use.Last) <= calm {
			if kept == nil {
				kept = map[string]memory.InUse{}
			}
			kept[name] = use
		}
	}
	if !maps.Equal(kept, d.Memory.InUse) {
		d.Memory.InUse = kept
	}
	if since := d.Now.Sub(d.Memory.Measured); len(d.use.asking) == 0 || since >= 0 && since < measureEvery {
		return nil
	}
	d.Memory.Measured = d.Now
	slices.Sort(d.use.asking)
	return slices.Compact(d.use.asking)
}

// underuse is in what an underused node that could go is underused, and for how long it has been. Nodes of which the same is to be said share
// the words.
func (d *Removal) underuse(st *candidate, limit time.Duration) reason.Reason {
	words := underuse{node.Percent(st.Used), string(st.Resource), node.Percent(st.Threshold), d.idleFor(st), limit}
	said, ok := d.underuses[words]
	if !ok {
		said = reason.New(reason.NodeUnderused, reason.Ref{}, "used", words.used, "resource", words.resource, "threshold", words.threshold, "idle", words.idle, "limit", words.limit)
		d.underuses[words] = said
	}
	said.About = reason.Node(st.Name())
	return said
}
