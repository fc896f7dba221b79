package azuresim_test

import (
	"slices"
	"testing"
	"time"

	"sluice.dev/sluice/internal/azuresim"
)

// provisioned is what Azure says of each machine of the set: its id, its provisioning state and its error, its power state.
func (a *azure) provisioned() (rows []string) {
	for _, m := range a.Machines() {
		rows = append(rows, m.InstanceID+" "+m.ProvisioningState+" "+m.PowerState+" "+m.Error)
	}
	return rows
}

// A machine that really boots is provisioned when it says so, and the operation that makes it goes on until then.
func TestAMachineIsProvisionedByItsReport(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) { s.AwaitReports = true })
	a.agents(1)
	want := func(rows ...string) {
		t.Helper()
		if got := a.provisioned(); !slices.Equal(got, rows) {
			t.Errorf("%q, want %q", got, rows)
		}
	}
	want("0 Succeeded running ")
	resp, _ := a.wire("PATCH", setPath+version, `{"sku":{"capacity":4}}`)
	operation := resp.Header.Get("Azure-AsyncOperation")[len("https://management.azure.test"):]
	a.advance(time.Hour / 4)
	want("0 Succeeded running ", "1 Creating starting ", "2 Creating starting ", "3 Creating starting ")
	vms := a.Machines()
	a.Report(vms[1].VMID, true, "")
	a.Report(vms[2].VMID, false, "result=error|reason=no DHCP")
	want("0 Succeeded running ", "1 Succeeded running ", "2 Failed running OSProvisioningInternalError", "3 Creating starting ")
	if booted := a.Machines()[1].BootedAt; !booted.Equal(a.now) {
		t.Error("the machine came up at", booted, "and reported at", a.now)
	}

	a.advance(5 * time.Minute)
	want("0 Succeeded running ", "1 Succeeded running ", "2 Failed running OSProvisioningInternalError", "3 Failed running OSProvisioningTimedOut")
	for _, m := range vms {
		a.Report(m.VMID, true, "")
	}
	want("0 Succeeded running ", "1 Succeeded running ", "2 Failed running OSProvisioningInternalError", "3 Failed running OSProvisioningTimedOut")
	if _, body := a.wire("GET", operation, ""); field(t, body, "status") != "Failed" {
		t.Error(body)
	}
	a.must(a.DeleteMachine("agents_3"))
	a.advance(time.Minute)
	want("0 Succeeded running ", "1 Succeeded running ", "2 Failed running OSProvisioningInternalError")
}

// What Azure or a fault has decided of a machine, no report changes.
func TestAReportDoesNotMendWhatFailedBefore(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) {
		s.AwaitReports, s.SubnetAddresses = true, map[string]int{"/subnets/small": 0}
	})
	a.agents(0)
	a.must(a.AddScaleSet(azuresim.ScaleSet{Subscription: subscription, ResourceGroup: group, Name: "full", Location: "westeurope", Size: "Standard_D2s_v5", Subnet: "/subnets/small"}))
	a.Inject(azuresim.Fault{ScaleSet: "agents", MachineError: "AllocationFailed", Times: 1})
	a.Inject(azuresim.Fault{ScaleSet: "agents", NeverBoots: true, Times: 1})
	a.Inject(azuresim.Fault{ScaleSet: "agents", Takes: time.Minute, Times: 1})
	a.must(a.SetCapacity("agents", 3))
	a.must(a.SetCapacity("full", 1))
	for _, m := range a.Machines() {
		a.Report(m.VMID, true, "")
	}
	a.advance(time.Hour)
	want := []string{"0 Failed  AllocationFailed", "1 Creating starting ", "2 Succeeded running ", "0 Failed  SubnetIsFull"}
	if got := a.provisioned(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
