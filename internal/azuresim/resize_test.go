package azuresim_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/internal/azuresim"
)

func TestLoweringCapacityLetsAzureChoose(t *testing.T) {
	for name, tc := range map[string]struct {
		zones     []string
		policy    string
		protected string
		from, to  int
		want      []string // deleted
	}{
		"the highest ids go":                     {nil, "", "", 5, 3, []string{"3", "4"}},
		"the oldest go":                          {nil, "OldestVM", "", 5, 3, []string{"0", "1"}},
		"the zones are balanced, the newest go":  {[]string{"1", "2"}, "NewestVM", "", 5, 2, []string{"2", "3", "4"}},
		"the protected stay":                     {nil, "", "agents_4", 5, 3, []string{"2", "3"}},
		"all can go":                             {[]string{"1", "2", "3"}, "", "", 3, 0, []string{"0", "1", "2"}},
		"to a number that is not lower none go":  {nil, "", "", 3, 3, []string{}},
		"an unbalanced zone gives up its oldest": {[]string{"1", "2"}, "OldestVM", "", 5, 4, []string{"0"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t)
			a.agents(tc.from, func(ss *azuresim.ScaleSet) { ss.Zones, ss.ScaleInPolicy = tc.zones, tc.policy })
			if tc.protected != "" {
				a.must(a.Protect(tc.protected, true, false))
			}
			_, err := a.resize(int64(tc.to), nil)
			a.must(err)
			gone := []string{}
			for _, m := range a.Machines() {
				if m.ProvisioningState == "Deleting" {
					gone = append(gone, m.InstanceID)
				}
			}
			if diff := cmp.Diff(tc.want, gone); diff != "" {
				t.Errorf("deleted (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAScaleSetThatIsBeingDeletedTakesNoWrite(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	a.plain(202, http.MethodDelete, setPath+version, "")
	for method, body := range map[string]string{
		http.MethodPut:   `{"location":"westeurope","sku":{"name":"Standard_D4s_v5","capacity":2}}`,
		http.MethodPatch: `{"tags":{"min":"0"}}`,
	} {
		resp, said := a.wire(method, setPath+version, body)
		if resp.StatusCode != 409 || !strings.Contains(said, "is marked for deletion") {
			t.Errorf("%s: status %d: %s", method, resp.StatusCode, said)
		}
	}
	if said := a.plain(200, http.MethodGet, setPath+version, ""); !strings.Contains(said, `"provisioningState":"Deleting"`) {
		t.Errorf("%s", said)
	}
}

func TestAForeignPutFromAnOldReadShrinksTheSet(t *testing.T) {
	a := newAzure(t)
	a.agents(5)
	resp, body := a.wire(http.MethodPut, setPath+version, `{"location":"westeurope","sku":{"name":"Standard_D4s_v5","capacity":2}}`)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d: %s", resp.StatusCode, body)
	}
	if got := a.capacity(); got != 2 {
		t.Errorf("capacity %d, want 2", got)
	}
	if got := *a.scaleSet().Tags["max"]; got != "10" {
		t.Errorf("a PUT that does not mention tags changed them: %q", got)
	}
}

func TestIdsRiseUnlessTheyAreReusedAndMachinesAreNew(t *testing.T) {
	for name, tc := range map[string]struct {
		reuse bool
		want  []string
	}{
		"monotonic": {false, []string{"0", "2", "3"}},
		"reused":    {true, []string{"0", "1", "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t)
			a.agents(3, func(ss *azuresim.ScaleSet) { ss.ReuseIDs = tc.reuse })
			before := a.Machines()
			a.must(a.DeleteMachine("agents_1"))
			a.advance(time.Minute)
			a.must(a.SetCapacity("agents", 3))
			if diff := cmp.Diff(tc.want, a.ids()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			newest := slices.MaxFunc(a.Machines(), func(x, y azuresim.MachineState) int { return x.TimeCreated.Compare(y.TimeCreated) })
			if newest.VMID == before[1].VMID {
				t.Error("a new machine has an old vmId")
			}
			if newest.Zone != before[1].Zone {
				t.Errorf("zone %s, want the emptied %s", newest.Zone, before[1].Zone)
			}
		})
	}
}

func TestQuotaRefusesBeforeAnythingIsCreated(t *testing.T) {
	for name, tc := range map[string]struct {
		quota    map[string]int
		priority string
		want     string
	}{
		"regional": {map[string]int{"cores": 10}, "", "exceeding approved Total Regional Cores quota. Additional details - Deployment Model: Resource Manager, Location: westeurope, Current Limit: 10, Current Usage: 8, Additional Required: 4, (Minimum) New Limit Required: 12."},
		"family":   {map[string]int{"cores": 100, "standardDSv5Family": 8}, "", "exceeding approved standardDSv5Family Cores quota."},
		"spot":     {map[string]int{"cores": 0, "lowPriorityCores": 8}, "Spot", "exceeding approved LowPriorityCores quota."},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t, func(s *azuresim.Server) { s.Quota = tc.quota })
			a.agents(2, func(ss *azuresim.ScaleSet) { ss.Priority = tc.priority })
			etag := *a.scaleSet().Etag
			_, err := a.resize(3, nil)
			if c, status := code(err); c != "OperationNotAllowed" || status != 409 {
				t.Fatalf("got %q %d: %v", c, status, err)
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("text: %v", err)
			}
			if got := *a.scaleSet().Etag; a.capacity() != 2 || got != etag {
				t.Errorf("capacity %d, etag %s, was %s", a.capacity(), got, etag)
			}
			a.must(a.Deallocate("agents_0"))
			a.advance(time.Minute)
			if _, err := a.resize(3, nil); err != nil {
				t.Errorf("deallocated cores are not free: %v", err)
			}
		})
	}
}

func TestEvictionFollowsThePolicy(t *testing.T) {
	for name, tc := range map[string]struct {
		policy   string
		capacity int64
		power    string
	}{
		"delete lowers capacity":        {"Delete", 1, ""},
		"deallocate leaves it standing": {"Deallocate", 2, "deallocated"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t)
			a.agents(2, func(ss *azuresim.ScaleSet) { ss.Priority, ss.EvictionPolicy = "Spot", tc.policy })
			_, err := a.vms.SimulateEviction(context.Background(), group, "agents", "1", nil)
			a.must(err)
			_, events := a.wireFrom("agents_1", "GET", imds+"/scheduledevents?api-version=2020-07-01", "", "Metadata", "true")
			if !strings.Contains(events, `"EventType":"Preempt"`) || !strings.Contains(events, `"NotBefore":"Fri, 01 May 2026 22:00:30 GMT"`) {
				t.Errorf("events: %s", events)
			}
			if got := a.capacity(); got != 2 {
				t.Errorf("capacity %d before the eviction, want 2", got)
			}
			for next, ok := a.NextChange(); ok; next, ok = a.NextChange() {
				a.now = next
			}
			if got := a.capacity(); got != tc.capacity {
				t.Errorf("capacity %d, want %d", got, tc.capacity)
			}
			power := ""
			for _, m := range a.Machines() {
				if m.InstanceID == "1" {
					power = m.PowerState
				}
			}
			if power != tc.power {
				t.Errorf("machine is %q, want %q", power, tc.power)
			}
		})
	}
}

func TestAForeignWriteKeepsTheSetUpdatingUntilItsEnd(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	a.must(a.Touch("agents", 3*time.Minute))
	if got := *a.scaleSet().Properties.ProvisioningState; got != "Updating" {
		t.Errorf("scale set %s, want Updating", got)
	}
	next, ok := a.NextChange()
	if !ok || !next.Equal(a.now.Add(3*time.Minute)) {
		t.Fatalf("next change %v %v, want in three minutes", next, ok)
	}
	a.now = next
	if got := *a.scaleSet().Properties.ProvisioningState; got != "Succeeded" {
		t.Errorf("scale set %s, want Succeeded", got)
	}
}
