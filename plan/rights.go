package plan

import (
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// permitted are the actions without those that the API server would refuse for want of a right: what would be tried in vain in each cycle.
func permitted(actions []Action, lacks cluster.Lacks) []Action {
	_, halted := lacks.Halting()
	if !halted && !lacks.Has(cluster.EvictPods) {
		return actions
	}
	return slices.DeleteFunc(actions, func(a Action) bool {
		switch a.(type) {
		case Evict:
			return lacks.Has(cluster.EvictPods)
		case Cordon, Mark, Uncordon, SoftTaint, SoftUntaint, AnswerNotice:
			return halted
		}
		return false
	})
}

// missing is that sluice lacks a right.
func missing(about reason.Ref, right cluster.Right) reason.Reason {
	return reason.New(reason.RightMissing, about, "right", right, "loss", right.Loss().Sentence)
}

// leftBehind says whether the node is nothing but an object that sluice may not delete: its machine is gone, and was removed or seen to leave. It is the
// cloud controller's to take away, and counts as no node meanwhile.
func (d *decision) leftBehind(n *cluster.Node) bool {
	if n.Instance != nil || n.Parked.UID != "" || !d.s.Objects.Lacks.Has(cluster.DeleteNodes) {
		return false
	}
	_, on := cluster.RemovalOf(n.Object)
	return on || n.Marked.UID != ""
}
