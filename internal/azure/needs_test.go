package azure

import (
	"encoding/json"
	"slices"
	"testing"

	"sluice.dev/sluice/deploy"
)

func TestWhatDoctorAsksForIsInTheShippedRoles(t *testing.T) {
	roles := map[string]*struct{ Actions []string }{}
	for file, definition := range map[string][]byte{"deploy/azure-role.json": deploy.AzureRole, "deploy/azure-role-availability-sets.json": deploy.AzureRolePools} {
		roles[file] = new(struct{ Actions []string })
		if err := json.Unmarshal(definition, roles[file]); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range slices.Concat(scaleSetActions, uniformActions, flexibleActions, parkingActions, standardActions, deploymentActions, poolParkingActions) {
		if file := RoleFor(a); !slices.Contains(roles[file].Actions, a) {
			t.Errorf("%s is not in %s", a, file)
		}
	}
	for file, role := range roles {
		for _, a := range role.Actions {
			if RoleFor(a) != file {
				t.Errorf("%s is in %s, and sluice names %s", a, file, RoleFor(a))
			}
		}
	}
}
