package actuate

import (
	"context"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/expander"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
)

// Expander asks an operator's server which of the offered groups may grow. It changes nothing.
type Expander interface {
	// Best is what the server names: groups in its order, none when none is to grow. Offers is never empty.
	Best(ctx context.Context, offers []expander.Offer) ([]cluster.GroupID, error)
}

// ask puts the question of a plan to the server. Without one, or without its answer, the result says why: then the plan does without.
func (a *Actuator) ask(ctx context.Context, decided *cluster.Snapshot, question action.AskExpander) memory.Result {
	if a.Expander == nil {
		return memory.Result{Status: memory.Skipped, At: a.Now().UTC(), Message: "no server is known; give --grpc-expander-url"}
	}
	pods := make(map[string]*cluster.Pod, len(decided.Pending))
	for _, p := range decided.Pending {
		pods[p.String()] = p
	}
	offers := make([]expander.Offer, len(question.Offers))
	for i, o := range question.Offers {
		offers[i] = expander.Offer{Group: o.Group, Nodes: o.Nodes}
		for _, key := range o.Pods {
			if p := pods[key]; p != nil {
				offers[i].Pods = append(offers[i].Pods, p.Object())
			}
		}
		if g := decided.Group(o.Group); g != nil {
			offers[i].Node = g.Template
		}
	}
	chosen, err := a.Expander.Best(ctx, offers)
	r := memory.Result{Status: memory.Accepted, At: a.Now().UTC(), Chosen: chosen}
	if err != nil {
		r.Status, r.Kind, r.Message, r.Chosen = memory.Failed, "expander", err.Error(), nil
	}
	return r
}
