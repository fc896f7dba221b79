package actuate

import (
	"slices"
	"time"

	"sluice.dev/sluice/plan"
)

// patience is for how long a cycle begins writes that are no growths. An API server that is slow may take longer than that for a single one.
const patience = 5 * time.Second

// turn names what an action does, and to what, in whichever plan it stands.
type turn struct{ kind, object string }

// turnOf is the turn of an action; a growth, or a question, has none.
func turnOf(action plan.Action) turn {
	object := ""
	switch action := action.(type) {
	case plan.SetCapacity, plan.AskExpander:
		return turn{}
	case plan.Cordon:
		object = action.Node
	case plan.Mark:
		object = action.Node
	case plan.Uncordon:
		object = action.Node
	case plan.SoftTaint:
		object = action.Node
	case plan.SoftUntaint:
		object = action.Node
	case plan.DeleteNode:
		object = action.Node
	case plan.AnswerNotice:
		object = action.Node
	case plan.Evict:
		object = action.Namespace + "/" + action.Pod
	case plan.OpenGate:
		object = action.Namespace + "/" + action.Pod
	case plan.AnswerRequest:
		object = action.Namespace + "/" + action.Request
	case plan.AnswerBuffer:
		object = action.Namespace + "/" + action.Buffer
	case plan.DeleteInstances:
		object = string(action.Group)
	}
	return turn{plan.KindOf(action), object}
}

// turns is the order in which a plan's actions are performed, by their indices: growths, what was left the last time, and the rest. Of what was left
// that comes first which waits for longest: what is tried in vain in each cycle keeps nothing else from being tried.
func (a *Actuator) turns(p plan.Plan) []int {
	order := make([]int, len(p.Actions))
	for i := range order {
		order[i] = i
	}
	left := a.left
	if a.left = nil; len(left) == 0 {
		return order
	}
	rank := func(i int) int {
		turn := turnOf(p.Actions[i])
		if place, is := left[turn]; is {
			return place
		}
		if turn.kind == "" {
			return 0
		}
		return len(left) + 1
	}
	slices.SortStableFunc(order, func(i, j int) int { return rank(i) - rank(j) })
	return order
}

// waits says whether an action is left for the next cycle, because this one's others have taken so long, and remembers its place among those.
func (a *Actuator) waits(t turn, began time.Time) bool {
	if t.kind == "" || a.Now().Sub(began) < patience {
		return false
	}
	if a.left == nil {
		a.left = map[turn]int{}
	}
	a.left[t] = len(a.left) + 1
	return true
}
