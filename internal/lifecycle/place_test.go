package lifecycle_test

import (
	"cmp"
	"context"
	"strings"
	"testing"

	"sluice.dev/sluice/internal/clusterfile"
	"sluice.dev/sluice/internal/lifecycle"
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
	for _, want := range []string{"server.size is Standard_D16s_v5, and the machine has " + was, "the file has no pool " + gone + ": sluice cluster pool remove " + gone} {
		if len(said) != 2 || !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}

// TestFieldsOfTheServerThatCannotChangeAreSaid has each differ from what was made. What Azure refuses is wrong, and what up leaves is not.
func TestFieldsOfTheServerThatCannotChangeAreSaid(t *testing.T) {
	type server = clusterfile.Server
	for name, c := range map[string]struct {
		change func(*server)
		verb   string // "": it changes in place
		want   string
	}{
		"another size":       {func(s *server) { s.Size = "Standard_D4s_v5" }, "stays", "server.size is Standard_D4s_v5, and the machine has "},
		"another OS disk":    {func(s *server) { s.OSDiskGiB = 200 }, "stays", "server.osDiskGiB is 200, and the machine has 64: up leaves"},
		"another zone":       {func(s *server) { s.Zone = "3" }, "refused", "server.zone is 3, and the machine is in 1; Azure"},
		"a smaller disk":     {func(s *server) { s.DataDiskGiB = 8 }, "refused", "server.dataDiskGiB is 8, and the disk has 64; Azure"},
		"another disk type":  {func(s *server) { s.DataDiskType = "StandardSSD_LRS" }, "refused", "server.dataDiskType is StandardSSD_LRS, and"},
		"a larger disk":      {func(s *server) { s.DataDiskGiB = 128 }, "", ""},
		"another allowFrom":  {func(s *server) { s.AllowFrom = append(s.AllowFrom, "198.51.100.0/24") }, "", ""},
		"nothing is another": {func(*server) {}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "k3s")
			w.up()
			c.change(&w.File.Server)
			all, err := w.Diff(t.Context())
			w.must(err)
			var said []string
			for _, one := range all {
				if one.Verb == "stays" || one.Verb == "refused" {
					said = append(said, one.Verb+" "+one.Fields[0])
				}
			}
			got := strings.Join(said, "\n")
			if c.verb == "" && got != "" || c.verb != "" && !strings.HasPrefix(got, c.verb+" "+c.want) || len(said) > 1 {
				t.Errorf("diff says %q, want %s %q", got, c.verb, c.want)
			}
			var wrong, stays string
			ok, err := w.Check(t.Context(), func(f lifecycle.Finding) { wrong, stays = wrong+f.Wrong, stays+f.Stays })
			w.must(err)
			said = []string{stays, wrong}
			for n, verb := range []string{"stays", "refused"} {
				if verb == c.verb != strings.HasPrefix(said[n], cmp.Or(c.want, "no sentence")) || verb != c.verb && said[n] != "" {
					t.Errorf("check says %s: %q, want %q", verb, said[n], c.want)
				}
			}
			if ok != (c.verb != "refused") {
				t.Errorf("check: right %t", ok)
			}
		})
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

// TestWithoutTheRightToListRegionsTheOthersAreChecked takes that right away.
func TestWithoutTheRightToListRegionsTheOthersAreChecked(t *testing.T) {
	w := newWorld(t, "k3s")
	w.check()
	asked := w.sim.Requests()
	w.must(w.sim.Deny(asked[len(asked)-1].Principal, "Microsoft.Resources/subscriptions/locations/read"))
	if wrong := w.check(); len(wrong) > 0 {
		t.Errorf("%+v", wrong)
	}
	w.File.Region = "atlantis"
	if _, err := w.Check(t.Context(), func(lifecycle.Finding) {}); err == nil || !strings.Contains(err.Error(), "NoRegisteredProviderFound") {
		t.Errorf("of a region that does not exist: %v", err)
	}
}

// TestADiskThatIsLeftKeepsItsZone has the data outlive its machine, which is no ground to move it.
func TestADiskThatIsLeftKeepsItsZone(t *testing.T) {
	w := newWorld(t, "k3s")
	w.up()
	w.must(w.Cloud.Delete(t.Context(), w.server(), computeVersion))
	w.File.Server.Zone = "3"
	w.finds("server.zone is 3, and the disk is in 1; Azure moves no disk between zones", "set it to 1, or make another cluster")
	w.File.Server.Zone, w.File.Server.DataDiskType = "1", "StandardSSD_LRS"
	if wrong := w.check(); len(wrong) > 0 {
		t.Errorf("no machine that runs has the disk, and its type changes: %+v", wrong)
	}
}

// server is the path of the server's machine.
func (w *world) server() string {
	return "/subscriptions/" + subscription + "/resourceGroups/" + w.File.ResourceGroup + "/providers/Microsoft.Compute/virtualMachines/" + w.File.ServerName()
}
