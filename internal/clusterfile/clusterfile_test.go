package clusterfile_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sluice.dev/sluice/internal/clusterfile"
)

var update = flag.Bool("update", false, "write the page of fields")

const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHNhbXBsZXNhbXBsZXNhbXBsZXNhbXBsZXNhbXBsZXNh sample@example"

// least is a file with nothing but what must be there.
const least = `apiVersion: sluice.dev/v1alpha1
kind: Cluster
name: render
region: westeurope
distribution: {kind: k3s, version: v1.36.3+k3s1}
ssh: {publicKey: "` + publicKey + `"}
sluice: {image: registry.example/sluice:v0.1.0}
`

// with is the least file and more.
func with(lines ...string) string { return least + strings.Join(lines, "\n") + "\n" }

// instead is the least file with one line replaced.
func instead(begins, line string) string {
	lines := strings.Split(least, "\n")
	for i := range lines {
		if strings.HasPrefix(lines[i], begins) {
			lines[i] = line
		}
	}
	return strings.Join(lines, "\n")
}

func parse(t *testing.T, text string) clusterfile.File {
	t.Helper()
	f, problems := clusterfile.Parse([]byte(text))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestTheLeastFileHasEveryDefault(t *testing.T) {
	f := parse(t, with("pools: [{name: agents, size: Standard_D4s_v5, max: 3, spot: {}}]", "storage: {shares: [{name: frames, sizeGiB: 5}]}"))
	want := clusterfile.File{
		APIVersion: "sluice.dev/v1alpha1", Kind: "Cluster", Name: "render", Region: "westeurope", ResourceGroup: "render",
		Image:        "Canonical:ubuntu-24_04-lts:server:latest",
		Distribution: clusterfile.Distribution{Kind: "k3s", Version: "v1.36.3+k3s1", Install: "download", CNI: "flannel"},
		Network:      clusterfile.Network{Addresses: "10.10.0.0/16", Subnet: "10.10.0.0/20", Pods: "10.42.0.0/16", Services: "10.43.0.0/16"},
		Server:       clusterfile.Server{Size: "Standard_D2s_v5", Address: "10.10.0.4", DataDiskGiB: 64, DataDiskType: "Premium_LRS", OSDiskGiB: 64},
		Identity:     clusterfile.Identity{Kind: "system"}, Secrets: "keyVault", SSH: clusterfile.SSH{User: "sluice", PublicKey: publicKey},
		Storage: clusterfile.Storage{ResourceGroup: "render-storage", Shares: []clusterfile.Share{{Name: "frames", SizeGiB: 5}}},
		Addons:  clusterfile.Addons{CloudProvider: true, AzureDisk: true},
		Pools: []clusterfile.Pool{{
			Name: "agents", Size: "Standard_D4s_v5", Max: 3, Orchestration: "uniform", OSDiskGiB: 64, OSDiskType: "StandardSSD_LRS",
			Spot: &clusterfile.Spot{MaxPrice: -1},
		}},
		Sluice: clusterfile.Sluice{Image: "registry.example/sluice:v0.1.0"},
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWhatInitWritesParses(t *testing.T) {
	for _, start := range []clusterfile.Start{
		{Name: "render", Region: "westeurope", Distribution: "k3s", PublicKey: publicKey, Image: "registry.example/sluice:v0.1.0"},
		{Name: "no", Region: "eastus2", Distribution: "kubeadm", PublicKey: publicKey, AllowFrom: []string{"203.0.113.0/24", "198.51.100.7/32"}, Image: "localhost:5000/x@sha256:" + strings.Repeat("0", 64)},
	} {
		text := clusterfile.Example(start)
		f := parse(t, string(text))
		if f.Name != start.Name || f.Region != start.Region || f.Distribution.Kind != start.Distribution || f.SSH.PublicKey != publicKey || f.Sluice.Image != start.Image ||
			len(f.Server.AllowFrom) != len(start.AllowFrom) {
			t.Errorf("the file says something else than it was told:\n%s", text)
		}
		// What is commented out is right as well.
		var open []string
		for _, line := range strings.Split(string(text), "\n") {
			bare := strings.TrimLeft(line, " ")
			if rest, ok := strings.CutPrefix(bare, "# "); ok && strings.Contains(rest, ":") && !strings.Contains(rest, "subnetId") && !strings.HasPrefix(rest, "yaml-language") {
				line = line[:len(line)-len(bare)] + rest
			}
			open = append(open, line)
		}
		text = []byte(strings.Join(open, "\n"))
		if len(start.AllowFrom) == 0 {
			if f := parse(t, string(text)); f.Storage.Disks[0].Name != "assets" || f.Sluice.Settings["scale-down-unneeded-time"] != "10m" {
				t.Errorf("not all that was commented out counts:\n%s", text)
			}
		}
	}
}

func TestEveryProblemIsOneSentenceWithItsLineAndRemedy(t *testing.T) {
	pool := "pools: [{name: agents, size: Standard_D4s_v5, max: 3, %s}]"
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":              {"", "the file is empty; write one with sluice cluster init"},
		"no YAML":              {"a: [", "line 1: the file is no YAML: did not find expected node content; mend it there or in the line before"},
		"a list":               {"- a", "line 1: the file is no mapping of fields; write one with sluice cluster init"},
		"two documents":        {least + "---\na: b", "line 8: the file has a second document; give each cluster a file of its own"},
		"another version":      {"kind: X\napiVersion: sluice.dev/v2", `line 2: apiVersion: "sluice.dev/v2" is another version of this file; give sluice.dev/v1alpha1, or use the sluice that wrote the file`},
		"a slip":               {with("pool: []"), "line 8: pool: there is no such field; did you mean pools?"},
		"another case":         {with("server: {Size: Standard_D2s_v5}"), "line 8: server.Size: there is no such field; did you mean size?"},
		"unknown":              {with("ssh2: {}", "frobnicate: 1"), "line 8: ssh2: there is no such field; did you mean ssh?\nline 9: frobnicate: there is no such field; leave it out; there are addons, apiVersion, distribution, identity, image, images, kind, mirror, name, network, pools, region, resourceGroup, secrets, server, sluice, ssh, storage"},
		"twice":                {with("name: other"), "line 8: name: is there twice; leave one out; the other is in line 3"},
		"missing":              {instead("ssh", ""), "ssh: is missing; give it"},
		"missing inside":       {instead("distribution", "distribution: {kind: k3s}"), "line 5: distribution.version: is missing; give it, such as v1.36.3+k3s1"},
		"a tab":                {with("server:", "\tsize: Standard_D2s_v5"), "line 9: a tab indents the line, which YAML does not allow; indent it by spaces"},
		"a tab further in":     {with("server:", "  zone: \"1\"", "\tsize: Standard_D2s_v5"), "line 10: a tab indents the line, which YAML does not allow; indent it by spaces"},
		"spot without a value": {with(fmt.Sprintf(pool, "spot: ")), "line 8: pools[0].spot: is empty; give {}, or leave it out"},
		"alias":                {with("server: &a {}", "network: *a"), "line 9: network: aliases are not read; write the value out"},
		"three servers":        {with("server: {count: 3}"), "line 8: server.count: this version of sluice makes one server; leave it out"},
		"a list for a text":    {instead("name", "name: [a]"), "line 3: name: is a list; give 1 to 30 of a-z, 0-9 and -, beginning with a letter and not ending with -, such as render"},
		"a long name":          {instead("name", "name: a234567890123456789012345678901"), "line 3: name: \"a234567890123456789012345678901\" is no such name; give 1 to 30 of a-z, 0-9 and -, beginning with a letter and not ending with -, such as render"},
		"a display name":       {instead("region", "region: West Europe"), "line 4: region: \"West Europe\" is no such name; give the short name of a region, such as westeurope"},
		"k3s's version":        {instead("distribution", "distribution: {kind: k3s, version: v1.36.3}"), `line 5: distribution.version: "v1.36.3" is no release of k3s; give it as its publisher names it, such as v1.36.3+k3s1`},
		"kubeadm's version":    {instead("distribution", "distribution: {kind: kubeadm, version: v1.36.3+k3s1}"), `line 5: distribution.version: "v1.36.3+k3s1" is no release of kubeadm; give it as its publisher names it, such as v1.37.2`},
		"an old version":       {instead("distribution", "distribution: {kind: kubeadm, version: v1.30.1}"), `line 5: distribution.version: "v1.30.1" is too old; give v1.32 or newer`},
		"a distribution":       {instead("distribution", "distribution: {kind: k3, version: v1.36.3+k3s1}"), `line 5: distribution.kind: "k3" is none of its values; did you mean k3s?`},
		"nothing in the image": {instead("distribution", "distribution: {kind: k3s, version: v1.36.3+k3s1, install: image}"), "line 5: distribution.install: the default image has no binaries of k3s; name an image of yours in image"},
		"an address":           {with("network: {addresses: 10.10.3.0/16}"), `line 8: network.addresses: "10.10.3.0/16" is an address in a range; did you mean 10.10.0.0/16?`},
		"IPv6":                 {with("network: {pods: 'fd00::/48'}"), `line 8: network.pods: "fd00::/48" is no IPv4 range; give an IPv4 range, such as 10.42.0.0/16`},
		"outside":              {with("network: {subnet: 10.11.0.0/20}"), "line 8: network.subnet: 10.11.0.0/20 is not inside of network.addresses 10.10.0.0/16; give a range inside"},
		"pods in the network":  {with("network: {pods: 10.10.128.0/17}"), "line 8: network.pods: 10.10.128.0/17 overlaps network.addresses 10.10.0.0/16; give ranges that share no address"},
		"services in pods":     {with("network: {services: 10.42.0.0/20}"), "line 8: network.services: 10.42.0.0/20 overlaps network.pods 10.42.0.0/16; give ranges that share no address"},
		"Azure's own":          {with("network: {addresses: 169.254.0.0/16, subnet: 169.254.0.0/20}"), "line 8: network.subnet: 169.254.0.0/20 has addresses of 169.254.0.0/16, which Azure keeps; give a private range, such as 10.10.0.0/20\nline 8: network.addresses: 169.254.0.0/16 has addresses of 169.254.0.0/16, which Azure keeps; give a private range, such as 10.10.0.0/16"},
		"a small subnet":       {with("network: {subnet: 10.10.0.0/29}", fmt.Sprintf(pool, "min: 0")), "line 8: network.subnet: 10.10.0.0/29 has room for 3 machines of 4; give a larger range, or lower max of pools"},
		"few pods":             {with("network: {pods: 10.42.0.0/23}", fmt.Sprintf(pool, "min: 0")), "line 8: network.pods: 10.42.0.0/23 has a /24 for 2 nodes of 4; give a larger range, or lower max of pools"},
		"given and made":       {with("network: {subnetId: /subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/n/subnets/x, addresses: 10.0.0.0/8}"), "line 8: network.addresses: a subnet that is there has its network; leave it out"},
		"kept address":         {with("server: {address: 10.10.0.3}"), "line 8: server.address: 10.10.0.3 is kept by Azure: the first four of a subnet, and the last; give one from 10.10.0.4 on"},
		"the last address":     {with("server: {address: 10.10.15.255}"), "line 8: server.address: 10.10.15.255 is kept by Azure: the first four of a subnet, and the last; give one from 10.10.0.4 on"},
		"an address elsewhere": {with("server: {address: 10.9.0.4}"), "line 8: server.address: 10.9.0.4 is not in network.subnet 10.10.0.0/20; give an address in it"},
		"nobody reaches it":    {with("server: {publicAddress: true}"), "line 8: server.allowFrom: is empty, and nobody reaches the public address; list the ranges that you come from, such as 203.0.113.0/24"},
		"a host":               {with("server: {allowFrom: [203.0.113.7]}"), `line 8: server.allowFrom[0]: "203.0.113.7" is no IPv4 range; give an IPv4 range, such as 203.0.113.0/24`},
		"a size's slip":        {with("server: {size: Standard_D2s_v55}"), `line 8: server.size: Azure has no size "Standard_D2s_v55" that is known; did you mean Standard_D2s_v5?`},
		"a size's case":        {with("server: {size: standard_d2s_v5}"), "line 8: server.size: \"standard_d2s_v5\" is no such name; give a size as Azure spells it, such as Standard_D2s_v5"},
		"an id too many":       {with("identity: {id: /subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/x}"), "line 8: identity.id: the server's own identity has no id before the server is there; leave it out, or set identity.kind to user"},
		"a user's name":        {instead("ssh", `ssh: {user: root, publicKey: "`+publicKey+`"}`), "line 6: ssh.user: Azure refuses the user name root; give another name, such as sluice"},
		"half a key":           {instead("ssh", "ssh: {publicKey: ssh-ed25519 AAAAC3NzaC1lZDI1N}"), "line 6: ssh.publicKey: is not whole; copy the whole line of the file"},
		"a disk's limit":       {with("server: {dataDiskGiB: 0}"), "line 8: server.dataDiskGiB: 0 is out of its limits; give 4 to 32767"},
		"no number":            {with("server: {dataDiskGiB: 64GiB}"), `line 8: server.dataDiskGiB: "64GiB" is no whole number; give 4 to 32767`},
		"yes":                  {with("addons: {azureDisk: yes}"), `line 8: addons.azureDisk: "yes" is neither true nor false; give true or false`},
		"storage in the group": {with("storage: {resourceGroup: RENDER, disks: [{name: a, sizeGiB: 1}]}"), "line 8: storage.resourceGroup: is the resource group of the cluster, which sluice cluster down deletes; give a group of its own"},
		"disks of one name":    {with("storage:", "  disks:", "    - {name: a, sizeGiB: 1}", "    - {name: A, sizeGiB: 1}"), `line 11: storage.disks[1].name: "A" is there twice; give another name`},
		"premium 2":            {with("storage: {disks: [{name: a, sizeGiB: 1, type: PremiumV2_LRS}]}"), "line 8: storage.disks[0].zone: disks of Premium version 2 are in a zone; give 1, 2 or 3"},
		"a mirror's scheme":    {with("mirror: https://mirror.example/"), `line 8: mirror: "https://mirror.example/" is no such name; give host, port and path without https:// and without / at the end, such as mirror.example:5000`},
		"an image by tag":      {with("images: {quay.io/a/b:v1: quay.io/a/b:v2}"), `line 8: images.quay.io/a/b:v1: "quay.io/a/b:v2" has no digest; give name@sha256:digest`},
		"no image":             {with("images: {'a|b': c}"), `line 8: images.a|b: "a|b" is no such name; give the name of a container image`},
		"min above max":        {with(fmt.Sprintf(pool, "min: 4")), "line 8: pools[0].min: 4 is more than max 3; give 0 to 3"},
		"pools of one name":    {with("pools:", "- {name: a, size: Standard_D4s_v5, max: 3}", "- {name: a, size: Standard_D4s_v5, max: 3}"), `line 10: pools[1].name: "a" is there twice; give another name`},
		"the server's name":    {with("pools: [{name: server, size: Standard_D4s_v5, max: 3}]"), "line 8: pools[0].name: \"server\" is the name of another part of the cluster; give another name"},
		"a zone":               {with(fmt.Sprintf(pool, "zones: [1, 4]")), `line 8: pools[0].zones[1]: "4" is none of its values; give 1, 2 or 3`},
		"a zone twice":         {with(fmt.Sprintf(pool, "zones: [1, 1]")), `line 8: pools[0].zones[1]: "1" is there twice; give another name`},
		"no spot":              {with("pools: [{name: a, size: Standard_B2s, max: 1, spot: {}}]"), "line 8: pools[0].spot: Standard_B2s is not sold as spot; take another size, or leave spot out"},
		"a price":              {with(fmt.Sprintf(pool, "spot: {maxPrice: 0}")), "line 8: pools[0].spot.maxPrice: 0 is no price; give -1, or dollars above 0, such as 0.05"},
		"a label's name":       {with(fmt.Sprintf(pool, "labels: {a b: c}")), `line 8: pools[0].labels.a b: "a b" is no such name; give a name that Kubernetes allows, such as example.com/name`},
		"a label's value":      {with(fmt.Sprintf(pool, "labels: {a: b c}")), `line 8: pools[0].labels.a: "b c" is no such value; give up to 63 letters, digits, -, _ and .`},
		"a kubelet's label":    {with(fmt.Sprintf(pool, "labels: {node-role.kubernetes.io/x: y}")), "line 8: pools[0].labels.node-role.kubernetes.io/x: a kubelet may not give its node this label; give it another prefix, such as example.com/"},
		"a machine's label":    {with(fmt.Sprintf(pool, "labels: {topology.kubernetes.io/zone: y}")), "line 8: pools[0].labels.topology.kubernetes.io/zone: every machine gets it from where it is; leave it out"},
		"a taint's effect":     {with(fmt.Sprintf(pool, `taints: ["a=b"]`)), `line 8: pools[0].taints[0]: "a=b" has no such effect; give key=value:NoSchedule, PreferNoSchedule or NoExecute`},
		"a taint twice":        {with(fmt.Sprintf(pool, `taints: ["a=b:NoSchedule", "a:NoSchedule"]`)), `line 8: pools[0].taints[1]: "a:NoSchedule" is there twice; leave one out`},
		"a setting of ours":    {instead("sluice", "sluice: {image: a, settings: {nodes: x}}"), "line 7: sluice.settings.nodes: the scale sets' tags say it; leave it out"},
		"a setting":            {instead("sluice", "sluice: {image: a, settings: {scale-down-uneeded-time: 10m}}"), "line 7: sluice.settings.scale-down-uneeded-time: sluice run has no flag --scale-down-uneeded-time; did you mean scale-down-unneeded-time?"},
		"a setting's value":    {instead("sluice", "sluice: {image: a, settings: {scale-down-unneeded-time: ten}}"), `line 7: sluice.settings.scale-down-unneeded-time: "ten" makes no sense; give it as its default is written: 10m`},
		"a setting's limit":    {instead("sluice", "sluice: {image: a, settings: {scale-down-unneeded-time: -1s}}"), `line 7: sluice.settings.scale-down-unneeded-time: "-1s" makes no sense; give a duration of zero or more, such as 10m`},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := clusterfile.Parse([]byte(tc.text))
			if len(problems) == 0 {
				t.Fatal("no problem")
			}
			if got := problems.Err().Error(); got != tc.want {
				t.Errorf("\n got %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestAPrivateKeyIsNeitherKeptNorQuoted(t *testing.T) {
	f, problems := clusterfile.Parse([]byte(instead("ssh", `ssh: {publicKey: "-----BEGIN OPENSSH PRIVATE KEY-----\nhush\n"}`)))
	if len(problems) != 1 || strings.Contains(problems.Err().Error(), "hush") || f.SSH.PublicKey != "" {
		t.Errorf("%q %v", f.SSH.PublicKey, problems)
	}
}

func TestAtMostTwentyProblemsAreSaid(t *testing.T) {
	var lines []string
	for i := range 30 {
		lines = append(lines, fmt.Sprintf("zzzzzz%d: 1", i))
	}
	_, problems := clusterfile.Parse([]byte(with(lines...)))
	last := problems[len(problems)-1].String()
	if want := "line 27: there are 10 problems more; mend these first"; len(problems) != clusterfile.MostProblems+1 || last != want {
		t.Errorf("%d problems, the last: %s", len(problems), last)
	}
}

// paths are all fields of a type, with those below it.
func paths(t reflect.Type, path string) (all []string) {
	switch t.Kind() {
	case reflect.Pointer:
		return paths(t.Elem(), path)
	case reflect.Slice:
		return paths(t.Elem(), path+"[]")
	case reflect.Struct:
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			at := strings.TrimPrefix(path+"."+name, ".")
			all = append(all, at)
			all = append(all, paths(t.Field(i).Type, at)...)
		}
	}
	if strings.HasSuffix(path, "[]") && t.Kind() != reflect.Struct {
		all = append(all, path)
	}
	return all
}

func TestTheTableDescribesEveryFieldInTheFilesOrder(t *testing.T) {
	var described []string
	for _, f := range clusterfile.Fields {
		described = append(described, f.Path)
		if !strings.HasSuffix(f.Doc, ".") {
			t.Errorf("%s is described as %q", f.Path, f.Doc)
		}
	}
	if diff := cmp.Diff(paths(reflect.TypeFor[clusterfile.File](), ""), described); diff != "" {
		t.Errorf("-types +table:\n%s", diff)
	}
}

func TestTheSchemaIsClosedAndKnowsEveryField(t *testing.T) {
	type node struct {
		Type, Description    any
		Enum, Required       []string
		Properties           map[string]json.RawMessage
		Items                json.RawMessage
		AdditionalProperties *bool
	}
	seen := 0
	var walk func(raw json.RawMessage, path string)
	walk = func(raw json.RawMessage, path string) {
		var n node
		if err := json.Unmarshal(raw, &n); err != nil {
			t.Fatal(err)
		}
		if path != "" && n.Description == nil && !strings.HasSuffix(path, "[]") {
			t.Errorf("%s has no description", path)
		}
		if n.Properties != nil && (n.AdditionalProperties == nil || *n.AdditionalProperties) {
			t.Errorf("%s takes any field", path)
		}
		for name, child := range n.Properties {
			seen++
			walk(child, strings.TrimPrefix(path+"."+name, "."))
		}
		if n.Items != nil {
			walk(n.Items, path+"[]")
		}
	}
	walk(clusterfile.Schema(), "")
	fields := 0
	for _, f := range clusterfile.Fields {
		if !strings.HasSuffix(f.Path, "[]") {
			fields++
		}
	}
	if seen != fields {
		t.Errorf("the schema has %d fields, the table %d", seen, fields)
	}
}

func TestWhatIsWrittenIsReadAsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := parseRapid(t, least)
		word := rapid.StringMatching(`[a-z][a-z0-9]{0,8}`)
		value := rapid.OneOf(rapid.Just("yes"), rapid.Just("010"), rapid.Just("null"), rapid.Just("1e3"), word)
		for i := range rapid.IntRange(0, 4).Draw(t, "pools") {
			p := clusterfile.Pool{
				Name: fmt.Sprint("p", i), Size: "Standard_D4s_v5", Min: rapid.IntRange(0, 3).Draw(t, "min"), Max: 3, OSDiskGiB: rapid.IntRange(30, 90).Draw(t, "disk"),
				Orchestration: rapid.SampledFrom([]string{"uniform", "flexible"}).Draw(t, "mode"), OSDiskType: "Premium_LRS",
				Labels: rapid.MapOfN(word, value, 1, 3).Draw(t, "labels"), Zones: rapid.SampledFrom([][]string{nil, {"1"}, {"3", "1"}}).Draw(t, "zones"),
				PublicAddress: rapid.Bool().Draw(t, "public"), Taints: rapid.SampledFrom([][]string{nil, {"a=b:NoSchedule"}}).Draw(t, "taints"),
			}
			if rapid.Bool().Draw(t, "spot") {
				p.Spot = &clusterfile.Spot{MaxPrice: rapid.SampledFrom([]float64{-1, 0.0125, 3}).Draw(t, "price")}
			}
			f.Pools = append(f.Pools, p)
		}
		f.Addons.CloudProvider = rapid.Bool().Draw(t, "cloud")
		if rapid.Bool().Draw(t, "pinned") {
			f.Images = map[string]string{"ghcr.io/a/b:v1": "mirror.example:5000/b@sha256:" + strings.Repeat("0", 64)}
		}
		if diff := cmp.Diff(f, parseRapid(t, string(clusterfile.Write(f)))); diff != "" {
			t.Errorf("-written +read:\n%s\n%s", diff, clusterfile.Write(f))
		}
	})
}

func parseRapid(t *rapid.T, text string) clusterfile.File {
	f, problems := clusterfile.Parse([]byte(text))
	if err := problems.Err(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return f
}

// FuzzParse wants an answer to every text: problems in order, or a file that can be written and read again.
func FuzzParse(f *testing.F) {
	f.Add(least)
	f.Add(string(clusterfile.Example(clusterfile.Start{Name: "a", Region: "b", Distribution: "kubeadm", PublicKey: publicKey, Image: "x"})))
	f.Add("a: &x [*x]\n? {b: c}\n: d\n")
	f.Add("pools: [{labels: {\"\": 1}, taints: [\"=:NoSchedule\"]}]\nnetwork: {subnet: 255.255.255.248/29}\nserver: {address: 0.0.0.0}")
	f.Fuzz(func(t *testing.T, text string) {
		file, problems := clusterfile.Parse([]byte(text))
		if len(problems) == 0 {
			again, problems := clusterfile.Parse(clusterfile.Write(file))
			if err := problems.Err(); err != nil {
				t.Fatalf("what was written is refused: %v", err)
			}
			if diff := cmp.Diff(file, again); diff != "" {
				t.Fatalf("-read +written and read:\n%s", diff)
			}
		}
		last := 0
		for _, p := range problems {
			if p.Line < last || p.What == "" || p.Remedy == "" || strings.Contains(p.String(), "\n") {
				t.Fatalf("a problem out of order, or not one sentence: %q", p.String())
			}
			last = p.Line
		}
	})
}

const page = "../../docs/reference/cluster-file.md"

func TestThePageOfFieldsIsCurrent(t *testing.T) {
	var b strings.Builder
	b.WriteString("# The fields of cluster.yaml\n\nThis page is made by `go test ./internal/clusterfile -run PageOfFields -update`. " +
		"`sluice cluster schema` prints the JSON schema.\n\n| field | default | what it is | values |\n|---|---|---|---|\n")
	for _, f := range clusterfile.Fields {
		value := f.Default
		if f.Required {
			value = "must be given"
		} else if value != "" {
			value = "`" + value + "`"
		}
		values := f.Values()
		if f.Such != "" && values == "" {
			values = "such as `" + f.Such + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Path, value, f.Doc, values)
	}
	want := b.String()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want {
		t.Errorf("%s is not current: run go test ./internal/clusterfile -run PageOfFields -update", page)
	}
}
