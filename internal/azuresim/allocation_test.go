package azuresim_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/internal/azuresim"
)

// fates lists all machines as "instance zone state error".
func (a *azure) fates() []string {
	a.t.Helper()
	out := []string{}
	for _, m := range a.Machines() {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", m.InstanceID, m.Zone, m.ProvisioningState, m.Error)))
	}
	return out
}

func TestSpotCapacityIsCountedBySizeAndZone(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) {
		s.SpotCapacity = map[azuresim.SpotPlace]int{{Size: "Standard_D4s_v5", Zone: "1"}: 1, {Size: "Standard_D4s_v5", Zone: "2"}: 0}
	})
	a.agents(1, func(ss *azuresim.ScaleSet) { ss.Priority, ss.Zones = "Spot", []string{"1", "2"} })
	_, err := a.resize(3, nil)
	a.must(err)
	a.advance(2 * time.Minute)
	want := []string{"0 1 Succeeded", "1 2 Failed ZonalAllocationFailed", "2 1 Failed ZonalAllocationFailed"}
	if diff := cmp.Diff(want, a.fates()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	a.must(a.Deallocate("agents_0"))
	a.advance(time.Minute)
	a.agents(0, func(ss *azuresim.ScaleSet) { ss.Name, ss.Priority, ss.Zones = "others", "Spot", []string{"1"} })
	a.must(a.SetCapacity("others", 1)) // takes the place that is free
	a.advance(2 * time.Minute)
	a.must(a.Start("agents_0"))
	a.advance(time.Minute)
	if got := a.fates()[0]; got != "0 1 Failed ZonalAllocationFailed" {
		t.Errorf("a start without room: %s", got)
	}

	a.agents(0, func(ss *azuresim.ScaleSet) { ss.Name, ss.Priority, ss.Zones = "full", "Spot", []string{"2"} })
	body := a.plain(409, http.MethodPatch, strings.Replace(setPath, "agents", "full", 1)+version, `{"sku":{"capacity":1}}`)
	if field(t, body, "error", "code") != "SkuNotAvailable" {
		t.Errorf("no room in any zone: %s", body)
	}
}

func TestAFullSubnetFailsTheInstancesItHasNoAddressFor(t *testing.T) {
	for _, mode := range []string{"Uniform", "Flexible"} {
		t.Run(mode, func(t *testing.T) {
			a := newAzure(t, func(s *azuresim.Server) { s.SubnetAddresses = map[string]int{"/sub/net/subnets/agents": 2} })
			a.agents(1, func(ss *azuresim.ScaleSet) { ss.OrchestrationMode, ss.Subnet = mode, "/sub/net/subnets/Agents" })
			_, err := a.resize(4, nil)
			a.must(err)
			a.advance(2 * time.Minute)
			full := 0
			for _, m := range a.Machines() {
				if m.Error == "SubnetIsFull" {
					full++
				}
			}
			if full != 2 {
				t.Errorf("%d without an address, want 2: %v", full, a.fates())
			}
			body := a.plain(400, http.MethodPut, networkPath+"/networkInterfaces/nic-1"+nicVersion, nicBody)
			if field(t, body, "error", "code") != "SubnetIsFull" {
				t.Errorf("an interface: %s", body)
			}
		})
	}
}

func TestTheQuotaOfMachinesCountsThoseThatAreOff(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) { s.Quota = map[string]int{"virtualMachines": 2, "cores": 8} })
	a.agents(2)
	a.must(a.Deallocate("agents_0"))
	a.advance(time.Minute)
	_, err := a.resize(3, nil)
	if err == nil || !strings.Contains(err.Error(), "approved Virtual Machines quota") || !strings.Contains(err.Error(), "Current Limit: 2, Current Usage: 2, Additional Required: 1") {
		t.Errorf("%v", err)
	}
}

func TestOverprovisionedInstancesComeUpAndVanish(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) { s.Quota = map[string]int{"cores": 24} })
	a.agents(1, func(ss *azuresim.ScaleSet) { ss.Overprovision = true })
	_, err := a.resize(6, nil)
	a.must(err)
	if got := len(a.Machines()); got != 7 || a.capacity() != 6 {
		t.Errorf("%d machines of capacity %d, want 7 of 6", got, a.capacity())
	}
	a.advance(2 * time.Minute)
	for _, m := range a.Machines() {
		if m.BootedAt.IsZero() {
			t.Errorf("%s is not up", m.Name)
		}
	}
	a.advance(3 * time.Minute)
	if diff := cmp.Diff([]string{"0", "1", "2", "3", "4", "5"}, a.ids()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

func TestASinglePlacementGroupHoldsAHundred(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	path := strings.Replace(setPath, "agents", "tight", 1) + version
	a.plain(201, http.MethodPut, path, `{"location":"westeurope","sku":{"name":"Standard_D2s_v5","capacity":1},"properties":{"singlePlacementGroup":true}}`)
	if body := a.plain(400, http.MethodPatch, path, `{"sku":{"capacity":101}}`); !strings.Contains(body, "limit of 100") {
		t.Errorf("%s", body)
	}
	a.plain(200, http.MethodPatch, path, `{"sku":{"capacity":101},"properties":{"singlePlacementGroup":false}}`)
	if body := a.plain(409, http.MethodPatch, path, `{"properties":{"singlePlacementGroup":true}}`); field(t, body, "error", "code") != "PropertyChangeNotAllowed" {
		t.Errorf("%s", body)
	}
	convert := strings.Replace(path, "?", "/convertToSinglePlacementGroup?", 1)
	a.plain(409, http.MethodPost, convert, `{}`)
	a.plain(200, http.MethodPatch, path, `{"sku":{"capacity":50}}`)
	a.advance(2 * time.Minute)
	a.plain(200, http.MethodPost, convert, `{}`)
	a.plain(400, http.MethodPatch, path, `{"sku":{"capacity":101}}`)
}

func TestProtectionShieldsFromActionsOnTheSetAndNotFromDeletesByID(t *testing.T) {
	a := newAzure(t)
	a.agents(3)
	a.must(a.Protect("agents_1", true, true))
	a.plain(202, http.MethodPost, setPath+"/deallocate"+version, "")
	a.advance(time.Minute)
	if got := a.Machines()[1].PowerState; got != "running" {
		t.Errorf("the protected one is %s", got)
	}
	a.plain(202, http.MethodPost, setPath+"/delete"+version, `{"instanceIds":["1"]}`)
	a.advance(time.Minute)
	if diff := cmp.Diff([]string{"0", "2"}, a.ids()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

func TestAScaleSetIsDeletedWithItsInstances(t *testing.T) {
	a := newAzure(t)
	a.agents(2, flexible)
	a.plain(202, http.MethodDelete, setPath+version, "")
	a.plain(200, http.MethodGet, setPath+version, "")
	a.advance(time.Minute)
	a.plain(404, http.MethodGet, setPath+version, "")
	if got := a.plain(200, http.MethodGet, computePath+"/disks"+diskVersion, ""); got != `{"value":[]}` {
		t.Errorf("disks stay behind: %s", got)
	}
}
