package azure_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// purposes say what sluice needs each action for.
var purposes = map[string]string{
	"Microsoft.Compute/virtualMachineScaleSets/read":                                               "find and read the groups",
	"Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read":                               "list the machines",
	"Microsoft.Compute/virtualMachineScaleSets/networkInterfaces/read":                             "match nodes by private address; optional",
	"Microsoft.Compute/virtualMachineScaleSets/virtualMachines/networkInterfaces/read":             "let machines join by proof from their own address",
	"Microsoft.Compute/virtualMachines/read":                                                       "list the machines",
	"Microsoft.Compute/virtualMachineScaleSets/virtualMachines/retrieveBootDiagnosticsData/action": "show the boot log of a machine that does not join; optional",
	"Microsoft.Compute/virtualMachines/retrieveBootDiagnosticsData/action":                         "show the boot log of a machine that does not join; optional",
	"Microsoft.Network/networkInterfaces/read":                                                     "match nodes by private address, optional; of availability sets, know what goes with a machine",
	"Microsoft.Compute/virtualMachineScaleSets/write":                                              "raise the capacity",
	"Microsoft.Compute/virtualMachineScaleSets/delete/action":                                      "remove machines by id; it does not allow to delete the scale set",
	"Microsoft.Compute/virtualMachineScaleSets/deallocate/action":                                  "deallocate machines",
	"Microsoft.Compute/virtualMachineScaleSets/start/action":                                       "start them again",
	"Microsoft.Compute/locations/operations/read":                                                  "follow operations to their end; without it, failures show later",
	"Microsoft.Compute/skus/read":                                                                  "list sizes with `enableDynamicInstanceList`; the table is used when missing",
	"Microsoft.Insights/autoscaleSettings/read":                                                    "refuse scale sets that the platform's autoscaler drives; without it, they are not noticed",
	"Microsoft.Authorization/permissions/read":                                                     "`sluice doctor` checks the role",
	"Microsoft.Network/virtualNetworks/subnets/join/action":                                        "scale up where the model refers to a subnet",
	"Microsoft.Network/networkSecurityGroups/join/action":                                          "scale up where the model refers to a network security group",
	"Microsoft.Network/applicationSecurityGroups/join/action":                                      "scale up where the model refers to an application security group",
	"Microsoft.Network/publicIPPrefixes/join/action":                                               "scale up where the model refers to a prefix of public addresses",
	"Microsoft.Network/loadBalancers/backendAddressPools/join/action":                              "scale up where the model refers to a load balancer's backend pool",
	"Microsoft.Network/loadBalancers/inboundNatPools/join/action":                                  "scale up where the model refers to a load balancer's NAT pool",
	"Microsoft.Network/loadBalancers/probes/join/action":                                           "scale up where the model refers to a health probe",
	"Microsoft.Network/applicationGateways/backendAddressPools/join/action":                        "scale up where the model refers to an application gateway's backend pool",
	"Microsoft.ManagedIdentity/userAssignedIdentities/assign/action":                               "scale up where the model refers to user-assigned identities",
	"Microsoft.Compute/galleries/images/versions/read":                                             "scale up where the model refers to a version of a gallery's image",
	"Microsoft.Compute/galleries/images/read":                                                      "scale up where the model refers to a gallery's image",
	"Microsoft.Compute/images/read":                                                                "scale up where the model refers to a managed image",
	"Microsoft.Compute/diskEncryptionSets/read":                                                    "scale up where the model refers to a disk encryption set",
	"Microsoft.Compute/virtualMachines/write":                                                      "make machines by replaying the deployment",
	"Microsoft.Compute/virtualMachines/delete":                                                     "remove machines",
	"Microsoft.Compute/virtualMachines/deallocate/action":                                          "deallocate machines",
	"Microsoft.Compute/virtualMachines/start/action":                                               "start them again",
	"Microsoft.Compute/availabilitySets/write":                                                     "write the availability set again as the template has it",
	"Microsoft.Compute/disks/read":                                                                 "know which disks go with a machine",
	"Microsoft.Compute/disks/write":                                                                "tag the disks that go with a machine",
	"Microsoft.Compute/disks/delete":                                                               "delete them",
	"Microsoft.Network/networkInterfaces/write":                                                    "make interfaces by replaying the deployment, tag those that go with a machine",
	"Microsoft.Network/networkInterfaces/delete":                                                   "delete them",
	"Microsoft.Network/networkInterfaces/join/action":                                              "attach an interface to a new machine",
	"Microsoft.Resources/deployments/read":                                                         "find deployments under way and finished",
	"Microsoft.Resources/deployments/write":                                                        "replay the deployment",
	"Microsoft.Resources/deployments/delete":                                                       "delete records of finished deployments of its own",
	"Microsoft.Resources/deployments/exportTemplate/action":                                        "read the template to replay",
	"Microsoft.Resources/deployments/operationStatuses/read":                                       "follow the deployment to its end",
}

// TestThePageOfTheRoleSaysWhoNeedsWhat holds the table of docs/reference/azure-role.md to the roles and to what lives need. -update rewrites it.
func TestThePageOfTheRoleSaysWhoNeedsWhat(t *testing.T) {
	const file = "../../docs/reference/azure-role.md"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// By lower-case action: the kinds of groups, any of them when it only looks, and whether models of scale sets may refer to it.
	in, plans, modelled := map[string][]bool{}, map[string]bool{}, map[string]bool{}
	for i, kind := range groupKinds {
		w := wire(t, kind, bySecret)
		w.live(kind)
		for action := range w.used(0) {
			if in[action] == nil {
				in[action] = make([]bool, len(groupKinds))
			}
			in[action][i] = true
		}
		for _, r := range w.sim.Requests() {
			for _, l := range r.Linked {
				modelled[strings.ToLower(l.Action)] = modelled[strings.ToLower(l.Action)] || r.Kind == "PATCH virtualMachineScaleSets"
			}
		}
		w = wire(t, kind, bySecret)
		w.options.ReadOnly = true
		w.must(w.start())
		w.pass(settle)
		for action := range w.used(0) {
			if !strings.HasSuffix(action, "/read") {
				t.Errorf("%s: %s is needed to look", kind.name, action)
			}
			plans[action] = true
		}
	}
	prose, _, _ := strings.Cut(string(page), "\n## Actions\n")
	var right strings.Builder
	right.WriteString(prose + "\n## Actions\n\n| action | groups | plan | for |\n|---|---|---|---|\n")
	actions := slices.Concat(shipped(t)[0].Actions, shipped(t)[1].Actions)
	for _, name := range actions {
		action := strings.ToLower(name)
		groups, plan := who(in[action]), ""
		if modelled[action] {
			groups = "by model"
		}
		if plans[action] {
			plan = "yes"
		}
		if purposes[name] == "" {
			t.Errorf("nothing says what %s is for", name)
		}
		fmt.Fprintf(&right, "| `%s` | %s | %s | %s |\n", name, groups, plan, purposes[name])
	}
	if len(purposes) != len(actions) {
		t.Errorf("%d actions have a purpose, the roles have %d", len(purposes), len(actions))
	}
	if *update {
		if err := os.WriteFile(file, []byte(right.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(strings.Split(right.String(), "\n"), strings.Split(string(page), "\n")); d != "" {
		t.Errorf("%s (-needed +said); run go test ./internal/azure -run PageOfTheRole -update:\n%s", file, d)
	}
}

// who names the kinds of groups that need an action, given in the order of [groupKinds].
func who(needs []bool) string {
	if needs == nil {
		return "none"
	}
	if !slices.Contains(needs, false) {
		return "all"
	}
	var words []string
	for i, pair := range [][2]int{{0, 2}, {1, 3}, {4, 5}} {
		name := []string{"uniform", "flexible", "availability sets"}[i]
		switch deletes, parks := needs[pair[0]], needs[pair[1]]; {
		case parks && !deletes:
			words = append(words, name+" (parking)")
		case deletes:
			words = append(words, name)
		}
	}
	return strings.Join(words, ", ")
}
