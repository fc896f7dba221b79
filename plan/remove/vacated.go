package remove

import (
	"maps"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
)

// vacated are nodes whose pods are gone, and what each still waits for.
//
//	waits for            at most                               since
//	volumes to detach    Delay.Detach                          emptySince
//	annotations          Delay.Deletion                        emptySince, the same moment: both waits run at once
//	daemons to end       five seconds, then each one's grace   they were told
//
// The maps are nil until a node waits in this cycle. They replace those of the memory, so that nodes that wait no more are forgotten.
type vacated struct {
	*node.View
	*orders
	detaching map[string]time.Time // since when empty nodes wait for volumes
	dismissed map[string]time.Time // when the daemons of empty nodes were told to end
}

// detaches says which volumes an empty node still waits for, nil when there are none or the time for it is over: a machine that is deleted
// with a volume attached keeps the volume from the next node for minutes.
func (va *vacated) detaches(st *candidate) *reason.Reason {
	left := len(va.Attachments()[st.Name()])
	if left == 0 {
		return nil
	}
	limit := va.Policy.Removal.Delay.Detach
	until := va.emptySince(st).Add(limit)
	if !va.Now.Before(until) {
		return nil
	}
	va.Wake(until)
	r := reason.New(reason.NodeDetaching, reason.Node(st.Name()), "volumes", left, "limit", limit)
	return &r
}

// rememberDetaching leaves to the next cycle since when nodes have waited for their volumes.
func (va *vacated) rememberDetaching() {
	if !maps.EqualFunc(va.Memory.Detaching, va.detaching, time.Time.Equal) {
		va.Memory.Detaching = va.detaching
	}
}

// delays says which annotation an empty node still waits for, nil when there is none or the time for it is over.
func (va *vacated) delays(st *candidate) *reason.Reason {
	var asks []string
	for key := range st.Object.Annotations {
		if strings.HasPrefix(key, delayPrefix) {
			asks = append(asks, key)
		}
	}
	limit := va.Policy.Removal.Delay.Deletion
	if len(asks) == 0 || limit == 0 {
		return nil
	}
	since := va.emptySince(st)
	if !va.Now.Before(since.Add(limit)) {
		return nil
	}
	va.Wake(since.Add(limit))
	r := reason.New(reason.NodeDelayed, reason.Node(st.Name()), "annotation", slices.Min(asks), "limit", limit)
	return &r
}

// delayPrefix begins annotations of a node by which others ask for time before its machine is deleted. It is cluster-autoscaler's.
const delayPrefix = "delay-deletion.cluster-autoscaler.kubernetes.io/"

// emptySince is since when a node that is empty waits for something before its machine goes.
func (va *vacated) emptySince(st *candidate) time.Time {
	since, known := va.Memory.Detaching[st.Name()]
	if !known {
		since = va.Now
	}
	if va.detaching == nil {
		va.detaching = map[string]time.Time{}
	}
	va.detaching[st.Name()] = since
	return since
}

// dismissal is how long daemons that were told to end are waited for before anybody has seen that they do.
const dismissal = 5 * time.Second

// dismisses evicts the daemons of an empty node that the policy lets go, once, and says that it waits for them, nil when it does not, or no
// longer. They hold nobody up: an eviction that fails is not repeated, and a budget over daemons is left alone. A daemon's pod that was
// made after the node was cordoned is in the place of one that was evicted, and stays.
func (va *vacated) dismisses(st *candidate) *reason.Reason {
	if !st.Ready {
		return nil // nobody would tell them
	}
	told, known := va.Memory.Dismissed[st.Name()]
	if !known {
		told = va.Now
	}
	var ends []*cluster.Pod
	waits := 0
	for _, p := range va.daemonsOf(st) {
		switch {
		case p.Leaving():
			if !p.Overstayed(va.Now) {
				waits++
			}
		case known:
			if va.Now.Before(told.Add(dismissal)) {
				waits++
			}
		case va.BudgetRefuses(p) == nil:
			va.Disrupt(p)
			ends = append(ends, p)
		}
	}
	if waits+len(ends) == 0 {
		return nil
	}
	why := reason.New(reason.NodeDismisses, reason.Node(st.Name()), "pods", waits+len(ends))
	for _, p := range ends {
		va.act(action.Evict{Namespace: p.Namespace, Pod: p.Name, UID: p.UID, Node: st.Name(), Grace: va.Policy.Removal.Grace(p), Notice: "", Because: why})
	}
	if va.dismissed == nil {
		va.dismissed = map[string]time.Time{}
	}
	va.dismissed[st.Name()] = told
	if due := told.Add(dismissal); va.Now.Before(due) {
		va.Wake(due)
	}
	return &why
}

// daemonsOf are the pods of daemons on the node that the policy lets go.
func (va *vacated) daemonsOf(st *candidate) (all []*cluster.Pod) {
	occupied := st.Removal.Why != cluster.Idle
	for _, p := range st.Pods {
		if va.Belongs(p, st.Facts) && va.Policy.Removal.Dismisses(p, occupied) && !p.Finished() && !p.Created().After(st.Removal.Since) {
			all = append(all, p)
		}
	}
	return all
}

// rememberDismissed leaves to the next cycle which nodes' daemons were told to end, and when.
func (va *vacated) rememberDismissed() {
	if !maps.EqualFunc(va.Memory.Dismissed, va.dismissed, time.Time.Equal) {
		va.Memory.Dismissed = va.dismissed
	}
}
