package azuresim_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWhatCloudProviderAzureAsksOfAnEmptyNetwork lists public addresses and load balancers where there are none, and the zones of the location.
func TestWhatCloudProviderAzureAsksOfAnEmptyNetwork(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	whole := "/subscriptions/" + subscription
	for _, path := range []string{whole + "/resourceGroups/" + group, whole} {
		for _, kind := range []string{"publicIPAddresses", "loadBalancers"} {
			resp, body := a.wire("GET", path+"/providers/Microsoft.Network/"+kind+"?api-version=2024-05-01", "")
			if resp.StatusCode != http.StatusOK || strings.TrimSpace(body) != `{"value":[]}` {
				t.Errorf("%s of %s: %d %s, want an empty list", kind, path, resp.StatusCode, body)
			}
		}
	}
	_, body := a.wire("GET", whole+"/providers/Microsoft.Compute?api-version=2021-04-01", "")
	var provider struct {
		ResourceTypes []struct {
			ResourceType string
			ZoneMappings []struct {
				Location string
				Zones    []string
			}
		}
	}
	a.must(json.Unmarshal([]byte(body), &provider))
	zones := map[string][]string{}
	for _, r := range provider.ResourceTypes {
		for _, m := range r.ZoneMappings {
			zones[r.ResourceType+" in "+m.Location] = m.Zones
		}
	}
	all := []string{"1", "2", "3"}
	want := map[string][]string{"virtualMachines in westeurope": all, "virtualMachineScaleSets in westeurope": all, "disks in westeurope": all}
	if diff := cmp.Diff(want, zones); diff != "" {
		t.Errorf("zones (-want +got):\n%s", diff)
	}
}
