package lifecycle_test

import (
	"context"
	"strings"
	"testing"
)

// finds wants one finding, with these words in it and its remedy.
func (w *world) finds(wrong, remedy string) {
	w.Helper()
	all := w.check()
	if len(all) != 1 || !strings.Contains(all[0].Wrong, wrong) || !strings.Contains(all[0].Remedy, remedy) {
		w.Errorf("%+v, want %q and %q", all, wrong, remedy)
	}
}

// TestASubnetThatIsGivenIsLookedAt has a range of the file's that Azure's subnet has not, and no such subnet.
func TestASubnetThatIsGivenIsLookedAt(t *testing.T) {
	w := newWorld(t, "kubeadm")
	right := w.File.Network
	w.File.Network.Subnet = "10.99.0.0/24"
	w.finds("network.subnet is 10.99.0.0/24, and the subnet of network.subnetId has "+right.Subnet, "set it to "+right.Subnet)
	w.File.Network = right
	w.File.Network.SubnetID += "s"
	w.finds("network.subnetId: there is no subnet "+right.SubnetID+"s", "correct the id")
}

// TestAClusterDoesNotMove has a file that names another region afterwards.
func TestAClusterDoesNotMove(t *testing.T) {
	w := newWorld(t, "k3s")
	w.up()
	was := w.File.Region
	w.File.Region = "northeurope"
	w.finds(" is in "+was+", and the file says northeurope", "set region to "+was)
}

// TestWhatNoDeploymentChangesIsShown has another size of the server, and a pool less, in the file.
func TestWhatNoDeploymentChangesIsShown(t *testing.T) {
	w := newWorld(t, "k3s")
	w.up()
	was := w.File.Server.Size
	w.File.Server.Size = "Standard_D16s_v5"
	gone := w.File.Pools[0].Name
	w.File.Pools = w.File.Pools[1:]
	all, err := w.Diff(t.Context())
	w.must(err)
	var said []string
	for _, c := range all {
		if c.Verb == "stays" {
			said = append(said, c.String()+": "+strings.Join(c.Fields, ", "))
		}
	}
	text := strings.Join(said, "\n")
	for _, want := range []string{"its size is " + was + ", and server.size is Standard_D16s_v5", "the file has no pool " + gone + ": sluice cluster pool remove " + gone} {
		if len(said) != 2 || !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}

// TestADownThatIsInterruptedSaysNothingFalse interrupts each deletion in turn.
func TestADownThatIsInterruptedSaysNothingFalse(t *testing.T) {
	w := newWorld(t, "k3s")
	w.up()
	d, err := w.Demolish(t.Context())
	w.must(err)
	ctx, cancel := context.WithCancel(t.Context())
	say := w.Say
	w.Cluster.Say = func(s string) {
		say(s)
		if strings.HasPrefix(s, "vaults ") {
			cancel()
		}
	}
	if err := w.Down(ctx, d); err == nil || ctx.Err() == nil {
		t.Errorf("%v", err)
	}
	if last := w.said[len(w.said)-1]; !strings.HasPrefix(last, "vaults ") || !strings.HasSuffix(last, " is deleted") {
		t.Errorf("after the interruption it says %q", last)
	}
}
