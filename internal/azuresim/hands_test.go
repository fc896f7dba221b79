package azuresim_test

import (
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/azuresim"
)

func TestThePlatformActsByItsOwnHands(t *testing.T) {
	a := newAzure(t)
	a.agents(2)
	a.must(a.AddAutoscaleSetting(azuresim.AutoscaleSetting{
		Target: "agents", Enabled: true, Min: 1, Max: 3,
		Rules: []azuresim.AutoscaleRule{{Metric: "Percentage CPU", Operator: "GreaterThan", Threshold: 80, Change: 1}},
	}))
	a.must(a.Perform(azuresim.Act{Do: "schedule", Target: "agents_0", Event: azuresim.Redeploy}))
	a.advance(10*time.Minute - time.Second)
	a.expect("agents_1", "1: Redeploy Scheduled agents_0 Platform")
	a.must(a.Perform(azuresim.Act{Do: "withdraw", Target: "agents_0"}))
	a.expect("agents_1", "2:")
	if err := a.Perform(azuresim.Act{Do: "withdraw", Target: "agents_0"}); err == nil {
		t.Error("an event was withdrawn twice")
	}
	for _, value := range []float64{93, 50, 93} {
		a.must(a.Perform(azuresim.Act{Do: "autoscale", Target: "agents", Value: value}))
	}
	if got := a.capacity(); got != 3 {
		t.Errorf("capacity %d, want the setting's most, 3", got)
	}
}

func TestAMachineHearsOfNewTagsWhenItBoots(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	tags := func() string {
		_, body := a.wireFrom("agents_0", "GET", imds+"/instance/compute/tags?api-version=2021-12-13&format=text", "", "Metadata", "true")
		return body
	}
	a.must(a.SetTags("agents", map[string]string{"pool": "old"}))
	a.plain(202, "POST", setPath+"/virtualMachines/0/restart"+version, "")
	a.must(a.SetTags("agents", map[string]string{"pool": "new"}))
	if got := tags(); got != "pool:old" {
		t.Errorf("tags %q before a boot", got)
	}
	a.plain(202, "POST", setPath+"/virtualMachines/0/restart"+version, "")
	if got := tags(); got != "pool:new" {
		t.Errorf("tags %q after a boot", got)
	}
}

func TestAnAssignedRoleIsAllThatAPrincipalMayDo(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	scope := "/subscriptions/" + subscription
	a.must(a.Perform(azuresim.Act{Do: "assign-role", Target: clientID, Role: "Reader", Scope: scope}))
	a.plain(200, "GET", setPath+version, "")
	if body := a.plain(403, "PATCH", setPath+version, "{}"); !strings.Contains(body, "virtualMachineScaleSets/write") {
		t.Error(body)
	}
	for _, act := range []azuresim.Act{
		{Do: "assign-role", Target: clientID, Role: "Emperor", Scope: scope},
		{Do: "assign-role", Target: "nobody", Role: "Reader", Scope: scope},
		{Do: "assign-role", Target: clientID, Role: "Reader"},
		{Do: "schedule", Target: "agents_0", Event: "Meteor"},
		{Do: "schedule", Target: "agents_0", Event: azuresim.Preempt},
	} {
		if a.Perform(act) == nil {
			t.Errorf("%+v was done", act)
		}
	}
}
