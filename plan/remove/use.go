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

// A node may work for what no pod requests. Before it goes as idle or underused, or for a saving, its CPU is measured; above a threshold it
// stays and its time starts anew. That is a veto and never a reason to go: where nothing is known lately, requests alone decide.

const (
	measureAhead = 75 * time.Second // before its time is up, a node is measured: once at least while there is time for an answer
	measureEvery = time.Minute      // at most
	useServes    = 3 * time.Minute  // for so long a measurement counts
)

// uses is what a cycle finds of measured use.
//
// A node that is above the threshold stays in memory with since when, until it has been calm for long enough:
//
//	measured use                              the node           memory
//	unknown, older than useServes, or calm    requests decide    kept until Last is longer ago than any group's UnneededTime
//	above the threshold                       is kept            measured again each minute; Last is now
//	above it for Busy.Limit                   requests decide    kept: a short calm does not begin the limit anew
//
// Scenarios busy-by-measure, busy-unknown and busy-limit.
type uses struct {
	*node.View
	above  map[string]memory.InUse // nodes whose measured use is above the threshold
	asking []string                // nodes to be measured
}

// inUse says that the node's measured CPU keeps it, beyond what expendable pods request; nil when that is not so, not known, or has kept it
// for as long as it may. A node that was kept is measured until it has been calm for as long as a node must be removable before it goes.
func (us *uses) inUse(st *candidate) *reason.Reason {
	return us.inUseAbove(st, us.Policy.Expendable)
}

// inUseBeyondRequests is [uses.inUse] of a node that works as its pods request: only work beyond that keeps it.
func (us *uses) inUseBeyondRequests(st *candidate) *reason.Reason {
	return us.inUseAbove(st, func(*cluster.Pod) bool { return true })
}

// inUseAbove says it of a node whose use is above the threshold for busy nodes, and above what those of its pods request which count.
func (us *uses) inUseAbove(st *candidate, counts func(*cluster.Pod) bool) *reason.Reason {
	limit := us.Policy.Removal.Busy.Limit
	if us.Policy.Removal.Busy.Threshold == 0 || !st.Ready {
		return nil
	}
	use, before := us.Memory.InUse[st.Name()]
	if before {
		us.measure(st)
	}
	m, share := us.measured(st)
	if m == nil {
		return nil
	}
	threshold := max(us.Policy.Removal.Busy.Threshold, us.requestedCPU(st, counts))
	if share <= threshold {
		return nil
	}
	if !before {
		use.Since = us.Now
		us.measure(st)
	}
	if use.Last = us.Now; us.above == nil {
		us.above = map[string]memory.InUse{}
	}
	us.above[st.Name()] = use
	kept, most := us.Now.Sub(use.Since), "none"
	if limit > 0 {
		if kept >= limit {
			return nil
		}
		most = limit.String()
		us.Wake(use.Since.Add(limit))
	}
	us.Wake(m.At.Add(useServes))
	return new(reason.New(reason.NodeInUse, reason.Node(st.Name()), "used", node.Percent(share), "threshold", node.Percent(threshold),
		"age", us.Now.Sub(m.At).Truncate(time.Second), "kept", kept.Truncate(time.Second), "limit", most))
}

// measured is the node's last measurement and the share of its CPU that it says; nil when it is too old, of the future, or of no use.
func (us *uses) measured(st *candidate) (*cluster.NodeUse, float64) {
	at, found := slices.BinarySearchFunc(us.Snapshot.Objects.NodeUse, st.Name(), func(u *cluster.NodeUse, name string) int { return strings.Compare(u.Name, name) })
	has := st.Object.Status.Allocatable.Cpu().MilliValue()
	if !found || has <= 0 {
		return nil, 0
	}
	m := us.Snapshot.Objects.NodeUse[at]
	if age := us.Now.Sub(m.At); age < 0 || age >= useServes {
		return nil, 0
	}
	return m, float64(m.MilliCPU) / float64(has)
}

// requestedCPU is the share of the node's CPU that those of its pods request which count.
func (us *uses) requestedCPU(st *candidate, counts func(*cluster.Pod) bool) float64 {
	has := st.Object.Status.Allocatable.Cpu().MilliValue()
	cpu := slices.Index(us.Check.Resources(), corev1.ResourceCPU)
	if has <= 0 || cpu < 0 {
		return 0
	}
	var milli int64
	for _, p := range st.Pods {
		if needs := us.Check.Needs(p.Class); counts(p) && cpu < len(needs) {
			milli += needs[cpu]
		}
	}
	return float64(milli) / float64(has)
}

// measureSoon has a node measured that goes at that time if nothing is in the way.
func (us *uses) measureSoon(st *candidate, goes time.Time) {
	if !us.Now.Before(goes.Add(-measureAhead)) {
		us.measure(st)
	}
}

func (us *uses) measure(st *candidate) {
	if us.Policy.Removal.Busy.Threshold > 0 && st.Ready {
		us.asking = append(us.asking, st.Name())
	}
}

// EndUse leaves to the next cycle which nodes are in use, and returns those to be measured now: all that are to be, at most once a minute.
func (us *uses) EndUse() []string {
	kept, calm := us.above, useServes
	for _, g := range us.Listed {
		calm = max(calm, g.Removal.UnneededTime)
	}
	for name, use := range us.Memory.InUse {
		if _, still := kept[name]; !still && us.Now.Sub(use.Last) <= calm {
			if kept == nil {
				kept = map[string]memory.InUse{}
			}
			kept[name] = use
		}
	}
	if !maps.Equal(kept, us.Memory.InUse) {
		us.Memory.InUse = kept
	}
	if since := us.Now.Sub(us.Memory.Measured); len(us.asking) == 0 || since >= 0 && since < measureEvery {
		return nil
	}
	us.Memory.Measured = us.Now
	slices.Sort(us.asking)
	return slices.Compact(us.asking)
}
