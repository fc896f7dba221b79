package azuresim_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/azuresim"
)

func TestInterfacesOfUniformInstancesTellTheirAddresses(t *testing.T) {
	a := newAzure(t)
	a.agents(2, func(ss *azuresim.ScaleSet) { ss.Subnet = "/sub/net/subnets/agents" })
	const of = "?api-version=2018-10-01"
	all := a.plain(200, http.MethodGet, setPath+"/networkInterfaces"+of, "")
	for _, m := range a.Machines() {
		one := a.plain(200, http.MethodGet, m.ID+"/networkInterfaces"+of, "")
		for _, part := range []string{`"privateIPAddress":"` + m.PrivateIP + `"`, `"virtualMachine":{"id":"` + m.ID + `"}`, `"subnet":{"id":"/sub/net/subnets/agents"}`} {
			if !strings.Contains(all, part) || !strings.Contains(one, part) {
				t.Errorf("no %s in %s or %s", part, all, one)
			}
		}
		a.plain(200, http.MethodGet, m.ID+"/networkInterfaces/nic"+of, "")
		a.plain(404, http.MethodGet, m.ID+"/networkInterfaces/other"+of, "")
	}
	if got := a.plain(200, http.MethodGet, networkPath+"/networkInterfaces"+nicVersion, ""); got != `{"value":[]}` {
		t.Errorf("they are no resources of their own: %s", got)
	}
}

func TestAnInterfaceKeepsItsAddressAndMachineWhenItIsWritten(t *testing.T) {
	a := newAzure(t)
	a.server("server-1")
	path := networkPath + "/networkInterfaces/server-1VMNic" + nicVersion
	before := a.plain(200, http.MethodGet, path, "")
	etag := field(t, before, "etag").(string)
	a.plain(200, http.MethodPut, path, nicBody, "If-Match", etag)
	a.plain(412, http.MethodPut, path, nicBody, "If-Match", etag)
	a.plain(200, http.MethodPatch, path, `{"tags":{"a":"b"}}`)
	after := a.plain(200, http.MethodGet, path, "")
	for _, part := range []string{`"privateIPAddress":"` + a.Machines()[0].PrivateIP + `"`, `"virtualMachine":{"id":"` + a.Machines()[0].ID + `"}`, `"tags":{"a":"b"}`} {
		if !strings.Contains(after, part) {
			t.Errorf("no %s in %s", part, after)
		}
	}
}

func TestListsOfMachinesKeepTheirQuestionFromPageToPage(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) { s.PageSize = 2 })
	a.agents(5, flexible)
	a.server("server-1")
	for query, want := range map[string]int{
		"&statusOnly=true": 6,
		"&statusOnly=true&$filter=" + url.QueryEscape("'virtualMachineScaleSet/id' eq '"+setPath+"'"): 5,
	} {
		next := "https://management.azure.test/subscriptions/" + subscription + "/providers/Microsoft.Compute/virtualMachines" + version + query
		seen := 0
		for next != "" {
			_, body := a.wireFrom("", http.MethodGet, next, "", "Authorization", "Bearer "+a.token())
			items, _ := field(t, body, "value").([]any)
			seen += len(items)
			if strings.Count(body, `"PowerState/running"`) != len(items) {
				t.Fatalf("a page without states: %s", body)
			}
			next, _ = field(t, body, "nextLink").(string)
		}
		if seen != want {
			t.Errorf("%s: %d machines, want %d", query, seen, want)
		}
	}
	a.plain(400, http.MethodGet, computePath+"/virtualMachines"+version+"&$filter=name", "")
}

func TestAUniformInstanceIsStartedIntoTheQuotaAndTheRoomThereIs(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) { s.Quota = map[string]int{"cores": 8} })
	a.agents(2)
	a.must(a.Deallocate("agents_0"))
	a.advance(time.Minute)
	if got := a.capacity(); got != 2 {
		t.Errorf("capacity %d: a deallocated instance counts", got)
	}
	a.must(a.SetCapacity("agents", 3)) // takes the cores that were given back
	if body := a.plain(409, http.MethodPost, setPath+"/virtualMachines/0/start"+version, ""); !strings.Contains(body, "Total Regional Cores quota") {
		t.Errorf("start without quota: %s", body)
	}
	a.must(a.DeleteMachine("agents_1"))
	a.advance(2 * time.Minute)
	a.Inject(azuresim.Fault{Kind: "POST virtualMachineScaleSets/start", MachineError: "AllocationFailed", Times: 1})
	resp, _ := a.wire(http.MethodPost, setPath+"/start"+version, `{"instanceIds":["0"]}`)
	a.advance(10 * time.Second)
	_, status := a.wireFrom("", http.MethodGet, resp.Header.Get("Azure-AsyncOperation"), "", "Authorization", "Bearer "+a.token())
	if field(t, status, "status") != "Failed" || !strings.Contains(status, `"code":"AllocationFailed"`) || !strings.Contains(status, `"target":"0"`) {
		t.Errorf("the operation says %s", status)
	}
	if m := a.Machines()[0]; m.PowerState != "deallocated" || m.ProvisioningState != "Failed" {
		t.Errorf("after a start that failed: %+v", m)
	}
}
