package azuresim_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"sluice.dev/sluice/internal/azuresim"

	"github.com/google/go-cmp/cmp"
)

func TestAMachineBootsWithTheCustomDataOfItsModel(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	a.plain(200, "PATCH", setPath+version, `{"properties":{"virtualMachineProfile":{"osProfile":{"customData":"c2Vj\ncmV0","adminUsername":"render"}}}}`)
	a.plain(201, http.MethodPut, networkPath+"/networkInterfaces/nic-1"+nicVersion, nicBody)
	a.plain(201, http.MethodPut, computePath+"/virtualMachines/agent-1"+version, vmBody("nic-1", ""))
	states := a.Machines()
	if len(states) != 2 {
		t.Fatalf("machines: %v", states)
	}
	for _, m := range states {
		got, ok := a.Provision(m.ID)
		want := azuresim.Provision{ID: m.ID, VMID: m.VMID, ComputerName: m.ComputerName, Address: m.PrivateIP, MemoryMB: 16 << 10, CustomData: []byte("secret")}
		want.MAC = got.MAC
		if m.ScaleSet != "" {
			want.User = "render"
		} else {
			want.Disks = []azuresim.ProvisionDisk{{ID: computePath + "/disks/agent-1-data", SizeGB: 64}}
		}
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%s (-want +got), %v:\n%s", m.ID, ok, diff)
		}
		// The machine knows its interface by the address that its metadata service tells.
		_, network := a.wireFrom(m.ID, "GET", imds+"/instance/network/interface/0/macAddress?api-version=2021-02-01&format=text", "", "Metadata", "true")
		if !strings.EqualFold(strings.ReplaceAll(got.MAC, ":", ""), network) || network == "" {
			t.Errorf("%s boots with %q and is told %q", m.ID, got.MAC, network)
		}
	}
	if _, ok := a.Provision("nobody"); ok {
		t.Error("a machine that is not there was provisioned")
	}
}

func TestBootDiagnosticsShowWhatTheMachineWrote(t *testing.T) {
	a := newAzure(t)
	a.agents(2)
	first := a.Machines()[0].VMID
	a.Console = func(vmID string) (string, bool) { return "login: ", vmID == first }
	for name, want := range map[string]string{"0": "login: ", "1": "Cloud-init"} {
		var uris struct{ SerialConsoleLogBlobURI string }
		a.must(json.Unmarshal([]byte(a.plain(200, http.MethodPost, setPath+"/virtualMachines/"+name+"/retrieveBootDiagnosticsData"+version, "")), &uris))
		resp, err := a.Client("").Get(uris.SerialConsoleLogBlobURI)
		a.must(err)
		text, err := io.ReadAll(resp.Body)
		a.must(errors.Join(err, resp.Body.Close()))
		if !strings.Contains(string(text), want) {
			t.Errorf("the console of machine %s is %q, want %q in it", name, text, want)
		}
	}
}
