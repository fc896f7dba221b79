package plan_test

import (
	"runtime/debug"
	"slices"
	"testing"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/fidelity"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// TestThePlanIsNeverDearerThanAnExpander compares the joint plan of 1,000 random worlds, whose pods do not mind each other, with what every
// expander buys, and with what any one group would cost for all that is wanted: the same pods cost no more, and nobody is left whom one of
// them serves beside all others.
func TestThePlanIsNeverDearerThanAnExpander(t *testing.T) {
	t.Parallel()
	debug.SetGCPercent(800) // thousands of small worlds are made and forgotten
	seeds, _, err := fidelity.Seeds(1000)
	if err != nil {
		t.Fatal(err)
	}
	expanders := []policy.Expander{policy.LeastWaste, policy.MostPods, policy.LeastNodes, policy.Price, policy.Random}
	grew, compared, saved, spent := 0, 0, 0.0, 0.0
	for _, seed := range seeds {
		w := fidelity.Draw(seed, "plain", "odd-quantities", "extended-resource", "overhead", "init-containers", "taints", "node-selector", "node-affinity", "daemons")
		allowed := policy.Default()
		joint, served := bought(w, allowed)
		if len(served) > 0 {
			grew++
		}
		compare := func(by string, cost float64, helped []string) {
			switch {
			case len(helped) > len(served) && !slices.ContainsFunc(served, func(p string) bool { return !slices.Contains(helped, p) }):
				t.Errorf("SLUICE_WORLD=%d: %s serves %d pods, and the plan only %d of them", seed, by, len(helped), len(served))
			case len(helped) > 0 && slices.Equal(helped, served):
				compared++
				spent += joint
				saved += cost - joint
				if joint > cost+1e-9 {
					t.Errorf("SLUICE_WORLD=%d: %s serves %d pods for %.4f an hour, the plan for %.4f", seed, by, len(helped), cost, joint)
				}
			}
		}
		for _, by := range expanders {
			allowed.Growth.Expanders = []policy.Expander{by}
			cost, helped := bought(w, allowed)
			compare(string(by), cost, helped)
		}
		allowed.Growth.Expanders = []policy.Expander{policy.LeastNodes}
		for _, g := range w.Groups {
			cost, helped := bought(growingAlone(w, g), allowed)
			compare(string(g.ID)+" alone", cost, helped)
		}
	}
	t.Logf("worlds %d comparisons %d: the plans cost %.3f an hour, expanders and single groups %.1f %% more", grew, compared, spent, 100*saved/spent)
	if len(seeds) > 1 && (grew < len(seeds)/10 || compared < len(seeds)) {
		t.Errorf("only %d of %d worlds grew, and %d comparisons could be made", grew, len(seeds), compared)
	}
}

// growingAlone is the world in which no group but one may grow.
func growingAlone(w *fidelity.World, one *cluster.Group) *fidelity.World {
	out := *w
	out.Groups = slices.Clone(w.Groups)
	for i, g := range out.Groups {
		if g != one {
			still := *g
			still.Max = still.Capacity
			out.Groups[i] = &still
		}
	}
	return &out
}

// bought is what a plan for the world costs an hour, and for which pods it grows.
func bought(w *fidelity.World, allowed *policy.Policy) (usdPerHour float64, pods []string) {
	p, _ := plan.Decide(w.Snapshot(), allowed, memory.Memory{})
	for _, a := range p.Actions {
		if grow, ok := a.(action.SetCapacity); ok {
			usdPerHour += float64(grow.Adds) * w.Group(grow.Group).PriceUSDPerHour
		}
	}
	for _, v := range p.Verdicts {
		if v.Subject.Kind == reason.KindPod && v.Outcome == action.PodGrows {
			pods = append(pods, v.Subject.Name)
		}
	}
	return usdPerHour, pods
}
