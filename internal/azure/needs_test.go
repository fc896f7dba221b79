package azure

import (
	"encoding/json"
	"slices"
	"testing"

	"sluice.dev/sluice/deploy"
)

func TestWhatDoctorAsksForIsInTheShippedRole(t *testing.T) {
	var role struct{ Actions []string }
	if err := json.Unmarshal(deploy.AzureRole, &role); err != nil {
		t.Fatal(err)
	}
	for _, a := range slices.Concat(scaleSetActions, uniformActions, flexibleActions, parkingActions, standardActions, poolParkingActions) {
		if !slices.Contains(role.Actions, a) {
			t.Errorf("%s is not in deploy/azure-role.json", a)
		}
	}
}
