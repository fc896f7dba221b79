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
