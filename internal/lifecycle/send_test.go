package lifecycle_test

import (
	"strings"
	"testing"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/lifecycle"
)

// TestADeploymentWithoutAnAnswerIsFollowed loses Azure's answer to the deployment, and has it fail to answer: nothing is to be corrected, and up goes on.
func TestADeploymentWithoutAnAnswerIsFollowed(t *testing.T) {
	for name, fault := range map[string]azuresim.Fault{
		"the answer is lost":  {Kind: "PUT deployments", LoseAnswer: true, Times: 1},
		"an error of Azure's": {Kind: "PUT deployments", Status: 500, Times: 1},
		"three of them":       {Kind: "PUT deployments", Status: 503, Times: 3},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "k3s")
			w.sim.Inject(fault)
			w.up()
			if all, err := w.Diff(t.Context()); err != nil || len(all) > 0 {
				t.Errorf("%v, %v", all, err)
			}
		})
	}
	w := newWorld(t, "k3s")
	w.sim.Inject(azuresim.Fault{Kind: "PUT deployments", Status: 500})
	_, err := w.Up(t.Context(), lifecycle.Door{Fingerprint: strings.Repeat("0", 64), PEM: "x"})
	if !lifecycle.Unanswered(err) || strings.Contains(err.Error(), "refused") {
		t.Errorf("after the last time: %v", err)
	}
}

// TestARightThatIsMissingNamesARoleThatHasIt takes away what only people need.
func TestARightThatIsMissingNamesARoleThatHasIt(t *testing.T) {
	for action, role := range map[string]string{
		"Microsoft.Resources/subscriptions/resourceGroups/write": "such as Contributor", "Microsoft.Authorization/roleAssignments/write": "such as User Access Administrator",
	} {
		w := newWorld(t, "k3s")
		w.check()
		asked := w.sim.Requests()
		w.must(w.sim.Deny(asked[len(asked)-1].Principal, action))
		at := "/subscriptions/" + subscription + "/resourceGroups/new"
		if strings.Contains(action, "Authorization") {
			at = "/subscriptions/" + subscription + "/resourceGroups/shared/providers/Microsoft.Authorization/roleAssignments/11111111-2222-3333-4444-555555555555"
		}
		err := w.Cloud.Put(t.Context(), at, map[bool]string{true: "2022-04-01", false: "2021-04-01"}[strings.Contains(action, "Authorization")], map[string]any{"location": "westeurope"})
		if err == nil || !strings.Contains(err.Error(), "may not perform "+action) || !strings.Contains(err.Error(), role) {
			t.Errorf("%v, want %s", err, role)
		}
	}
}
