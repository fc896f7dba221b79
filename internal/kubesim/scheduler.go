package kubesim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// schedule places the pods that are to be tried, highest priority first, then
// oldest. Of the nodes that admit a pod it takes the one with the largest share
// of CPU and memory left, then the first by name. A pod that fits nowhere is
// parked until a node changes or a pod goes.
func (c *Cluster) schedule() {
	if len(c.trying) == 0 {
		return
	}
	queue := slices.SortedFunc(maps.Keys(c.trying), func(a, b string) int {
		x, y := c.pods[a], c.pods[b]
		return cmp.Or(cmp.Compare(priority(y.pod), priority(x.pod)), cmp.Compare(x.born, y.born))
	})
	clear(c.trying)
	rooms := c.rooms()
	repelling := slices.ContainsFunc(rooms, func(r *room) bool {
		return slices.ContainsFunc(r.pods, func(st *podState) bool { return st.asks.repels })
	})
	for _, key := range queue {
		st := c.pods[key]
		if len(st.pod.Spec.SchedulingGates) > 0 {
			continue // the API server says so; removing a gate changes the spec
		}
		best, why := c.choose(st, rooms, repelling)
		if best == nil {
			c.parked[key] = struct{}{}
			c.refuse(key, why)
			continue
		}
		repelling = repelling || st.asks.repels
		best.hold(st)
		c.bind(c.entryOf("pods", key), best.node.Name)
	}
}

func priority(pod *corev1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// choose returns the room for a pod, or why there is none.
func (c *Cluster) choose(st *podState, rooms []*room, repelling bool) (best *room, why string) {
	f := &fit{st: st, affinity: nodeaffinity.GetRequiredNodeAffinity(st.pod)}
	if st.asks.relative || repelling {
		f.relations = c.relationsOf(st.pod, rooms, f)
	}
	reasons := map[string]int{}
	bestScore := int64(-1)
	for _, r := range rooms {
		refusals := f.refusals(r)
		for _, reason := range refusals {
			reasons[reason]++
		}
		if score := f.score(r); len(refusals) == 0 && score > bestScore {
			best, bestScore = r, score
		}
	}
	if best != nil {
		return best, ""
	}
	if len(rooms) == 0 {
		return nil, "no nodes available to schedule pods"
	}
	lines := make([]string, 0, len(reasons))
	for reason, n := range reasons {
		lines = append(lines, fmt.Sprintf("%d %s", n, reason))
	}
	slices.Sort(lines)
	return nil, fmt.Sprintf("0/%d nodes are available: %s.", len(rooms), strings.Join(lines, ", "))
}

// refuse tells the pod why it waits.
func (c *Cluster) refuse(key, why string) {
	now := c.stamp()
	revised(c, c.entryOf("pods", key), func(p *corev1.Pod) {
		setCondition(p, now, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
			Reason: corev1.PodReasonUnschedulable, Message: why})
	})
}

func (c *Cluster) bind(e *entry, node string) {
	now := c.stamp()
	pod := e.obj.DeepCopyObject().(*corev1.Pod)
	pod.Spec.NodeName = node
	setCondition(pod, now, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})
	c.replace(e, pod)
}
