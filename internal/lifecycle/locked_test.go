package lifecycle_test

import (
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/azuresim"
)

// TestALockIsFoundAndSaidOnce locks the cluster's group, and its vault alone, which is nothing to sluice.
func TestALockIsFoundAndSaidOnce(t *testing.T) {
	w := newWorld(t, "k3s")
	w.up()
	group := "/subscriptions/" + subscription + "/resourceGroups/" + w.File.ResourceGroup
	vault := group + "/providers/Microsoft.Compute/disks/" + w.File.ServerName() + "-data"
	w.must(w.sim.Lock("data", vault, azuresim.CanNotDelete))
	if wrong := w.check(); len(wrong) > 0 {
		t.Errorf("a lock on the data: %+v", wrong)
	}
	w.must(w.sim.Unlock("data", vault))
	w.must(w.sim.Lock("keep", group, azuresim.CanNotDelete))
	w.finds("lock keep (CanNotDelete) on "+group+" keeps sluice from removing machines", "az lock delete --ids "+group)
	w.must(w.Wait(t.Context(), time.Minute)) // sluice's share of requests is used up by now
	d, err := w.Demolish(t.Context())
	w.must(err)
	err = w.Down(t.Context(), d)
	if err == nil || strings.Count(err.Error(), "ScopeLocked") != 1 || !strings.Contains(err.Error(), "more for the same reason") {
		t.Errorf("down says %v", err)
	}
	if says := w.Loses(t.Context(), &d); !strings.HasPrefix(says, "cluster render in resource group render of subscription "+subscription) ||
		!strings.Contains(says, " resources, 2 machines, and the disk with the cluster's data") {
		t.Errorf("what goes is told as %q", says)
	}
}

// TestDownSaysBeforeWhatIsLocked locks a disk that goes, the group, and a disk that stays.
func TestDownSaysBeforeWhatIsLocked(t *testing.T) {
	w := newWorld(t, "k3s")
	w.up()
	group := "/subscriptions/" + subscription + "/resourceGroups/" + w.File.ResourceGroup
	mine := group + "/providers/Microsoft.Compute/disks/mine"
	w.must(w.Cloud.Put(t.Context(), mine, "2024-03-02", map[string]any{
		"location": w.File.Region, "sku": map[string]any{"name": "Standard_LRS"}, "properties": map[string]any{"diskSizeGB": 4, "creationData": map[string]any{"createOption": "Empty"}},
	}))
	d, err := w.Demolish(t.Context())
	w.must(err)
	for id, want := range map[string]string{
		mine: "",
		group + "/providers/Microsoft.Compute/disks/" + w.File.ServerName() + "-data": "disks " + w.File.ServerName() + "-data by lock a (CanNotDelete), and is not deleted: az lock delete --ids ",
		group: "resourceGroups " + w.File.ResourceGroup + " by lock a (CanNotDelete), and is not deleted: az lock delete --ids ",
	} {
		w.must(w.sim.Lock("a", id, azuresim.CanNotDelete))
		says, err := w.Locked(t.Context(), &d)
		w.must(err)
		if want == "" && len(says) > 0 || want != "" && (len(says) != 1 || !strings.HasPrefix(says[0], want+id)) {
			t.Errorf("of a lock on %s it says %q, want %q", id, says, want)
		}
		w.must(w.sim.Unlock("a", id))
		w.must(w.Wait(t.Context(), time.Minute)) // sluice's share of requests
	}
}
