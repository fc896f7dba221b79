package azuresim_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"sluice.dev/sluice/internal/azuresim"
)

// disk creates a data disk by a plain PUT and returns its id.
func (a *azure) disk(name string) string {
	a.t.Helper()
	a.plain(200, http.MethodPut, computePath+"/disks/"+name+diskVersion,
		`{"location":"westeurope","sku":{"name":"StandardSSD_LRS"},"properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":8}}`)
	return computePath + "/disks/" + name
}

// dataDisk is a data disk in the body of a write of an instance.
func dataDisk(lun int, id string, more string) string {
	return fmt.Sprintf(`{"lun":%d,"createOption":"Attach","managedDisk":{"id":%q}%s}`, lun, id, more)
}

func instanceBody(disks ...string) string {
	return `{"properties":{"storageProfile":{"dataDisks":[` + strings.Join(disks, ",") + `]}}}`
}

func TestDisksAreAttachedToUniformInstancesAsTheDriverDoes(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) { s.DetachLag = time.Minute })
	a.agents(2, func(ss *azuresim.ScaleSet) { ss.MaxDataDisks = 2 })
	one, two, three := a.disk("data-1"), a.disk("data-2"), a.disk("data-3")
	first, second := setPath+"/virtualMachines/0"+version, setPath+"/virtualMachines/1"+version

	a.plain(200, http.MethodPut, first, instanceBody(dataDisk(0, one, ""), dataDisk(1, strings.ToUpper(two), "")))
	vm, err := a.vms.Get(context.Background(), group, "agents", "0", nil)
	a.must(err)
	if got := vm.Properties.StorageProfile.DataDisks; len(got) != 2 || *got[1].Lun != 1 || *got[1].ManagedDisk.ID != two {
		t.Errorf("data disks: %+v", got)
	}
	body := a.plain(200, http.MethodGet, one+diskVersion, "")
	if field(t, body, "managedBy") != *vm.ID || field(t, body, "properties", "diskState") != "Attached" {
		t.Errorf("an attached disk: %s", body)
	}

	for name, tc := range map[string]struct {
		path, body, code, text string
		status                 int
	}{
		"more than the size takes":   {first, instanceBody(dataDisk(0, one, ""), dataDisk(1, two, ""), dataDisk(2, three, "")), "OperationNotAllowed", "to a VM of this size is 2.", 409},
		"two disks at one LUN":       {first, instanceBody(dataDisk(0, one, ""), dataDisk(0, three, "")), "InvalidParameter", "A disk at LUN 0 already exists", 400},
		"a disk of another instance": {second, instanceBody(dataDisk(0, one, "")), "ConflictingUserInput", "already owned by VM", 409},
		"a disk that is not there":   {second, instanceBody(dataDisk(0, one+"x", "")), "NotFound", "data-1x", 404},
	} {
		body := a.plain(tc.status, http.MethodPut, tc.path, tc.body)
		if field(t, body, "error", "code") != tc.code || !strings.Contains(body, tc.text) {
			t.Errorf("%s: %s", name, body)
		}
	}

	a.plain(200, http.MethodPut, first, instanceBody(dataDisk(0, one, `,"toBeDetached":true`), dataDisk(1, two, "")))
	if body := a.plain(200, http.MethodGet, one+diskVersion, ""); field(t, body, "managedBy") != *vm.ID {
		t.Errorf("managedBy does not lag: %s", body)
	}
	if body := a.plain(409, http.MethodPut, second, instanceBody(dataDisk(0, one, ""))); field(t, body, "error", "code") != "AttachDiskWhileBeingDetached" {
		t.Errorf("attached while it is detached: %s", body)
	}
	if next, _ := a.NextChange(); !next.Equal(a.now.Add(time.Minute)) {
		t.Errorf("the next change is at %v", next)
	}
	a.advance(time.Minute)
	a.plain(200, http.MethodPut, second, instanceBody(dataDisk(0, one, "")))

	a.must(a.DeleteMachine("agents_1"))
	a.advance(2 * time.Minute)
	if body := a.plain(200, http.MethodGet, one+diskVersion, ""); field(t, body, "managedBy") != nil || field(t, body, "properties", "diskState") != "Unattached" {
		t.Errorf("after its instance is gone: %s", body)
	}
	a.plain(202, http.MethodDelete, one+diskVersion, "")
	a.plain(404, http.MethodGet, one+diskVersion, "")
}

func TestDisksAreAttachedAndDetachedByTheAction(t *testing.T) {
	a := newAzure(t)
	a.server("server-1")
	one, two := a.disk("data-1"), a.disk("data-2")
	p, err := a.machines().BeginAttachDetachDataDisks(context.Background(), group, "server-1", armcompute.AttachDetachDataDisksRequest{
		DataDisksToAttach: []*armcompute.DataDisksToAttach{{DiskID: &one}, {DiskID: &two, Lun: to.Ptr[int32](7)}},
	}, nil)
	a.must(err)
	got, err := p.Result(context.Background())
	a.must(err)
	if len(got.DataDisks) != 2 || *got.DataDisks[0].Lun != 0 || *got.DataDisks[1].Lun != 7 {
		t.Errorf("attached: %+v", got.DataDisks)
	}
	_, err = a.machines().BeginAttachDetachDataDisks(context.Background(), group, "server-1", armcompute.AttachDetachDataDisksRequest{
		DataDisksToDetach: []*armcompute.DataDisksToDetach{{DiskID: &one}},
	}, nil)
	a.must(err)
	if body := a.plain(200, http.MethodGet, one+diskVersion, ""); field(t, body, "managedBy") != nil {
		t.Errorf("detached: %s", body)
	}
	if body := a.plain(200, http.MethodGet, two+diskVersion, ""); field(t, body, "managedBy") == nil {
		t.Errorf("the other one is gone too: %s", body)
	}
}

func TestEveryDeleteOptionIsObeyedAndCanBePatched(t *testing.T) {
	a := newAzure(t)
	a.server("server-1")
	vm, err := a.machines().Get(context.Background(), group, "server-1", nil)
	a.must(err)
	disk, nic := *vm.Properties.StorageProfile.OSDisk.ManagedDisk.ID, *vm.Properties.NetworkProfile.NetworkInterfaces[0].ID
	_, err = a.machines().BeginUpdate(context.Background(), group, "server-1", armcompute.VirtualMachineUpdate{
		Tags: map[string]*string{"pool": to.Ptr("x")},
		Properties: &armcompute.VirtualMachineProperties{
			StorageProfile: &armcompute.StorageProfile{OSDisk: &armcompute.OSDisk{
				CreateOption: to.Ptr(armcompute.DiskCreateOptionTypesFromImage), DeleteOption: to.Ptr(armcompute.DiskDeleteOptionTypesDelete)}},
		},
	}, &armcompute.VirtualMachinesClientBeginUpdateOptions{IfMatch: vm.Etag})
	a.must(err)
	_, err = a.machines().BeginUpdate(context.Background(), group, "server-1", armcompute.VirtualMachineUpdate{},
		&armcompute.VirtualMachinesClientBeginUpdateOptions{IfMatch: vm.Etag})
	if c, status := code(err); c != "PreconditionFailed" || status != 412 {
		t.Errorf("a stale etag: %q %d", c, status)
	}
	a.plain(202, http.MethodDelete, *vm.ID+version+"&forceDeletion=true", "")
	a.plain(400, http.MethodDelete, nic+nicVersion, "")
	a.advance(30 * time.Second)
	a.plain(404, http.MethodGet, disk+diskVersion, "")
	a.plain(202, http.MethodDelete, nic+nicVersion, "")
}
