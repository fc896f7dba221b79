package clusterfile

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

// Field describes one field of the file. The zero value of a column says that the field has no such thing.
type Field struct {
	Path     string // such as "pools[].size"; "pools[]" is an item of a list
	Doc      string // one sentence or two
	Default  string // as one writes it
	Required bool

	OneOf       []string // the only values
	Form        form     // how a text looks
	Least, Most int      // of numbers; both 0: any
	Such        string   // an example, for the remedy and for editors
}

// form is a pattern of texts, and how people say it.
type form struct {
	pattern string
	says    string
}

func (f form) matches(text string) bool {
	return f.pattern == "" || compiled[f.pattern].MatchString(text)
}

// The forms. Azure's naming rules and Kubernetes' are the narrower of both where a name ends up in both.
var (
	clusterName   = form{`^[a-z]([a-z0-9-]{0,28}[a-z0-9])?$`, "give 1 to 30 of a-z, 0-9 and -, beginning with a letter and not ending with -"}
	poolName      = form{`^[a-z]([a-z0-9-]{0,18}[a-z0-9])?$`, "give 1 to 20 of a-z, 0-9 and -, beginning with a letter and not ending with -"}
	groupName     = form{`^[A-Za-z0-9_().-]{0,89}[A-Za-z0-9_()-]$`, "give 1 to 90 letters, digits, -, _, ( and ), with . inside"}
	regionName    = form{`^[a-z][a-z0-9]{2,39}$`, "give the short name of a region"}
	diskName      = form{`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,78}[A-Za-z0-9_])?$`, "give 1 to 80 letters, digits, -, _ and ."}
	shareName     = form{`^[a-z0-9](-?[a-z0-9]){2,62}$`, "give 3 to 63 of a-z, 0-9 and single -"}
	sizeName      = form{`^[A-Z][A-Za-z0-9]*(_[A-Za-z0-9-]+)+$`, "give a size as Azure spells it"}
	userName      = form{`^[a-z_][a-z0-9_-]{0,30}$`, "give up to 31 of a-z, 0-9, - and _, beginning with a letter"}
	imageName     = form{`^([A-Za-z0-9_.-]+(:[A-Za-z0-9_.-]+){3}|/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Compute/(images/[^/]+|galleries/[^/]+/images/[^/]+(/versions/[^/]+)?))$`, "give PUBLISHER:OFFER:SKU:VERSION, or the id of an image"}
	containerName = form{`^[a-z0-9]([a-zA-Z0-9./:_-]*[a-zA-Z0-9])?(@sha256:[0-9a-f]{64})?$`, "give the name of a container image"}
	mirrorName    = form{`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?(/[a-zA-Z0-9._-]+)*$`, "give host, port and path without https:// and without / at the end"}
	subnetForm    = form{`^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Network/virtualNetworks/[^/]+/subnets/[^/]+$`, "give the resource id of a subnet"}
	identityForm  = form{`^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.ManagedIdentity/userAssignedIdentities/[^/]+$`, "give the resource id of a user-assigned identity"}
)

// compiled are the patterns of the table; a bad one fails every test.
var compiled = map[string]*regexp.Regexp{}

func init() {
	for _, f := range Fields {
		if f.Form.pattern != "" {
			compiled[f.Form.pattern] = regexp.MustCompile(f.Form.pattern)
		}
	}
}

var (
	diskTypes = []string{"Standard_LRS", "StandardSSD_LRS", "Premium_LRS", "PremiumV2_LRS"}
	osTypes   = diskTypes[:3] // no machine starts from a disk of Premium version 2
	zoneNames = []string{"1", "2", "3"}
)

// DefaultImage is the image of machines that get their binaries by download; with arm64 it is its own offer's other SKU.
const DefaultImage = "Canonical:ubuntu-24_04-lts:server:latest"

// Fields is every field of the file, in its order.
var Fields = []Field{
	{Path: "apiVersion", Doc: "Version of this file.", Required: true, OneOf: []string{APIVersion}},
	{Path: "kind", Doc: "What the file describes.", Required: true, OneOf: []string{Kind}},
	{Path: "name", Doc: "Name of the cluster; names of its resources begin with it.", Required: true, Form: clusterName, Such: "render"},
	{Path: "region", Doc: "Azure region of all resources.", Required: true, Form: regionName, Such: "westeurope"},
	{Path: "resourceGroup", Doc: "Resource group of the machines. Its default is the name of the cluster.", Form: groupName, Such: "render"},
	{Path: "image", Doc: "Image of the machines: PUBLISHER:OFFER:SKU:VERSION or the id of an image. It has systemd and cloud-init.",
		Default: DefaultImage, Form: imageName, Such: DefaultImage},

	{Path: "distribution", Doc: "What runs Kubernetes on the machines.", Required: true},
	{Path: "distribution.kind", Doc: "k3s or kubeadm.", Required: true, OneOf: []string{K3s, Kubeadm}},
	{Path: "distribution.version", Doc: "Release, as its publisher names it.", Required: true, Such: "v1.36.3+k3s1"},
	{Path: "distribution.install", Doc: "Where binaries come from: download with a checksum, or the image has them, and containerd and the kernel set up.", Default: Download,
		OneOf: []string{Download, FromImage}},
	{Path: "distribution.cni", Doc: "Network of the pods. With none you install one; k3s brings flannel.", Default: Flannel, OneOf: []string{Flannel, None}},

	{Path: "network", Doc: "Where machines, pods and services have their addresses."},
	{Path: "network.subnetId", Doc: "Resource id of a subnet that is there. Without it a network is made.", Form: subnetForm,
		Such: "/subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.Network/virtualNetworks/NAME/subnets/NAME"},
	{Path: "network.addresses", Doc: "Range of the network that is made.", Default: "10.10.0.0/16", Such: "10.10.0.0/16"},
	{Path: "network.subnet", Doc: "Range of the machines' subnet; with subnetId its range, which check and up read from Azure.", Default: "10.10.0.0/20", Such: "10.10.0.0/20"},
	{Path: "network.pods", Doc: "Range of the pods: a /24 of it for each node.", Default: "10.42.0.0/16", Such: "10.42.0.0/16"},
	{Path: "network.services", Doc: "Range of the services.", Default: "10.43.0.0/16", Such: "10.43.0.0/16"},

	{Path: "server", Doc: "The machine of the control plane."},
	{Path: "server.size", Doc: "Size of the machine.", Default: "Standard_D2s_v5", Form: sizeName, Such: "Standard_D2s_v5"},
	{Path: "server.zone", Doc: "Availability zone; without it the machine is in none.", OneOf: zoneNames},
	{Path: "server.address", Doc: "Private address. Its default is the first that Azure gives in the subnet.", Such: "10.10.0.4"},
	{Path: "server.dataDiskGiB", Doc: "Disk of the cluster's data: etcd or the folder of K3s.", Default: "64", Least: 4, Most: 32767},
	{Path: "server.dataDiskType", Doc: "Kind of this disk. Sizes without premium storage need StandardSSD_LRS.", Default: "Premium_LRS", OneOf: diskTypes},
	{Path: "server.osDiskGiB", Doc: "Disk of the operating system.", Default: "64", Least: 30, Most: 4095},
	{Path: "server.publicAddress", Doc: "Whether the server has a public address.", Default: "false"},
	{Path: "server.allowFrom", Doc: "Ranges from which SSH and the API server (6443) may be reached; the network itself always may."},
	{Path: "server.allowFrom[]", Doc: "An IPv4 range.", Such: "203.0.113.0/24"},

	{Path: "identity", Doc: "Who the server is in Azure: sluice and the cloud controller use this identity."},
	{Path: "identity.kind", Doc: "system is the server's own; user is one of its own, made here or given by id.", Default: SystemAssigned,
		OneOf: []string{SystemAssigned, UserAssigned}},
	{Path: "identity.id", Doc: "Resource id of a user-assigned identity that is there.", Form: identityForm,
		Such: "/subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.ManagedIdentity/userAssignedIdentities/NAME"},
	{Path: "secrets", Doc: "Where the server finds the key by which machines join: a Key Vault that is made, or a file that you put on it.",
		Default: KeyVault, OneOf: []string{KeyVault, SecretsFile}},

	{Path: "ssh", Doc: "Who may sign in to the machines.", Required: true},
	{Path: "ssh.user", Doc: "Name of the user that is made.", Default: "sluice", Form: userName, Such: "sluice"},
	{Path: "ssh.publicKey", Doc: "Public key, as in id_ed25519.pub.", Required: true, Such: "ssh-ed25519 AAAA... you@example"},

	{Path: "storage", Doc: "Disks and shares that outlive the cluster, in a resource group of their own."},
	{Path: "storage.resourceGroup", Doc: "Their resource group, which up makes. Its default is the cluster's with -storage.", Form: groupName,
		Such: "render-storage"},
	{Path: "storage.disks", Doc: "Managed disks."},
	{Path: "storage.disks[].name", Doc: "Name of the disk.", Required: true, Form: diskName, Such: "assets"},
	{Path: "storage.disks[].sizeGiB", Doc: "Size of the disk.", Required: true, Least: 1, Most: 32767},
	{Path: "storage.disks[].type", Doc: "Kind of the disk.", Default: "Premium_LRS", OneOf: diskTypes},
	{Path: "storage.disks[].zone", Doc: "Availability zone; machines of other zones cannot attach the disk.", OneOf: zoneNames},
	{Path: "storage.shares", Doc: "File shares, in one storage account that is made."},
	{Path: "storage.shares[].name", Doc: "Name of the share.", Required: true, Form: shareName, Such: "frames"},
	{Path: "storage.shares[].sizeGiB", Doc: "Quota of the share.", Required: true, Least: 1, Most: 102400},

	{Path: "addons", Doc: "Parts of others that the server applies."},
	{Path: "addons.cloudProvider", Doc: "cloud-provider-azure: nodes' addresses and zones, load balancers.", Default: "true"},
	{Path: "addons.azureDisk", Doc: "The CSI driver of managed disks, with the storage class managed-csi.", Default: "true"},
	{Path: "addons.azureFile", Doc: "The CSI driver of file shares, with the storage class azurefile-csi, whose files others than owner and fsGroup cannot read.", Default: "false"},

	{Path: "mirror", Doc: "Host, port and path that stand before every download and every image, for clusters without a way out. " +
		"Below it downloads and images have their own host and path.", Form: mirrorName, Such: "mirror.example:5000"},

	{Path: "images", Doc: "Images by digest, in the place of those by tag that sluice cluster render --images lists.",
		Such: "ghcr.io/flannel-io/flannel:v0.28.4: ghcr.io/flannel-io/flannel@sha256:..."},

	{Path: "pools", Doc: "Machines that sluice adds and removes: a scale set each."},
	{Path: "pools[].name", Doc: "Name of the pool.", Required: true, Form: poolName, Such: "agents"},
	{Path: "pools[].size", Doc: "Size of the machines.", Required: true, Form: sizeName, Such: "Standard_D4s_v5"},
	{Path: "pools[].min", Doc: "Fewest machines.", Default: "0", Most: 1000},
	{Path: "pools[].max", Doc: "Most machines.", Required: true, Least: 1, Most: 1000},
	{Path: "pools[].zones", Doc: "Availability zones; without them the machines are in none."},
	{Path: "pools[].zones[]", Doc: "A zone.", OneOf: zoneNames},
	{Path: "pools[].orchestration", Doc: "Mode of the scale set.", Default: Uniform, OneOf: []string{Uniform, Flexible}},
	{Path: "pools[].labels", Doc: "Labels of the nodes.", Such: "dedicated: render"},
	{Path: "pools[].taints", Doc: "Taints of the nodes."},
	{Path: "pools[].taints[]", Doc: "A taint as key=value:Effect.", Such: "dedicated=render:NoSchedule"},
	{Path: "pools[].image", Doc: "Image of the pool's machines, where it is another one than the file's.", Form: imageName, Such: DefaultImage},
	{Path: "pools[].osDiskGiB", Doc: "Disk of the operating system.", Default: "64", Least: 30, Most: 4095},
	{Path: "pools[].osDiskType", Doc: "Kind of this disk.", Default: "StandardSSD_LRS", OneOf: osTypes},
	{Path: "pools[].spot", Doc: "Spot machines, which Azure takes back; {} is enough."},
	{Path: "pools[].spot.maxPrice", Doc: "Most that an hour of a machine may cost, in USD; -1 is the price of a regular one.", Default: "-1"},
	{Path: "pools[].publicAddress", Doc: "Whether each machine has a public address.", Default: "false"},

	{Path: "sluice", Doc: "The autoscaler itself, which runs as a pod on the server.", Required: true},
	{Path: "sluice.image", Doc: "Image of sluice, as your registry has it.", Required: true, Form: containerName, Such: "registry.example/sluice:v0.1.0"},
	{Path: "sluice.settings", Doc: "Settings of sluice run, by the names of its flags.", Such: "scale-down-unneeded-time: 10m"},
}

// Values says what a field takes, "" where its kind says it all.
func (f *Field) Values() string {
	switch {
	case len(f.OneOf) > 0:
		return strings.Join(f.OneOf, ", ")
	case f.Most > 0:
		return fmt.Sprintf("%d to %d", f.Least, f.Most)
	}
	return strings.TrimPrefix(f.Form.says, "give ")
}

// refused are fields that somebody may expect, with the reason why they are not there.
var refused = map[string][2]string{
	"server.count": {"this version of sluice makes one server", "leave it out"},
	"nodes":        {"there is no such field", "describe machines in pools"},
}

// described finds the row of a field; index is the path without numbers.
var described = func() map[string]*Field {
	all := map[string]*Field{}
	for i := range Fields {
		all[Fields[i].Path] = &Fields[i]
	}
	return all
}()

// key is the name of a struct's field in the file.
func key(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// join is the path of a field below another.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
