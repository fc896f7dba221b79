package azure

import (
	"net/http"
	"strings"
	"testing"
)

func TestClassesAreWhatAzureCounts(t *testing.T) {
	const (
		manager  = "https://management.azure.com"
		group    = manager + "/subscriptions/s/resourceGroups/G/providers"
		compute  = group + "/Microsoft.Compute"
		sets     = compute + "/virtualMachineScaleSets"
		whole    = manager + "/subscriptions/s/providers/Microsoft.Compute"
		agents   = "microsoft.compute/virtualmachinescalesets/agents/g"
		machine3 = "microsoft.compute/virtualmachinescalesets/agents/virtualmachines/3/g"
		vm1      = "microsoft.compute/virtualmachines/vm-1/g"
	)
	for request, want := range map[string][3]string{
		"GET " + sets: {"scale set lists", "front door reads", ""},
		"GET " + whole + "/virtualMachineScaleSets":                        {"scale set lists", "front door reads", ""},
		"GET " + sets + "/Agents":                                          {"scale set reads", "front door reads", agents},
		"GET " + sets + "/agents/instanceView":                             {"scale set views", "front door reads", agents},
		"PATCH " + sets + "/agents":                                        {"scale set updates", "front door writes", agents},
		"PUT " + sets + "/agents":                                          {"scale set creates", "front door writes", agents},
		"DELETE " + sets + "/agents":                                       {"scale set deletes", "front door deletes", agents},
		"POST " + sets + "/agents/deallocate":                              {"scale set deletes", "front door writes", agents},
		"POST " + sets + "/agents/start":                                   {"scale set updates", "front door writes", agents},
		"POST " + sets + "/agents/delete":                                  {"machine deletes", "front door writes", agents},
		"GET " + sets + "/agents/virtualMachines?$expand=instanceView":     {"machine lists", "front door reads", agents},
		"GET " + sets + "/agents/virtualMachines/3":                        {"machine reads", "front door reads", machine3},
		"GET " + sets + "/agents/virtualMachines/3/instanceView":           {"machine reads", "front door reads", machine3},
		"PUT " + sets + "/agents/virtualMachines/3":                        {"machine updates", "front door writes", machine3},
		"POST " + sets + "/agents/virtualMachines/3/start":                 {"machine updates", "front door writes", machine3},
		"POST " + sets + "/agents/virtualMachines/3/powerOff":              {"machine stops", "front door writes", machine3},
		"DELETE " + sets + "/agents/virtualMachines/3":                     {"machine stops", "front door deletes", machine3},
		"GET " + compute + "/virtualMachines":                              {"VM lists", "front door reads", ""},
		"GET " + whole + "/virtualMachines":                                {"VM lists", "front door reads", ""},
		"GET " + compute + "/virtualMachines/vm-1/instanceView":            {"VM reads", "front door reads", vm1},
		"PUT " + compute + "/virtualMachines/vm-1":                         {"VM creates", "front door writes", vm1},
		"PATCH " + compute + "/virtualMachines/vm-1":                       {"VM updates", "front door writes", vm1},
		"POST " + compute + "/virtualMachines/vm-1/start":                  {"VM updates", "front door writes", vm1},
		"POST " + compute + "/virtualMachines/vm-1/deallocate":             {"VM stops", "front door writes", vm1},
		"DELETE " + compute + "/virtualMachines/vm-1":                      {"VM stops", "front door deletes", vm1},
		"GET " + whole + "/locations/WestEurope/operations/1":              {"operation reads", "front door reads", "microsoft.compute/operations/1/"},
		"GET " + whole + "/locations/westeurope/usages":                    {"usage reads", "front door reads", ""},
		"GET " + whole + "/skus":                                           {"size reads", "front door reads", ""},
		"GET " + compute + "/disks/d":                                      {"disk reads", "front door reads", ""},
		"DELETE " + compute + "/disks/d":                                   {"disk writes", "front door deletes", ""},
		"GET " + compute + "/availabilitySets/a":                           {"compute reads", "front door reads", ""},
		"GET " + group + "/Microsoft.Network/networkInterfaces/n":          {"network reads", "front door reads", "microsoft.network/networkinterfaces/n/g"},
		"DELETE " + group + "/Microsoft.Network/networkInterfaces/n":       {"network writes", "front door deletes", "microsoft.network/networkinterfaces/n/g"},
		"GET " + group + "/Microsoft.Resources/deployments/d":              {"deployment reads", "front door reads", ""},
		"PUT " + group + "/Microsoft.Resources/deployments/d":              {"deployment writes", "front door writes", ""},
		"GET " + group + "/Microsoft.Insights/autoscaleSettings":           {"autoscale setting reads", "front door reads", ""},
		"GET " + sets + "/a/providers/Microsoft.Authorization/permissions": {"authorization reads", "front door reads", ""},
		"GET " + manager + "/subscriptions/s/resourceGroups/g/resources":   {"resource reads", "front door reads", ""},
		"GET " + manager + "/":                                             {"resource reads", "front door reads", ""},
		"GET " + group + "/Some.Thing/else":                                {"other reads", "front door reads", ""},
	} {
		method, url, _ := strings.Cut(request, " ")
		req, err := http.NewRequest(method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := targetOf(req)
		if (got.class.name == "operation reads") != (got.location == "westeurope") && !strings.Contains(url, "usages") {
			t.Errorf("%s is in location %q", request, got.location)
		}
		if d := [3]string{got.class.name, got.door.name, got.resource}; d != want {
			t.Errorf("%s is %q, want %q", request, d, want)
		}
	}
}
