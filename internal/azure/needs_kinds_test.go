package azure_test

import (
	"encoding/json"
	"slices"
	"testing"

	"sluice.dev/sluice/deploy"
)

func TestNeedsAreThoseOfTheGroupsThatThereAre(t *testing.T) {
	const (
		machines = "Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read"
		park     = "Microsoft.Compute/virtualMachineScaleSets/deallocate/action"
		start    = "Microsoft.Compute/virtualMachineScaleSets/start/action"
	)
	var role, pools struct{ Actions []string }
	for _, err := range []error{json.Unmarshal(deploy.AzureRole, &role), json.Unmarshal(deploy.AzureRolePools, &pools)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		parks, force  bool
		needs, spares []string
	}{
		"machines are deleted":          {false, false, []string{machines}, []string{park, start}},
		"machines are deleted by force": {false, true, []string{machines}, []string{park, start}},
		"machines are switched off":     {true, false, []string{machines, park, start}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := set("agents", 1)
			if tc.parks {
				s = parking("agents", 1)
			}
			w := newWorld(t, s)
			o := w.options("0:9:agents")
			o.ForceDelete = tc.force
			w.open(o)
			w.groups()
			w.needs(tc.needs, tc.spares, role.Actions)
		})
	}

	w := newStandardWorld(t)
	w.open(w.standard("1:9:agents"))
	w.groups()
	w.needs([]string{"Microsoft.Compute/virtualMachines/delete", "Microsoft.Resources/deployments/write"}, []string{machines, park, "Microsoft.Compute/virtualMachineScaleSets/write"}, slices.Concat(role.Actions, pools.Actions))
}

// needs holds the provider's needs: all of these, none of those, and nothing that is not granted.
func (w *world) needs(these, none, granted []string) {
	w.t.Helper()
	needed := w.Needs()
	for _, a := range these {
		if !slices.Contains(needed, a) {
			w.t.Errorf("%s is not among the needs %v", a, needed)
		}
	}
	for _, a := range needed {
		if slices.Contains(none, a) {
			w.t.Errorf("%s is among the needs", a)
		}
		if !slices.Contains(granted, a) {
			w.t.Errorf("%s is needed and not in the role that is shipped", a)
		}
	}
}
