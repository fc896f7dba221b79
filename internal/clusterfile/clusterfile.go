// Package clusterfile is the one file that describes a cluster, cluster.yaml: its types, its fields with their limits and defaults, and how it is read
// and written.
//
// A file is read strictly. [Parse] says all that is wrong at once, each problem in one sentence with its line, its field and what would do. The table
// [Fields] describes every field once: the checks, the JSON schema that editors complete by, the commented file of [Example] and the page
// docs/reference/cluster-file.md are made from it.
package clusterfile

// The version of the file that this package reads and writes.
const (
	APIVersion = "sluice.dev/v1alpha1"
	Kind       = "Cluster"
)

// File is a cluster as its operator describes it. What [Parse] returns without problems has every default filled in, and can be rendered.
type File struct {
	APIVersion    string            `json:"apiVersion"`
	Kind          string            `json:"kind"`
	Name          string            `json:"name"`
	Region        string            `json:"region"`
	ResourceGroup string            `json:"resourceGroup,omitempty"`
	Image         string            `json:"image,omitempty"`
	Distribution  Distribution      `json:"distribution"`
	Network       Network           `json:"network,omitzero"`
	Server        Server            `json:"server,omitzero"`
	Identity      Identity          `json:"identity,omitzero"`
	Secrets       string            `json:"secrets,omitempty"`
	SSH           SSH               `json:"ssh"`
	Storage       Storage           `json:"storage,omitzero"`
	Addons        Addons            `json:"addons,omitzero"`
	Mirror        string            `json:"mirror,omitempty"`
	Images        map[string]string `json:"images,omitempty"` // by digest, by their names with a tag
	Pools         []Pool            `json:"pools,omitempty"`
	Sluice        Sluice            `json:"sluice"`
}

// The values of fields that have a few.
const (
	K3s     = "k3s"
	Kubeadm = "kubeadm"

	Download  = "download"
	FromImage = "image"

	Flannel = "flannel"
	None    = "none"

	SystemAssigned = "system"
	UserAssigned   = "user"

	KeyVault    = "keyVault"
	SecretsFile = "file"

	Uniform  = "uniform"
	Flexible = "flexible"
)

// Distribution is what runs Kubernetes on the machines.
type Distribution struct {
	Kind    string `json:"kind"`
	Version string `json:"version"`
	Install string `json:"install,omitempty"`
	CNI     string `json:"cni,omitempty"`
}

// Network is where the machines are: made, or given by the id of a subnet.
type Network struct {
	SubnetID  string `json:"subnetId,omitempty"`  // "": the network is made
	Addresses string `json:"addresses,omitempty"` // "" with SubnetID
	Subnet    string `json:"subnet,omitempty"`
	Pods      string `json:"pods,omitempty"`
	Services  string `json:"services,omitempty"`
}

// Server is the machine of the control plane.
type Server struct {
	Size          string   `json:"size,omitempty"`
	Zone          string   `json:"zone,omitempty"` // "": in no zone
	Address       string   `json:"address,omitempty"`
	DataDiskGiB   int      `json:"dataDiskGiB,omitempty"`
	DataDiskType  string   `json:"dataDiskType,omitempty"`
	OSDiskGiB     int      `json:"osDiskGiB,omitempty"`
	PublicAddress bool     `json:"publicAddress,omitempty"`
	AllowFrom     []string `json:"allowFrom,omitempty"`
}

// Identity is who the server is in Azure. The agents have none.
type Identity struct {
	Kind string `json:"kind,omitempty"`
	ID   string `json:"id,omitempty"` // of a user-assigned identity that is there; "": it is made
}

// SSH is who may sign in to the machines.
type SSH struct {
	User      string `json:"user,omitempty"`
	PublicKey string `json:"publicKey"`
}

// Storage outlives the cluster: it is in a resource group of its own.
type Storage struct {
	ResourceGroup string  `json:"resourceGroup,omitempty"`
	Disks         []Disk  `json:"disks,omitempty"`
	Shares        []Share `json:"shares,omitempty"`
}

// Disk is a managed disk.
type Disk struct {
	Name    string `json:"name"`
	SizeGiB int    `json:"sizeGiB"`
	Type    string `json:"type,omitempty"`
	Zone    string `json:"zone,omitempty"`
}

// Share is a file share; all shares of a cluster are in one storage account.
type Share struct {
	Name    string `json:"name"`
	SizeGiB int    `json:"sizeGiB"`
}

// Addons are the parts of others that the server applies.
type Addons struct {
	CloudProvider bool `json:"cloudProvider"`
	AzureDisk     bool `json:"azureDisk"`
	AzureFile     bool `json:"azureFile"`
}

// Pool is machines that are alike: one scale set.
type Pool struct {
	Name          string            `json:"name"`
	Size          string            `json:"size"`
	Min           int               `json:"min"`
	Max           int               `json:"max"`
	Zones         []string          `json:"zones,omitempty"`
	Orchestration string            `json:"orchestration,omitempty"`
	Labels        map[string]string `json:"labels,omitempty"`
	Taints        []string          `json:"taints,omitempty"` // key=value:Effect
	Image         string            `json:"image,omitempty"`  // "" is that of the file
	OSDiskGiB     int               `json:"osDiskGiB,omitempty"`
	OSDiskType    string            `json:"osDiskType,omitempty"`
	Spot          *Spot             `json:"spot,omitempty"` // nil: regular machines
	PublicAddress bool              `json:"publicAddress,omitempty"`
}

// Spot says that machines are spare capacity, which Azure takes back.
type Spot struct {
	MaxPrice float64 `json:"maxPrice,omitempty"`
}

// Sluice is the autoscaler itself.
type Sluice struct {
	Image    string            `json:"image"`
	Settings map[string]string `json:"settings,omitempty"` // by the names of flags, without dashes
}
