package lifecycle_test

import (
	"strings"
	"testing"

	"sluice.dev/sluice/internal/lifecycle"
)

// TestAResourceGroupHasOneCluster has a second file for a group: its check refuses it. Where it was made all the same, import tells both,
// and one down takes the second without the role that the first has.
func TestAResourceGroupHasOneCluster(t *testing.T) {
	w := newWorld(t, "kubeadm")
	w.File.Name, w.File.ResourceGroup = "render", "render"
	w.up()
	first, file := *w.Cluster, *w.File
	second := first
	file.Name, file.Server.Address = "two", strings.TrimSuffix(w.File.Server.Address, ".4")+".5"
	second.File = &file
	w.Cluster = &second
	wrong := w.check()
	const want = "resource group render has cluster render already"
	if len(wrong) != 1 || wrong[0].Wrong != want {
		t.Errorf("check says %+v, want %q", wrong, want)
	}
	w.up()
	got, err := lifecycle.Import(t.Context(), w.Cloud, "render", "", lifecycle.Kubernetes{})
	if w.must(err); len(got.Lost) != 1 || !strings.HasPrefix(got.Lost[0], "cluster render is in this resource group as well") {
		t.Errorf("import says %q", got.Lost)
	}
	w.down()
	d, err := w.Demolish(t.Context())
	if w.must(err); len(d.Goes) > 0 {
		t.Errorf("one down leaves %v", d.Goes)
	}
	got, err = lifecycle.Import(t.Context(), w.Cloud, "render", "", lifecycle.Kubernetes{})
	if err != nil || len(got.Lost) > 0 || !got.Recorded {
		t.Errorf("of the cluster that is left import says %q, %v", got.Lost, err)
	}
	w.Cluster = &first
	w.down()
	if d, err := w.Demolish(t.Context()); err != nil || len(d.Goes) > 0 {
		t.Errorf("the down of the first leaves %v, %v", d.Goes, err)
	}
	if left, roles := w.left(), w.roles(); len(left)+len(roles) > 0 {
		t.Errorf("both downs leave %v, %s", left, roles)
	}
}

// TestAnAddressThatAnotherClusterHasIsRefused has the file of a second cluster in another group, whose server would have the first one's address.
// The cluster that has it is not refused, and one by the same name in another group is another.
func TestAnAddressThatAnotherClusterHasIsRefused(t *testing.T) {
	w := newWorld(t, "kubeadm")
	w.up()
	first, file := *w.Cluster, *w.File
	if wrong := w.check(); len(wrong) > 0 {
		t.Fatalf("its own: %+v", wrong)
	}
	second := first
	second.File, w.Cluster = &file, &second
	file.ResourceGroup = "elsewhere"
	for _, name := range []string{"two", first.File.Name} {
		file.Name = name
		w.finds("server.address "+file.Server.Address+" of networkInterfaces "+first.File.ServerName()+" is there already and is of cluster "+first.File.Name,
			"give server.address another one")
	}
}
