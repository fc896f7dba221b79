package lifecycle_test

import (
	"slices"
	"strings"
	"testing"
)

// TestWhatOthersUseOfTheNetworkStays has a person's interface in the cluster's subnet: down knows before it deletes anything that the
// network stays with what it uses itself, and deletes them when the interface is gone.
func TestWhatOthersUseOfTheNetworkStays(t *testing.T) {
	w := newWorld(t, "k3s")
	w.up()
	group := "/subscriptions/" + subscription + "/resourceGroups/render/providers/Microsoft.Network/"
	nic := group + "networkInterfaces/theirs"
	w.must(w.Cloud.Put(t.Context(), nic, "2024-05-01", map[string]any{"location": "westeurope", "properties": map[string]any{
		"ipConfigurations": []any{map[string]any{"name": "one", "properties": map[string]any{
			"subnet": map[string]any{"id": group + "virtualNetworks/render/subnets/machines"}, "privateIPAllocationMethod": "Dynamic",
		}}},
	}}))
	for n := range 2 { // the second time nothing else is there
		d, err := w.Demolish(t.Context())
		w.must(err)
		var stays []string
		for _, r := range d.Stays {
			stays = append(stays, r.String()+" "+d.Used[r])
		}
		slices.Sort(stays)
		want := []string{
			"natGateways render-out virtualNetworks render", "networkInterfaces theirs ", "publicIPAddresses render-out natGateways render-out",
			"virtualNetworks render networkInterfaces theirs",
		}
		if !slices.Equal(stays, want) || d.Group != "" || (n == 1) != (len(d.Goes) == 0) || d.Nothing() {
			t.Errorf("stays %q and goes %v, want %q", stays, d.Goes, want)
		}
		w.must(w.Down(t.Context(), d))
	}
	w.must(w.Cloud.Delete(t.Context(), nic, "2024-05-01"))
	w.down()
	if left := w.left(); len(left) > 0 {
		t.Errorf("without it there is %s", strings.Join(left, " "))
	}
}
