package azuresim_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestEveryCallIsCountedByItsProvidersPolicy(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	for path, want := range map[string]string{
		setPath:                                          "Microsoft.Compute/GetVMScaleSetResource;35,",
		setPath + "/instanceView":                        "Microsoft.Compute/GetVMScaleSetInstanceViewResource;29,",
		setPath + "/virtualMachines":                     "Microsoft.Compute/ListVMScaleSetVMsResource;35,",
		setPath + "/virtualMachines/0":                   "Microsoft.Compute/GetVMScaleSetVMResource;35,",
		setPath + "/networkInterfaces":                   "Microsoft.Network/NetworkReadsSubscription;",
		setPath + "/virtualMachines/0/networkInterfaces": "Microsoft.Network/NetworkReadsSubscription;",
	} {
		resp, body := a.wire(http.MethodGet, path+version, "")
		if resp.StatusCode != http.StatusOK {
			t.Fatal(body)
		}
		if got := resp.Header.Get("X-Ms-Ratelimit-Remaining-Resource"); !strings.HasPrefix(got, want) {
			t.Errorf("GET %s: remaining %q, want %q", path, got, want)
		}
	}
}
