package azure

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sluice.dev/sluice/internal/azure/config"
	"sluice.dev/sluice/internal/imds"
)

// Options say which scale sets are managed and how Azure is reached. The zero value of every field is ready for a machine of the
// cluster with a managed identity: what Config leaves open is asked of instance metadata, and groups are found by their tags.
type Options struct {
	config.Config // what azure.json and the environment say

	Groups    []GroupSpec // named scale sets; they win over discovery
	Discovery []Discovery // all of them must match a scale set's tags

	// ManageAutoscaled and ManageAKS take scale sets that are refused else: those that a platform autoscale setting drives, and those
	// that AKS owns.
	ManageAutoscaled, ManageAKS bool

	// The endpoints without a trailing slash; "" means those of the cloud. Plain http is for simulators: it is allowed for loopback
	// hosts only, and for MetadataEndpoint, which is plain by nature.
	ResourceManagerEndpoint string
	AuthorityHost           string
	MetadataEndpoint        string

	// Transport carries all traffic, metadata and identity included; nil means connections of the package's own. Metadata is
	// never asked through a proxy unless Transport does so.
	Transport http.RoundTripper

	// APIShare is the share of Azure's published request limits, of the subscription's and of each resource's, that this process may spend;
	// 0 means 0.5, and 1 all of it. See [Provider.Budget].
	APIShare float64

	Now func() time.Time // nil means time.Now
	Log *slog.Logger     // nil discards
}

// The usual and the least share of Azure's limits. With less than the least a scale set's machines would not be listed every few minutes.
const (
	defaultShare = 0.5
	leastShare   = 0.01
)

// Identity is who asks Azure; see [config.Identity].
type Identity = config.Identity

const (
	publicManagement = "https://management.azure.com"
	publicAuthority  = "https://login.microsoftonline.com"
)

// withDefaults fills what is empty and refuses what cannot work.
func (o Options) withDefaults() (Options, error) {
	if len(o.Groups) == 0 && len(o.Discovery) == 0 {
		return o, fmt.Errorf("no node group is named: give --nodes=min:max:name or --node-group-auto-discovery=label:tag=value")
	}
	seen := map[string]bool{}
	for _, g := range o.Groups {
		key := strings.ToLower(g.Name)
		if seen[key] {
			return o, fmt.Errorf("--nodes names scale set %q twice: give it once", g.Name)
		}
		seen[key] = true
	}
	for _, e := range []struct {
		field string
		value *string
		usual string
		plain bool
	}{
		{"resource manager endpoint", &o.ResourceManagerEndpoint, publicManagement, false},
		{"authority host", &o.AuthorityHost, publicAuthority, false},
		{"metadata endpoint", &o.MetadataEndpoint, imds.DefaultEndpoint, true},
	} {
		if *e.value == "" {
			*e.value = e.usual
		}
		*e.value = strings.TrimSuffix(*e.value, "/")
		if err := checkEndpoint(*e.value, e.plain); err != nil {
			return o, fmt.Errorf("%s %q: %w", e.field, *e.value, err)
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.CacheTTL == 0 {
		o.CacheTTL = time.Minute
	}
	if o.APIShare == 0 {
		o.APIShare = defaultShare
	}
	if !(o.APIShare >= leastShare && o.APIShare <= 1) {
		return o, fmt.Errorf("--azure-api-share=%v: give 0.01 to 1, such as 0.5", o.APIShare)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, check(o.Identity)
}

// checkEndpoint keeps tokens off wires that others can read.
func checkEndpoint(endpoint string, plain bool) error {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil || u.Host == "":
		return fmt.Errorf("must be a URL such as %s", publicManagement)
	case u.Scheme == "https", u.Scheme == "http" && (plain || loopback(u.Hostname())):
		return nil
	default:
		return fmt.Errorf("must be https; plain http is for a simulator on a loopback address")
	}
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
