package clusterfile

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"sluice.dev/sluice/internal/azure/catalog"
)

// complete sets the defaults that depend on other fields.
func (d *decoder) complete(f *File) {
	if f.ResourceGroup == "" {
		f.ResourceGroup = f.Name
	}
	if f.Network.SubnetID != "" && d.lines["network.addresses"] == 0 {
		f.Network.Addresses = ""
	}
	if f.Network.SubnetID != "" && d.lines["network.subnet"] == 0 {
		f.Network.Subnet = d.subnet
	}
	if f.HasStorage() && f.Storage.ResourceGroup == "" {
		f.Storage.ResourceGroup = f.ResourceGroup + "-storage"
	}
	if subnet, err := netip.ParsePrefix(f.Network.Subnet); err == nil && f.Server.Address == "" && subnet.Addr().Is4() {
		f.Server.Address = first(subnet).String()
	}
}

// check holds fields to each other, and to what Azure and Kubernetes allow.
func (d *decoder) check(f *File) {
	d.checkDistribution(f)
	d.checkNetwork(f)
	d.checkServer(f)
	d.checkIdentity(f)
	d.checkSSH(f)
	d.checkStorage(f)
	d.checkImages(f)
	d.checkPools(f)
	d.checkSettings(f)
}

var (
	k3sRelease     = regexp.MustCompile(`^v1\.(\d{2})\.\d{1,2}\+k3s\d$`)
	kubeadmRelease = regexp.MustCompile(`^v1\.(\d{2})\.\d{1,2}$`)
)

// oldest is the oldest minor release: kube-proxy needs no conntrack on the machine since then.
const oldest = "32"

func (d *decoder) checkDistribution(f *File) {
	of := &f.Distribution
	release, such := k3sRelease, K3sRelease
	if of.Kind == Kubeadm {
		release, such = kubeadmRelease, KubeadmRelease
	}
	const at = "distribution.version"
	if m := release.FindStringSubmatch(of.Version); of.Version != "" && m == nil {
		d.wrong(at, "give it as its publisher names it, such as "+such, "%s is no release of %s", short(of.Version), of.Kind)
	} else if len(m) > 1 && m[1] < oldest {
		d.wrong(at, "give v1."+oldest+" or newer", "%s is too old", short(of.Version))
	}
	if of.Install == FromImage && f.Image == DefaultImage {
		d.wrong("distribution.install", "name an image of yours in image", "the default image has no binaries of %s", of.Kind)
	}
}

// reserved are ranges that Azure allows in no network.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("168.63.129.16/32"), netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("224.0.0.0/4"), netip.MustParsePrefix("255.255.255.255/32"),
}

// ipRange reads a range in its canonical form.
func (d *decoder) ipRange(path, text, such string) (netip.Prefix, bool) {
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil || !p.Addr().Is4():
		d.wrong(path, "give an IPv4 range, such as "+such, "%s is no IPv4 range", short(text))
	case p != p.Masked():
		d.wrong(path, "did you mean "+p.Masked().String()+"?", "%s is an address in a range", short(text))
	default:
		return p, true
	}
	return p, false
}

// sized is a range whose length is within limits.
func (d *decoder) sized(path, text string, widest, narrowest int) (netip.Prefix, bool) {
	p, ok := d.ipRange(path, text, described[path].Such)
	if !ok {
		return p, false
	}
	if p.Bits() < widest || p.Bits() > narrowest {
		d.wrong(path, fmt.Sprintf("give a range of /%d to /%d", widest, narrowest), "%s is too %s", p, map[bool]string{true: "large", false: "small"}[p.Bits() < widest])
		return p, false
	}
	for _, no := range reserved {
		if p.Overlaps(no) {
			d.wrong(path, "give a private range, such as "+described[path].Such, "%s has addresses of %s, which Azure keeps", p, no)
			return p, false
		}
	}
	return p, true
}

func (d *decoder) checkNetwork(f *File) {
	n := &f.Network
	machines, about := netip.Prefix{}, "network.addresses"
	var inside netip.Prefix
	within := false
	if n.SubnetID == "" || n.Subnet != "" {
		inside, within = d.sized("network.subnet", n.Subnet, 8, 29)
	}
	if n.SubnetID != "" {
		machines, about = inside, "network.subnet"
		if n.Addresses != "" {
			d.wrong("network.addresses", "leave it out", "a subnet that is there has its network")
		}
	} else if all, ok := d.sized("network.addresses", n.Addresses, 8, 29); ok {
		machines = all
		if within && (!all.Contains(inside.Addr()) || inside.Bits() < all.Bits()) {
			d.wrong("network.subnet", "give a range inside", "%s is not inside of network.addresses %s", inside, all)
		}
	}
	pods, havePods := d.sized("network.pods", n.Pods, 8, 24)
	services, haveServices := d.sized("network.services", n.Services, 12, 24)
	overlap := func(path string, a netip.Prefix, other string, b netip.Prefix) {
		if a.IsValid() && b.IsValid() && a.Overlaps(b) {
			d.wrong(path, "give ranges that share no address", "%s overlaps %s %s", a, other, b)
		}
	}
	if havePods {
		overlap("network.pods", pods, about, machines)
	}
	if haveServices {
		overlap("network.services", services, about, machines)
		if havePods {
			overlap("network.services", services, "network.pods", pods)
		}
	}
	most := 1
	for i := range f.Pools {
		most += max(f.Pools[i].Max, 0)
	}
	if room := 1 << (32 - inside.Bits()); within && room-5 < most {
		d.wrong("network.subnet", "give a larger range, or lower max of pools", "%s has room for %d machines of %d", inside, room-5, most)
	}
	if room := 1 << (24 - min(pods.Bits(), 24)); havePods && room < most {
		d.wrong("network.pods", "give a larger range, or lower max of pools", "%s has a /24 for %d nodes of %d", pods, room, most)
	}
}

func (d *decoder) checkServer(f *File) {
	s := &f.Server
	d.checkSize("server.size", s.Size)
	subnet, err := netip.ParsePrefix(f.Network.Subnet)
	at, bad := netip.ParseAddr(s.Address)
	switch {
	case s.Address == "":
	case bad != nil || !at.Is4():
		d.wrong("server.address", "give an IPv4 address in network.subnet", "%s is no IPv4 address", short(s.Address))
	case err == nil && !subnet.Contains(at):
		d.wrong("server.address", "give an address in it", "%s is not in network.subnet %s", at, subnet)
	case err == nil && (at.Less(first(subnet)) || !subnet.Contains(at.Next())):
		d.wrong("server.address", "give one from "+first(subnet).String()+" on", "%s is kept by Azure: the first four of a subnet, and the last", at)
	}
	for i, text := range s.AllowFrom {
		d.ipRange(fmt.Sprintf("server.allowFrom[%d]", i), text, "203.0.113.0/24")
	}
	if s.PublicAddress && len(s.AllowFrom) == 0 {
		d.wrong("server.allowFrom", "list the ranges that you come from, such as 203.0.113.0/24", "is empty, and nobody reaches the public address")
	}
}

func (d *decoder) checkIdentity(f *File) {
	if f.Identity.Kind == SystemAssigned && f.Identity.ID != "" {
		d.wrong("identity.id", "leave it out, or set identity.kind to user", "the server's own identity has no id before the server is there")
	}
}

// adminNames are user names that Azure refuses on Linux machines, as far as the form of names allows them.
var adminNames = []string{
	"admin", "administrator", "root", "user", "test", "user1", "user2", "user3", "user4", "user5", "test1", "test2", "test3", "actuser", "adm", "aspnet",
	"backup", "console", "david", "guest", "john", "owner", "server", "sql", "support", "sys", "video",
}

var keyTypes = []string{"ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"}

func (d *decoder) checkSSH(f *File) {
	if slices.Contains(adminNames, f.SSH.User) {
		d.wrong("ssh.user", "give another name, such as sluice", "Azure refuses the user name %s", f.SSH.User)
	}
	key := strings.TrimSpace(f.SSH.PublicKey)
	words := strings.Fields(key)
	switch {
	case key == "":
		return
	case strings.Contains(key, "PRIVATE KEY"):
		f.SSH.PublicKey = "" // it must not be rendered, nor quoted
		d.wrong("ssh.publicKey", "give the public half, as in id_ed25519.pub, and use this key no more", "is a private key")
		return
	case strings.ContainsAny(key, "\n\r"):
		d.wrong("ssh.publicKey", "give one key", "has several lines")
		return
	case len(words) < 2 || !slices.Contains(keyTypes, words[0]):
		d.wrong("ssh.publicKey", "give one of ssh-ed25519 or ssh-rsa, as in id_ed25519.pub", "is no public key of OpenSSH")
		return
	}
	if raw, err := base64.StdEncoding.DecodeString(words[1]); err != nil || !hasType(raw, words[0]) {
		d.wrong("ssh.publicKey", "copy the whole line of the file", "is not whole")
	}
	f.SSH.PublicKey = key
}

// hasType says whether a key in OpenSSH's form begins with its type.
func hasType(raw []byte, kind string) bool {
	const length = 4
	return len(raw) > length+len(kind) && binary.BigEndian.Uint32(raw) == uint32(len(kind)) && string(raw[length:length+len(kind)]) == kind //nolint:gosec // short
}

func (d *decoder) checkStorage(f *File) {
	s := &f.Storage
	if f.HasStorage() && strings.EqualFold(s.ResourceGroup, f.ResourceGroup) {
		d.wrong("storage.resourceGroup", "give a group of its own", "is the resource group of the cluster, which sluice cluster down deletes")
	}
	seen := map[string]bool{}
	for i, disk := range s.Disks {
		d.once(seen, fmt.Sprintf("storage.disks[%d].name", i), disk.Name)
		if disk.Type == "PremiumV2_LRS" && disk.Zone == "" {
			d.wrong(fmt.Sprintf("storage.disks[%d].zone", i), "give 1, 2 or 3", "disks of Premium version 2 are in a zone")
		}
	}
	seen = map[string]bool{}
	for i, share := range s.Shares {
		d.once(seen, fmt.Sprintf("storage.shares[%d].name", i), share.Name)
	}
	if f.Server.DataDiskType == "PremiumV2_LRS" && f.Server.Zone == "" {
		d.wrong("server.zone", "give 1, 2 or 3", "disks of Premium version 2 are in a zone")
	}
}

// checkImages wants a digest, since a tag can be moved. The names go into a script of the server.
func (d *decoder) checkImages(f *File) {
	for name, by := range f.Images {
		at := "images." + name
		switch {
		case !containerName.matches(name):
			d.wrong(at, containerName.says, "%s is no such name", short(name))
		case !containerName.matches(by) || !strings.Contains(by, "@sha256:"):
			d.wrong(at, "give name@sha256:digest", "%s has no digest", short(by))
		}
	}
}

// once refuses a name that another has. Azure compares them in any letter case.
func (d *decoder) once(seen map[string]bool, path, name string) {
	if low := strings.ToLower(name); name != "" && seen[low] {
		d.wrong(path, "give another name", "%s is there twice", short(name))
	} else {
		seen[low] = true
	}
}

// checkSize refuses a slip of a size. A size that is new to the catalog's tables is Azure's to refuse.
func (d *decoder) checkSize(path, size string) {
	if size == "" || !sizeName.matches(size) {
		return
	}
	if known, ok := catalog.Find(size); ok {
		if known.Name != size {
			d.wrong(path, "did you mean "+known.Name+"?", "%s is written otherwise", short(size))
		}
		return
	}
	var names []string
	for _, known := range catalog.Sizes() {
		names = append(names, known.Name)
	}
	if near := Nearest(size, names); near != "" {
		d.wrong(path, "did you mean "+near+"?", "Azure has no size %s that is known", short(size))
	} else if !strings.HasPrefix(size, "Standard_") && !strings.HasPrefix(size, "Basic_") {
		d.wrong(path, "give a size such as Standard_D4s_v5", "Azure has no size %s", short(size))
	}
}

// taken are names of other parts of a cluster, beside which a deployment names pools that are new.
var taken = []string{"network", "server"}

func (d *decoder) checkPools(f *File) {
	seen := map[string]bool{}
	for i := range f.Pools {
		p, path := &f.Pools[i], fmt.Sprintf("pools[%d]", i)
		if slices.Contains(taken, p.Name) {
			d.wrong(path+".name", "give another name", "%s is the name of another part of the cluster", short(p.Name))
		} else {
			d.once(seen, path+".name", p.Name)
		}
		d.checkSize(path+".size", p.Size)
		if p.Max > 0 && p.Min > p.Max {
			d.wrong(path+".min", fmt.Sprintf("give 0 to %d", p.Max), "%d is more than max %d", p.Min, p.Max)
		}
		zones := map[string]bool{}
		for j, zone := range p.Zones {
			d.once(zones, fmt.Sprintf("%s.zones[%d]", path, j), zone)
		}
		if known, ok := catalog.Find(p.Size); ok && p.Spot != nil && !known.Spot {
			d.wrong(path+".spot", "take another size, or leave spot out", "%s is not sold as spot", p.Size)
		}
		if p.Spot != nil && p.Spot.MaxPrice != -1 && !(p.Spot.MaxPrice > 0 && p.Spot.MaxPrice < 1000) {
			d.wrong(path+".spot.maxPrice", "give -1, or dollars above 0, such as 0.05", "%v is no price", p.Spot.MaxPrice)
		}
		d.checkLabels(path, p)
		d.checkTaints(path, p)
	}
}

// kubeletLabels are labels below kubernetes.io that a kubelet may give its own node, beside those of two prefixes.
var kubeletLabels = []string{
	"kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch", "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
	"node.kubernetes.io/instance-type",
}

// own are labels that machines get from where they are.
var own = []string{"kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region", "node.kubernetes.io/instance-type"}

const mostLabels = 30 // with taints: each is a tag, of which Azure allows 50

func (d *decoder) checkLabels(path string, p *Pool) {
	for name, value := range p.Labels {
		at := path + ".labels." + name
		d.checkWord(at, name, value)
		space, _, _ := strings.Cut(name, "/")
		inside := func(of string) bool { return space == of || strings.HasSuffix(space, "."+of) }
		switch {
		case slices.Contains(own, name):
			d.wrong(at, "leave it out", "every machine gets it from where it is")
		case (inside("kubernetes.io") || inside("k8s.io")) && strings.Contains(name, "/") && !slices.Contains(kubeletLabels, name) &&
			!inside("kubelet.kubernetes.io") && !inside("node.kubernetes.io"):
			d.wrong(at, "give it another prefix, such as example.com/", "a kubelet may not give its node this label")
		}
	}
	if n := len(p.Labels) + len(p.Taints); n > mostLabels {
		d.wrong(path+".labels", fmt.Sprintf("give %d at most", mostLabels), "there are %d labels and taints, and each is a tag of the scale set", n)
	}
}

// checkWord holds a label, or a taint's key and value, to Kubernetes' rules.
func (d *decoder) checkWord(path, name, value string) {
	if said := validation.IsQualifiedName(name); len(said) > 0 {
		d.wrong(path, "give a name that Kubernetes allows, such as example.com/name", "%s is no such name", short(name))
	} else if said := validation.IsValidLabelValue(value); len(said) > 0 {
		d.wrong(path, "give up to 63 letters, digits, -, _ and .", "%s is no such value", short(value))
	}
}

// Taint takes key=value:Effect apart; the value may be empty, and then the = may be missing.
func Taint(text string) (name, value, effect string) {
	name, effect, _ = strings.Cut(text, ":")
	name, value, _ = strings.Cut(name, "=")
	return name, value, effect
}

func (d *decoder) checkTaints(path string, p *Pool) {
	seen := map[string]bool{}
	for i, text := range p.Taints {
		at := fmt.Sprintf("%s.taints[%d]", path, i)
		name, value, effect := Taint(text)
		if !slices.Contains([]string{"NoSchedule", "PreferNoSchedule", "NoExecute"}, effect) {
			d.wrong(at, "give key=value:NoSchedule, PreferNoSchedule or NoExecute", "%s has no such effect", short(text))
			continue
		}
		d.checkWord(at, name, value)
		if id := name + ":" + effect; seen[id] {
			d.wrong(at, "leave one out", "%s is there twice", short(id))
		} else {
			seen[id] = true
		}
	}
}
