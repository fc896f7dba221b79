package clusterfile_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sluice.dev/sluice/internal/clusterfile"
)

// shapes are ways in which people write pools: with $ before and after what changes.
var shapes = map[string]struct{ file, added, set, removed string }{
	"lines": {
		file:    "pools:\n  # the first\n  - name: agents # so\n    size: Standard_D4s_v5\n    max: 3 # few\n    # zones: [\"1\"]\n\n  # the second\n  - name: burst\n    size: Standard_D8s_v5\n    min: 1\n    max: 4\n    # more\n\n# the end\n",
		added:   "pools:\n  # the first\n  - name: agents # so\n    size: Standard_D4s_v5\n    max: 3 # few\n    # zones: [\"1\"]\n\n  # the second\n  - name: burst\n    size: Standard_D8s_v5\n    min: 1\n    max: 4\n    # more\n  - name: gpu\n    size: Standard_D2s_v5\n    min: 0\n    max: 2\n    zones: [\"1\", \"2\"]\n\n# the end\n",
		set:     "pools:\n  # the first\n  - name: agents # so\n    size: Standard_D4s_v5\n    max: 7 # few\n    min: 2\n    # zones: [\"1\"]\n\n  # the second\n  - name: burst\n    size: Standard_D8s_v5\n    min: 1\n    max: 4\n    # more\n\n# the end\n",
		removed: "pools:\n\n  # the second\n  - name: burst\n    size: Standard_D8s_v5\n    min: 1\n    max: 4\n    # more\n\n# the end\n",
	},
	"dashes at the margin, brackets inside": {
		file:    "pools:\n- {name: agents, size: Standard_D4s_v5, max: 3}\n- {name: burst, size: Standard_D8s_v5, min: 1, max: 4}\naddons: {azureDisk: true}",
		added:   "pools:\n- {name: agents, size: Standard_D4s_v5, max: 3}\n- {name: burst, size: Standard_D8s_v5, min: 1, max: 4}\n- name: gpu\n  size: Standard_D2s_v5\n  min: 0\n  max: 2\n  zones: [\"1\", \"2\"]\naddons: {azureDisk: true}",
		set:     "pools:\n- {name: agents, size: Standard_D4s_v5, min: 2, max: 7}\n- {name: burst, size: Standard_D8s_v5, min: 1, max: 4}\naddons: {azureDisk: true}",
		removed: "pools:\n- {name: burst, size: Standard_D8s_v5, min: 1, max: 4}\naddons: {azureDisk: true}",
	},
	"brackets": {
		file:    "pools: [{name: agents, size: Standard_D4s_v5, min: 1, max: 3}, # ]\n  {name: 'burst', size: \"Standard_D8s_v5\", max: 4}, ] # ]",
		added:   "pools: [{name: agents, size: Standard_D4s_v5, min: 1, max: 3}, # ]\n  {name: 'burst', size: \"Standard_D8s_v5\", max: 4}, {name: gpu, size: Standard_D2s_v5, min: 0, max: 2, zones: [\"1\", \"2\"]}, ] # ]",
		set:     "pools: [{name: agents, size: Standard_D4s_v5, min: 2, max: 7}, # ]\n  {name: 'burst', size: \"Standard_D8s_v5\", max: 4}, ] # ]",
		removed: "pools: [{name: 'burst', size: \"Standard_D8s_v5\", max: 4}, ] # ]",
	},
	"none": {file: "", added: "pools:\n  - name: gpu\n    size: Standard_D2s_v5\n    min: 0\n    max: 2\n    zones: [\"1\", \"2\"]\n"},
	"no pools": {
		file:  "pools: [ ]\n",
		added: "pools: [{name: gpu, size: Standard_D2s_v5, min: 0, max: 2, zones: [\"1\", \"2\"]} ]\n",
	},
	"one": {file: "pools:\n  - name: agents\n    size: Standard_D4s_v5\n    max: 3\naddons: {}\n", removed: "pools: []\naddons: {}\n"},
}

// TestAPoolIsChangedWithoutAnotherWordOfTheFile changes pools in each way of writing them.
func TestAPoolIsChangedWithoutAnotherWordOfTheFile(t *testing.T) {
	gpu := clusterfile.Pool{Name: "gpu", Size: "Standard_D2s_v5", Max: 2, Zones: []string{"1", "2"}}
	for name, s := range shapes {
		t.Run(name, func(t *testing.T) {
			for what, c := range map[string]struct {
				want   string
				change func([]byte) ([]byte, error)
			}{
				"added":   {s.added, func(b []byte) ([]byte, error) { return clusterfile.AddPool(b, gpu) }},
				"set":     {s.set, func(b []byte) ([]byte, error) { return clusterfile.SetPool(b, "agents", 2, 7) }},
				"removed": {s.removed, func(b []byte) ([]byte, error) { return clusterfile.RemovePool(b, "agents") }},
			} {
				if c.want == "" {
					continue
				}
				got, err := c.change([]byte(least + s.file))
				if err != nil {
					t.Errorf("%s: %v", what, err)
				}
				if d := cmp.Diff(least+c.want, string(got)); d != "" {
					t.Errorf("%s (-want +got):\n%s", what, d)
				}
			}
		})
	}
}

// TestWhatIsNotUnderstoodIsLeftToThePerson has no pool changed to something that the file does not mean.
func TestWhatIsNotUnderstoodIsLeftToThePerson(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		want string
	}{
		"a wrong file": {"x: 1\n", "there is no such field"},
		"quoted":       {"pools:\n  - {name: agents, size: Standard_D4s_v5, max: !!int \"3\"}\n", clusterfile.ErrByHand.Error()},
		"no such pool": {"pools: [{name: burst, size: Standard_D4s_v5, max: 3}]\n", "the file has no pool agents: it has burst"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := clusterfile.SetPool([]byte(with(c.file)), "agents", 1, 7); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	_, err := clusterfile.AddPool([]byte(with("pools: [{name: burst, size: Standard_D4s_v5, max: 3}]")), clusterfile.Pool{Name: "burst", Size: "Standard_D4s_v5", Max: 1})
	if err == nil || errors.Is(err, clusterfile.ErrByHand) || !strings.Contains(err.Error(), "pools[1].name: \"burst\" is there twice") {
		t.Errorf("%v", err)
	}
}

// TestTheRangeOfASubnetThatIsThereMayComeFromAzure holds the rest of the file to the range that it is given.
func TestTheRangeOfASubnetThatIsThereMayComeFromAzure(t *testing.T) {
	text := with("network: {subnetId: /subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/n/subnets/x}", "pools: [{name: agents, size: Standard_D4s_v5, max: 20}]")
	if f := parse(t, text); f.Network.Subnet != "" || f.Server.Address != "" {
		t.Errorf("nobody said it, and it is %q with server %q", f.Network.Subnet, f.Server.Address)
	}
	if f, problems := clusterfile.ParseIn([]byte(text), "192.168.7.0/24"); len(problems) > 0 || f.Network.Subnet != "192.168.7.0/24" || f.Server.Address != "192.168.7.4" {
		t.Errorf("%+v with server %s: %v", f.Network, f.Server.Address, problems)
	}
	if _, problems := clusterfile.ParseIn([]byte(text), "192.168.7.0/28"); len(problems) != 1 || !strings.Contains(problems[0].What, "has room for 11 machines of 21") {
		t.Errorf("%v", problems)
	}
	own := strings.Replace(text, "/x}", "/x, subnet: 192.168.9.0/24}", 1)
	if f, problems := clusterfile.ParseIn([]byte(own), "192.168.7.0/24"); len(problems) > 0 || f.Network.Subnet != "192.168.9.0/24" {
		t.Errorf("the file's own range is %s: %v", f.Network.Subnet, problems)
	}
}

// TestAPoolIsAddedAndRemovedAgain gives each file of the renderings back as it was, word by word.
func TestAPoolIsAddedAndRemovedAgain(t *testing.T) {
	var files []string
	for _, name := range []string{"k3s", "k3s-user", "kubeadm", "kubeadm-user"} {
		text, err := os.ReadFile("../render/testdata/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, string(text))
	}
	files = append(files, string(clusterfile.Example(clusterfile.Start{Name: "render", Region: "westeurope", Distribution: "k3s", PublicKey: publicKey, Image: "a/b:c"})))
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom(files).Draw(t, "file")
		p := clusterfile.Pool{
			Name: "new", Size: rapid.SampledFrom([]string{"Standard_D2s_v5", "Standard_NC4as_T4_v3"}).Draw(t, "size"),
			Max: rapid.IntRange(1, 5).Draw(t, "max"), Labels: rapid.SampledFrom([]map[string]string{nil, {"a": "true", "b.c/d": "2"}}).Draw(t, "labels"),
			Taints: rapid.SampledFrom([][]string{nil, {"a=b:NoSchedule"}}).Draw(t, "taints"),
			Spot:   rapid.SampledFrom([]*clusterfile.Spot{nil, {}, {MaxPrice: 0.25}}).Draw(t, "spot"),
		}
		p.Min = rapid.IntRange(0, p.Max).Draw(t, "min")
		more, err := clusterfile.AddPool([]byte(text), p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := clusterfile.RemovePool(more, "new")
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(text, string(again)); d != "" {
			t.Errorf("(-was +is):\n%s", d)
		}
	})
}
