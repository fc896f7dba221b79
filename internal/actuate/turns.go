package actuate

import (
	"slices"
	"time"

	"sluice.dev/sluice/plan/action"
)

// patience is for how long a cycle begins writes that are no growths. An API server that is slow may take longer than that for a single one.
const patience = 5 * time.Second

// turn names what an action does, and to what, in whichever plan it stands.
type turn struct{ kind, object string }

// turnOf is the turn of an action; a growth, or a question, has none.
func turnOf(act action.Action) turn {
	object := ""
	switch act := act.(type) {
	case action.SetCapacity, action.AskExpander:
		return turn{}
	case action.Cordon:
		object = act.Node
	case action.Mark:
		object = act.Node
	case action.Uncordon:
		object = act.Node
	case action.CandidateTaint:
		object = act.Node
	case action.CandidateUntaint:
		object = act.Node
	case action.DeleteNode:
		object = act.Node
	case action.AnswerNotice:
		object = act.Node
	case action.Evict:
		object = act.Namespace + "/" + act.Pod
	case action.OpenGate:
		object = act.Namespace + "/" + act.Pod
	case action.AnswerRequest:
		object = act.Namespace + "/" + act.Request
	case action.AnswerBuffer:
		object = act.Namespace + "/" + act.Buffer
	case action.DeleteInstances:
		object = string(act.Group)
	}
	return turn{action.KindOf(act), object}
}

// turns is the order in which a plan's actions are performed, by their indices: growths, what was left the last time, and the rest. Of what was left
// that comes first which waits for longest: what is tried in vain in each cycle keeps nothing else from being tried.
func (a *Actuator) turns(p action.Plan) []int {
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
