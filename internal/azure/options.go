package azure

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/internal/azure/config"
	"sluice.dev/sluice/internal/imds"
	"sluice.dev/sluice/internal/ledger"
	"sluice.dev/sluice/setting"
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

	// The endpoints without a trailing slash, from --azure-resource-manager-endpoint, --azure-authority-host and
	// --azure-metadata-endpoint; "" means those of the cloud. Plain http is for simulators: it is allowed for loopback
	// hosts only, and for MetadataEndpoint, which is plain by nature.
	ResourceManagerEndpoint string
	AuthorityHost           string
	MetadataEndpoint        string

	// Transport carries all traffic, metadata and identity included; nil means connections of the package's own. Metadata is
	// never asked through a proxy unless Transport does so.
	Transport http.RoundTripper

	// APIShare is the share of Azure's published request limits, of those that the whole subscription shares, that this process may spend;
	// 0 means the default of --azure-api-share, and 1 all of it. See [Provider.Budget].
	APIShare float64

	// PricesFile is the operator's own prices, as docs/reference/catalog.md describes them; "" for none. RetailPrices lets Azure's public price list
	// be asked as well, at RetailPricesEndpoint, "" meaning the public one: https, but for a simulator on a loopback address.
	PricesFile           string
	RetailPrices         bool
	RetailPricesEndpoint string

	// ReadOnly keeps every write from Azure (S-24): what an earlier process has left unfinished stays so, and SetCapacity and
	// DeleteInstances are refused.
	ReadOnly bool

	// Runner runs what is asked beside those who ask; nil means goroutines.
	Runner Runner

	// Unique names deployments, each otherwise than all before; nil means random names. A simulation has them the same each time.
	Unique func() string

	// Ahead is called before a write is sent, and should have [Provider.SaveOperations] kept, so that a process that comes after one that was killed
	// before it heard the answer knows of it (S-40). No write is sent after [ErrAccompanied], and no removal after any other error; a nil func keeps nothing.
	Ahead func(context.Context) error

	// Ledger is told what Azure says of machines, and what it was asked to do to them, and says how they are shown. Nil means one that nobody else writes to.
	Ledger *ledger.Book

	// Whole has Groups wait for all answers, however long they take: for a command that reads once.
	Whole bool

	Now func() time.Time // nil means time.Now
	Log *slog.Logger     // nil discards

	self string // the vmId of the machine that sluice runs on, "" when nobody knows

	where config.Cloud // once [Options.find] has found it
}

// leastShare is the least share of Azure's limits. With less a scale set's machines would not be listed every few minutes.
const leastShare = 0.01

// Identity is who asks Azure; see [config.Identity].
type Identity = config.Identity

// publicManagement is an example of an endpoint.
const publicManagement = "https://management.azure.com"

// tagged are the groups of a configuration that names none.
var tagged = Discovery{Tags: map[string]string{"cluster-autoscaler-enabled": "true"}}

// withDefaults fills what is empty and refuses what cannot work.
func (o Options) withDefaults() (Options, error) {
	if o.Kind == config.Standard && len(o.Discovery) > 0 {
		return o, fmt.Errorf("--node-group-auto-discovery finds scale sets by their tags: with vmType standard give --nodes=min:max:pool instead")
	}
	seen := map[string]bool{}
	for _, g := range o.Groups {
		key := strings.ToLower(g.Name)
		if seen[key] {
			return o, fmt.Errorf("--nodes names scale set %q twice: give it once", g.Name)
		}
		seen[key] = true
		if o.Kind == config.Standard && g.Min < 1 {
			return o, fmt.Errorf("--nodes=%d:%d:%s: with vmType standard min must be at least 1, since a new machine is modelled on one that is there", g.Min, g.Max, g.Name)
		}
	}
	o.MetadataEndpoint = cmp.Or(o.MetadataEndpoint, imds.DefaultEndpoint)
	o.RetailPricesEndpoint = cmp.Or(o.RetailPricesEndpoint, publicPrices)
	for _, e := range []struct {
		flag    string
		value   *string
		plain   bool
		example string
	}{
		{"azure-resource-manager-endpoint", &o.ResourceManagerEndpoint, false, publicManagement},
		{"azure-authority-host", &o.AuthorityHost, false, "https://login.microsoftonline.com"},
		{"azure-metadata-endpoint", &o.MetadataEndpoint, true, imds.DefaultEndpoint},
		{"retail-prices-endpoint", &o.RetailPricesEndpoint, false, publicPrices},
	} {
		*e.value = strings.TrimSuffix(*e.value, "/")
		if *e.value == "" {
			continue
		}
		if err := checkEndpoint(*e.value, e.plain, e.example); err != nil {
			return o, fmt.Errorf("--%s=%s: it %w", e.flag, *e.value, err)
		}
	}
	if u, err := url.Parse(o.IdentityEndpoint); o.IdentityEndpoint != "" && (err != nil || u.Scheme != "https" && !nearby(u.Hostname())) {
		return o, fmt.Errorf("IDENTITY_ENDPOINT=%s: it must be https, or a loopback or link-local address", o.IdentityEndpoint)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Ledger == nil {
		o.Ledger = ledger.New(fleet.Usual(), o.Now)
	}
	if o.Runner == nil {
		o.Runner = goroutines{}
	}
	if o.CacheTTL == 0 {
		o.CacheTTL = time.Minute
	}
	if o.APIShare == 0 {
		setting.Find("azure-api-share").Fill(&o.APIShare)
	}
	if !(o.APIShare >= leastShare && o.APIShare <= 1) {
		return o, fmt.Errorf("--azure-api-share=%v: give 0.01 to 1, such as 0.5", o.APIShare)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if len(o.Groups) == 0 && len(o.Discovery) == 0 {
		if o.Kind == config.Standard {
			return o, fmt.Errorf("no node group is named: with vmType standard give --nodes=min:max:pool, since availability sets have no sizes in tags")
		}
		o.Discovery = []Discovery{tagged}
		o.Log.Info("neither --nodes nor --node-group-auto-discovery is given: node groups are the scale sets with the tag cluster-autoscaler-enabled=true and the tags min and max")
	}
	return o, check(o.Identity)
}

// checkEndpoint keeps tokens off wires that others can read. The example is for who wrote no URL.
func checkEndpoint(endpoint string, plain bool, example string) error {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil || u.Host == "":
		return fmt.Errorf("must be a URL such as %s", example)
	case u.Scheme == "https", u.Scheme == "http" && (plain || loopback(u.Hostname())):
		return nil
	default:
		return fmt.Errorf("must be https; plain http is for a simulator on a loopback address")
	}
}

// nearby says whether what goes to the host stays on this machine.
func nearby(host string) bool {
	ip := net.ParseIP(host)
	return loopback(host) || ip != nil && ip.IsLinkLocalUnicast()
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
