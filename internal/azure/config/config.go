// Package config reads where sluice runs and who it is: azure.json, the file that cloud-provider-azure, the CSI drivers and
// cluster-autoscaler share (--cloud-config), and the environment variables of cluster-autoscaler's Azure provider.
//
// Of several sources the later wins: defaults, the file, older names of keys in the file, the environment. A blank value is absent. Every
// key that those programs know stands in one table, [Settings]: it is honoured, refused with the reason, or accepted because it is
// somebody else's. The package parses and checks; it asks nobody, and reads no file by itself.
package config

import (
	"fmt"
	"strings"
	"time"
)

// Config is what the file and the environment say. The zero Config is what an empty file says: every zero field means its default.
type Config struct {
	// Cloud is the cloud's canonical name, or as the file spells it when it is none of [KnownCloud]; "" is asked of instance metadata.
	Cloud           string
	EnvironmentFile string // path of a custom cloud's endpoints in JSON
	EndpointsFrom   string // Resource Manager endpoint that is asked for the cloud's other endpoints; "" without
	Location        string // such as "westeurope"; "" is asked of instance metadata
	Subscription    string // "" is asked of instance metadata
	ResourceGroup   string // of the machines; "" is asked of instance metadata
	Identity        Identity

	// IdentityEndpoint and IdentityHeader are where managed identities get tokens when it is not instance metadata; both or neither.
	IdentityEndpoint string
	IdentityHeader   Secret

	VMType               string // as given, in lower case; "" when it is not
	Kind                 Kind
	Deployment           string         // of Standard: the deployment that is replayed to grow
	DeploymentParameters map[string]any // of Standard: name to {"value": ...}; nil is read from [ParametersFile]
	MaxDeployments       int            // of Standard: finished deployments of sluice's own that are kept; 0 means 10
	RefuseFlexible       bool           // enableVmssFlexNodes is given, as false
	AdmitFlexible        bool           // it is given, as true
	ForceDelete          bool           // delete machines by force
	DynamicInstanceList  bool           // ask the SKU API for sizes
	NoLabelPredictions   bool           // enableLabelPredictionsOnTemplate is given, as false

	CacheTTL            time.Duration // how old a served model of a scale set may be; 0 means 60 s
	InstanceCacheTTL    time.Duration // how old a served list of machines may be; 0 means CacheTTL, or longer for a steady group
	InstanceCacheJitter time.Duration // a list is renewed up to this much earlier, each group by another share of it
	SizeRefresh         time.Duration // how old a served capacity of a spot scale set may be; 0 means CacheTTL
	Backoff             Backoff
	RateLimit           RateLimit

	NewestVersions  bool   // disableAzureStackCloud: Azure Stack Hub is asked with the newest api-versions
	UserAgentSuffix string // added to the name that Azure's logs show

	// Notes are sentences about what was accepted and has no effect or another one than its writer may expect, in the order of the
	// table. They hold no secret.
	Notes []string
}

// Kind is what node groups are made of.
type Kind string

// The kinds.
const (
	ScaleSets Kind = ""         // vmType vmss
	Standard  Kind = "standard" // availability sets, grown by replaying a deployment
)

// ParametersFile is where the parameters of the deployment are when the configuration has none: under the key "parameters".
const ParametersFile = "/var/lib/azure/azuredeploy.parameters.json"

// Backoff is cloudProviderBackoff and what belongs to it, checked and without effect. Zero fields mean 6 retries,
// exponent 1.5, 5 s, jitter 1.0.
type Backoff struct {
	Enabled  bool
	Retries  int
	Exponent float64
	Duration time.Duration
	Jitter   float64
}

// RateLimit is cloudProviderRateLimit and what belongs to it: limits of the operator's own, which hold when Enabled. Zero fields mean 1
// request a second and 5 at once, for reads and for writes.
type RateLimit struct {
	Enabled               bool
	ReadQPS, WriteQPS     float64
	ReadBurst, WriteBurst int

	// Clients are limits for one kind of resource, by the key without "RateLimit": "virtualMachineScaleSet". They stand in for the
	// general ones as a whole. nil without.
	Clients map[string]RateLimit
}

// Identity is who asks Azure. The zero Identity is the machine's system-assigned one. Of several credentials the first given counts: a
// federated token, a managed identity, a secret, a certificate.
type Identity struct {
	CLI bool // whoever has signed in to Microsoft's az on this machine, and nothing of what follows

	UserAssigned string // client id or resource id of a user-assigned managed identity

	// An application: Tenant and Client, and one of the other three. Tenant is "adfs" where the authority is AD FS.
	Tenant, Client      string
	TokenFile           string // path of a federated token; read again for each token
	Secret              Secret
	CertificateFile     string // path of a PKCS#12 or PEM file with certificate, chain and key
	CertificatePassword Secret
}

// Application says whether the identity is one of an application, and not of the machine or of az.
func (i Identity) Application() bool {
	return !i.CLI && (i.Tenant != "" || i.Client != "" || i.Secret != "")
}

// ResourceID says whether UserAssigned is a resource id; else it is a client id.
func (i Identity) ResourceID() bool {
	return strings.Contains(strings.ToUpper(i.UserAssigned), "/SUBSCRIPTIONS/")
}

// String names the identity without its secrets.
func (i Identity) String() string {
	switch {
	case i.CLI:
		return "whoever is signed in to az"
	case i.TokenFile != "":
		return fmt.Sprintf("application %s of tenant %s by federated token", i.Client, i.Tenant)
	case i.Application():
		return fmt.Sprintf("service principal %s of tenant %s", i.Client, i.Tenant)
	case i.ResourceID():
		return "the user-assigned identity " + i.UserAssigned
	case i.UserAssigned != "":
		return "the user-assigned identity with client id " + i.UserAssigned
	}
	return "the machine's managed identity"
}

// Secret is a value that no text shows: it formats, marshals and logs as "(secret)". Convert it to a string to use it.
type Secret string

const hidden = "(secret)"

// String is never the secret.
func (s Secret) String() string { return hidden }

// Format is never the secret, whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hidden)) }

// MarshalText is never the secret.
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
