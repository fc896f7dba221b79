package node

import (
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// Permitted are the actions without those that the API server would refuse for want of a right: what would be refused in each cycle.
//
//	right that is missing             actions that are left out
//	to evict pods                     Evict
//	to read nodes, or to change them  all that write to a Node object; deleting one is another right
//
// Why its node stays is said in the verdict on it (scenario right-missing).
func Permitted(actions []action.Action, lacks cluster.Lacks) []action.Action {
	_, halted := lacks.Halting()
	if !halted && !lacks.Has(cluster.EvictPods) {
		return actions
	}
	return slices.DeleteFunc(actions, func(a action.Action) bool {
		switch a.(type) {
		case action.Evict:
			return lacks.Has(cluster.EvictPods)
		case action.Cordon, action.Mark, action.Uncordon, action.CandidateTaint, action.CandidateUntaint, action.AnswerNotice:
			return halted
		}
		return false
	})
}

// Missing is that sluice lacks a right.
func Missing(about reason.Ref, right cluster.Right) reason.Reason {
	return reason.New(reason.RightMissing, about, "right", right, "loss", right.Loss().Sentence)
}
