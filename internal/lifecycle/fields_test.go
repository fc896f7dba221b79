package lifecycle_test

import (
	"slices"
	"strings"
	"testing"

	"sluice.dev/sluice/internal/clusterfile"
	"sluice.dev/sluice/internal/lifecycle"
	"sluice.dev/sluice/internal/render"
)

const otherKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIG90aGVyb3RoZXJvdGhlcm90aGVyb3RoZXJvdGhlcm90 other@example"

const otherSKU = "Canonical:ubuntu-24_04-lts:minimal:latest"

// file is a cluster file while a test changes it.
type file = clusterfile.File

// fates are what changes of each field come to, in the worlds of the renderings. A change has a verb and a word that diff says with it.
var fates = map[string][]struct {
	world      string // "": k3s
	change     func(*file)
	verb, says string
}{
	"apiVersion":    nil, // has one value
	"kind":          nil,
	"name":          nil, // another name is another cluster
	"resourceGroup": nil, // of a group that is not there diff says that up makes it
	"region":        {{"", func(f *file) { f.Region = "northeurope" }, "refused", " is in westeurope, and the file says northeurope"}},
	"image": {
		{"", func(f *file) { f.Image = "a:b:c:latest" },
			"refused", "image is a:b:c:latest, and the scale set has Canonical:ubuntu-24_04-lts:SKU:VERSION; Azure"},
		{"", func(f *file) { f.Image = otherSKU }, "stays", "image is " + otherSKU + ", and the server was made with Canonical"},
		{"", func(f *file) { f.Image = otherSKU }, "change", "imageReference.sku"},
	},
	"distribution.kind": {{"", func(f *file) { f.Distribution.Kind = "kubeadm"; f.Distribution.Version = "v1.36.3" },
		"refused", "distribution.kind is kubeadm"}},
	"distribution.version": {
		{"", func(f *file) { f.Distribution.Version = "v1.35.0+k3s1" },
			"stays", "distribution.version is v1.35.0+k3s1, and the server was made with v1.36.3+k3s1"},
		{"", func(f *file) { f.Distribution.Version = "v1.35.0+k3s1" },
			"change", "at boot, by distribution.version: v1.36.3+k3s1 -> v1.35.0+k3s1"},
	},
	"distribution.install": {{"", func(f *file) { f.Distribution.Install = "image" }, "stays", "distribution.install is image"}},
	"distribution.cni":     {{"", func(f *file) { f.Distribution.CNI = "none" }, "refused", "distribution.cni is none"}},

	"network.subnetId": {{"kubeadm", func(f *file) { f.Network.SubnetID += "s" }, "refused", "network.subnetId is "}},
	"network.addresses": {
		{"", func(f *file) { f.Network.Addresses = "10.20.0.0/16" }, "refused", "network.addresses is 10.20.0.0/16"},
		{"", func(f *file) { f.Network.Addresses = "10.10.0.0/15" }, "change", "addressPrefixes"},
	},
	"network.subnet":   {{"", func(f *file) { f.Network.Subnet = "10.10.0.0/21" }, "refused", "network.subnet is 10.10.0.0/21"}},
	"network.pods":     {{"", func(f *file) { f.Network.Pods = "10.52.0.0/16" }, "refused", "network.pods is 10.52.0.0/16"}},
	"network.services": {{"", func(f *file) { f.Network.Services = "10.53.0.0/16" }, "refused", "network.services is 10.53.0.0/16"}},

	"server.size":    {{"", func(f *file) { f.Server.Size = "Standard_D4s_v5" }, "stays", "server.size is "}},
	"server.zone":    {{"", func(f *file) { f.Server.Zone = "3" }, "refused", "server.zone is 3"}},
	"server.address": {{"", func(f *file) { f.Server.Address = "10.10.0.9" }, "refused", "server.address is 10.10.0.9"}},
	"server.dataDiskGiB": {{"", func(f *file) { f.Server.DataDiskGiB = 8 },
		"refused", "server.dataDiskGiB is 8"}, {"", func(f *file) { f.Server.DataDiskGiB = 128 },
		"change", "diskSizeGB: 64 -> 128"}},
	"server.dataDiskType": {{"", func(f *file) { f.Server.DataDiskType = "StandardSSD_LRS" }, "refused", "server.dataDiskType is "}},
	"server.osDiskGiB":    {{"", func(f *file) { f.Server.OSDiskGiB = 200 }, "stays", "server.osDiskGiB is 200"}},
	"server.publicAddress": {
		{"", func(f *file) { f.Server.PublicAddress = false }, "change", "server.publicAddress: true -> false"},
		{"", func(f *file) { f.Server.PublicAddress = false }, "stays", "the file asks for it no more"},
		{"kubeadm", func(f *file) { f.Server.PublicAddress = true }, "change", "publicIPAddress"},
	},
	"server.allowFrom": {
		{"", func(f *file) { f.Server.AllowFrom = f.Server.AllowFrom[:1] }, "change", "sourceAddressPrefixes"},
		{"", func(f *file) { f.Server.AllowFrom = nil }, "change", "securityRules"},
	},

	"identity.kind": {{"", func(f *file) { f.Identity.Kind = "user" }, "refused", "identity.kind is user"}},
	"identity.id":   {{"", func(f *file) { f.Identity.Kind, f.Identity.ID = "user", givenID }, "refused", "identity.id is "}},
	"secrets":       {{"", func(f *file) { f.Secrets = "file" }, "stays", "secrets is file, and the server was made with keyVault"}},
	"ssh.user": {{"", func(f *file) { f.SSH.User = "ops" },
		"stays", "ssh.user is ops, and the server was made with sluice"}, {"", func(f *file) { f.SSH.User = "ops" },
		"change", "adminUsername"}},
	"ssh.publicKey": {{"", func(f *file) { f.SSH.PublicKey = otherKey },
		"stays", "ssh.publicKey is another than the server was made with"}},

	"storage.resourceGroup": {
		{"", func(f *file) { f.Storage.ResourceGroup = "elsewhere" }, "create", ""},
		{"", func(f *file) { f.Storage.ResourceGroup = "elsewhere" },
			"stays", "storage.resourceGroup is elsewhere, and the last up had render-storage"},
	},
	"storage.disks[].name": {
		{"", func(f *file) { f.Storage.Disks[0].Name = "renamed" }, "create", ""},
		{"", func(f *file) { f.Storage.Disks[0].Name = "renamed" }, "stays", "the file has no storage.disks[assets] any more"},
	},
	"storage.disks[].sizeGiB": {
		{"", func(f *file) { f.Storage.Disks[0].SizeGiB = 100 },
			"refused", "storage.disks[assets].sizeGiB is 100, and the disk has 512; Azure"},
		{"", func(f *file) { f.Storage.Disks[0].SizeGiB = 600 }, "change", "storage.disks[assets].sizeGiB: 512 -> 600"},
	},
	"storage.disks[].type": {{"", func(f *file) { f.Storage.Disks[0].Type = "StandardSSD_LRS" },
		"change", "storage.disks[assets].type: Premium_LRS -> StandardSSD_LRS"}},
	"storage.disks[].zone": {{"", func(f *file) { f.Storage.Disks[0].Zone = "" },
		"refused", "storage.disks[assets].zone is none, and the disk is in 1"}},
	"storage.shares[].name": {
		{"", func(f *file) { f.Storage.Shares[0].Name = "renamed" }, "create", ""},
		{"", func(f *file) { f.Storage.Shares[0].Name = "renamed" }, "stays", "the file has no storage.shares[frames] any more"},
		{"", func(f *file) { f.Storage = clusterfile.Storage{} }, "stays", "the file has no storage.shares[frames] any more"},
	},
	"storage.shares[].sizeGiB": {{"", func(f *file) { f.Storage.Shares[0].SizeGiB = 2048 },
		"change", "storage.shares[frames].sizeGiB: 1024 -> 2048"}},

	"addons.cloudProvider": {{"", func(f *file) { f.Addons.CloudProvider = false }, "refused", "addons.cloudProvider is false"}},
	"addons.azureDisk":     {{"", func(f *file) { f.Addons.AzureDisk = false }, "stays", "addons.azureDisk is false"}},
	"addons.azureFile":     {{"", func(f *file) { f.Addons.AzureFile = false }, "stays", "addons.azureFile is false"}},
	"mirror": {{"", func(f *file) { f.Mirror = "mirror.example" },
		"stays", "mirror is mirror.example, and the server was made with nothing"}},
	"images": {{"", func(f *file) {
		f.Images = map[string]string{render.Images(f)[0]: "a@sha256:" + strings.Repeat("0", 64)}
	}, "stays", "images."}},

	"pools[].name": {
		{"", func(f *file) { f.Pools[0].Name = "renamed" }, "create", ""},
		{"", func(f *file) { f.Pools[0].Name = "renamed" }, "stays", "the file has no pool agents"},
	},
	"pools[].size": {{"", func(f *file) { f.Pools[0].Size = "Standard_D8s_v5" }, "change", "sku.name"}},
	"pools[].min":  {{"", func(f *file) { f.Pools[0].Min = 2 }, "change", "tags.min"}},
	"pools[].max":  {{"", func(f *file) { f.Pools[0].Max = 20 }, "change", "tags.max"}},
	"pools[].zones": {
		{"", func(f *file) { f.Pools[0].Zones = []string{"1"} }, "refused", "pools[agents].zones is 1, and the scale set has 1, 2, 3; Azure"},
		{"", func(f *file) { f.Pools[1].Zones = []string{"1"} }, "change", "zones"},
	},
	"pools[].orchestration": {{"", func(f *file) { f.Pools[0].Orchestration = "flexible" },
		"refused", "pools[agents].orchestration is flexible"}},
	"pools[].labels": {
		{"", func(f *file) { f.Pools[1].Labels = map[string]string{"tier": "2"} },
			"change", "at boot, by pools[burst].labels.example.com/work_kind: frames -> nothing"},
		{"", func(f *file) { f.Pools[0].Labels = map[string]string{"tier": "2"} },
			"change", "at boot, by pools[agents].labels.tier: nothing -> 2"},
	},
	"pools[].taints": {{"", func(f *file) { f.Pools[1].Taints = nil },
		"change", "at boot, by pools[burst].taints: dedicated=render:NoSchedule -> nothing"}},
	"pools[].image": {
		{"", func(f *file) { f.Pools[0].Image = "a:b:c:latest" },
			"refused", "pools[agents].image is a:b:c:latest, and the scale set has Canonical"},
		{"", func(f *file) { f.Pools[0].Image = otherSKU }, "change", "imageReference.sku"},
	},
	"pools[].osDiskGiB": {{"", func(f *file) { f.Pools[0].OSDiskGiB = 100 }, "change", "diskSizeGB"}},
	"pools[].osDiskType": {{"", func(f *file) { f.Pools[0].OSDiskType = "Premium_LRS" },
		"refused", "pools[agents].osDiskType is Premium_LRS, and the scale set has StandardSSD_LRS; Azure"}},
	"pools[].spot.maxPrice": {{"", func(f *file) { f.Pools[1].Spot = &clusterfile.Spot{MaxPrice: 1} }, "change", "maxPrice"}},
	"pools[].spot": {
		{"", func(f *file) { f.Pools[1].Spot = nil }, "stays", "pools[burst].spot is left out, and the scale set has it"},
		{"", func(f *file) { f.Pools[0].Spot = &clusterfile.Spot{MaxPrice: -1} },
			"refused", "pools[agents].spot is {}, and the scale set has nothing; Azure"},
	},
	"pools[].publicAddress": {
		{"", func(f *file) { f.Pools[0].PublicAddress = true }, "change", "publicIPAddressConfiguration"},
		{"public", func(f *file) { f.Pools[0].PublicAddress = false }, "change", "pools[agents].publicAddress: true -> false"},
	},

	"sluice.image": {{"", func(f *file) { f.Sluice.Image = "registry.example/sluice:v0.2.0" },
		"stays", "sluice.image is registry.example/sluice:v0.2.0, and the server was made with registry.example/sluice:v0.1.0"}},
	"sluice.settings": {{"", func(f *file) { f.Sluice.Settings = nil }, "stays", "sluice.settings.scale-down-unneeded-time is nothing"}},
}

// TestEveryFieldThatDiffersIsShown changes each field of the table in turn. Diff says what becomes of it. Check passes unless it is refused, and then Azure
// refuses the deployment where that is the reason. After up only what stays is shown, each time again.
func TestEveryFieldThatDiffersIsShown(t *testing.T) {
	for _, field := range clusterfile.Fields {
		changes, known := fates[field.Path]
		above := slices.ContainsFunc(clusterfile.Fields, func(f clusterfile.Field) bool {
			return strings.HasPrefix(f.Path, field.Path+".") || strings.HasPrefix(f.Path, field.Path+"[].")
		})
		if !known && !above && !strings.HasSuffix(field.Path, "[]") {
			t.Errorf("%s: say here what becomes of a change of it", field.Path)
		}
		for _, c := range changes {
			t.Run(field.Path+" "+c.says, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, map[string]string{"kubeadm": "kubeadm"}[c.world]+map[bool]string{true: "k3s"}[c.world != "kubeadm"])
				w.File.Pools[0].PublicAddress = c.world == "public"
				w.up()
				c.change(w.File)
				w.shows(c.verb, c.says)
				var wrong, stays []string
				_, err := w.Check(t.Context(), func(f lifecycle.Finding) {
					if f.Wrong != "" {
						wrong = append(wrong, f.Wrong)
					}
					if f.Stays != "" {
						stays = append(stays, f.Stays)
					}
				})
				w.must(err)
				said := map[string][]string{"refused": wrong, "stays": stays}[c.verb]
				if c.verb == "refused" && !strings.Contains(strings.Join(said, "\n"), c.says) || c.verb != "refused" && len(wrong) > 0 {
					t.Errorf("check says wrong %q, stays %q, want %s %q", wrong, stays, c.verb, c.says)
				}
				if c.verb == "refused" && !strings.Contains(strings.Join(wrong, "\n"), "; Azure") {
					return // sluice refuses it, and Azure would not
				}
				fresh, err := lifecycle.NewDoor(w.now)
				w.must(err)
				_, err = w.Up(t.Context(), fresh)
				switch {
				case c.verb != "refused":
					w.must(err)
				case err == nil:
					t.Errorf("Azure does not refuse it: %q", wrong)
				}
				if c.verb != "refused" {
					w.settled(c.verb, c.says)
				}
			})
		}
	}
	for path := range fates {
		if !slices.ContainsFunc(clusterfile.Fields, func(f clusterfile.Field) bool { return f.Path == path }) {
			t.Errorf("%s is no field", path)
		}
	}
}

// shows wants a change in the diff.
func (w *world) shows(verb, says string) {
	w.Helper()
	all, err := w.Diff(w.Context())
	w.must(err)
	if !slices.ContainsFunc(all, func(c lifecycle.Change) bool {
		return c.Verb == verb && strings.Contains(strings.Join(c.Fields, "\n"), says)
	}) {
		w.Errorf("diff does not say %s %q:\n%s", verb, says, listed(all))
	}
}

// settled wants nothing in the diff but what stays; that goes on, where it is the server's.
func (w *world) settled(verb, says string) {
	w.Helper()
	all, err := w.Diff(w.Context())
	w.must(err)
	for _, c := range all {
		if c.Verb != "stays" {
			w.Errorf("after up diff says:\n%s", listed(all))
			break
		}
	}
	if verb == "stays" && !strings.Contains(says, "storage") && !strings.Contains(listed(all), says) {
		w.Errorf("after up diff says no more that %q stays:\n%s", says, listed(all))
	}
}

func listed(all []lifecycle.Change) string {
	var lines []string
	for _, c := range all {
		lines = append(lines, c.Verb+" "+c.String()+"\n  "+strings.Join(c.Fields, "\n  "))
	}
	return strings.Join(lines, "\n")
}

// TestResourcesAreCalledByTheirNames has one of each depth.
func TestResourcesAreCalledByTheirNames(t *testing.T) {
	const group = "/subscriptions/" + subscription + "/resourceGroups/render"
	for id, want := range map[string]string{
		group: "resourceGroups render",
		group + "/providers/Microsoft.Network/virtualNetworks/net":                  "virtualNetworks net",
		group + "/providers/Microsoft.Network/virtualNetworks/net/subnets/machines": "subnets net/machines",
	} {
		if got := (lifecycle.Resource{ID: id}).String(); got != want {
			t.Errorf("%s is called %q, want %q", id, got, want)
		}
	}
}
