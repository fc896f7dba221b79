package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azure/config"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/policy"
)

// settings are the flags that every verb shares which looks at a live cluster.
type settings struct {
	kubeconfig  string
	kubernetes  string
	contentType string
	userAgent   string
	qps         float64
	burst       int
	provider    string
	cloudConfig string
	nodes       []string
	discovery   []string

	manageAutoscaled, manageAKS bool

	apiShare float64

	pricesFile           string
	retailPrices         bool
	retailPricesEndpoint string

	endpoints endpoints

	policy func() (*policy.Policy, error)

	log logging

	overrides clientcmd.ConfigOverrides // of the kubeconfig, by kubectl's flags
}

// logging says how much is logged, and how.
type logging struct {
	verbosity int
	format    string // text or json
}

// endpoints are where Azure is asked, "" for the cloud's own.
type endpoints struct{ manager, authority, metadata string }

func (e endpoints) give(o *azure.Options) {
	o.ResourceManagerEndpoint, o.AuthorityHost, o.MetadataEndpoint = e.manager, e.authority, e.metadata
}

// add declares the flags. Their names and meanings are cluster-autoscaler's where it has them.
func (s *settings) add(f *pflag.FlagSet) {
	s.addCommon(f)
	app.Bind(f, map[string]any{
		"cloud-provider": &s.provider, "cloud-config": &s.cloudConfig, "nodes": &s.nodes, "node-group-auto-discovery": &s.discovery,
		"azure-api-share": &s.apiShare, "manage-autoscaled-scale-sets": &s.manageAutoscaled, "manage-aks-scale-sets": &s.manageAKS,
		"prices-file": &s.pricesFile, "retail-prices": &s.retailPrices, "retail-prices-endpoint": &s.retailPricesEndpoint,
		"azure-resource-manager-endpoint": &s.endpoints.manager, "azure-authority-host": &s.endpoints.authority,
	})

	s.policy = app.PolicyFlags(f)
}

// addCommon declares where the cluster and this machine are found, and what is logged.
func (s *settings) addCommon(f *pflag.FlagSet) {
	app.Bind(f, map[string]any{
		"kubeconfig": &s.kubeconfig, "kubernetes": &s.kubernetes, "kube-api-content-type": &s.contentType, "kube-client-qps": &s.qps,
		"kube-client-burst": &s.burst, "user-agent": &s.userAgent, "azure-metadata-endpoint": &s.endpoints.metadata, "v": &s.log.verbosity,
		"log-format": &s.log.format,
	})
}

// azure reads where the groups are and who asks: flags first, then the environment, then --cloud-config; the rest is asked of
// instance metadata later.
func (s *settings) azure(log *slog.Logger) (azure.Options, error) {
	o := azure.Options{ManageAutoscaled: s.manageAutoscaled, ManageAKS: s.manageAKS}
	var file []byte
	var err error
	if s.cloudConfig != "" {
		if file, err = os.ReadFile(s.cloudConfig); err != nil {
			return o, fmt.Errorf("--cloud-config=%s: it cannot be read (%w); give the path of an azure.json, or none", s.cloudConfig, errors.Unwrap(err))
		}
	}
	if o.Config, err = config.Parse(file, s.cloudConfig, os.Getenv); err != nil {
		return o, err
	}
	for _, v := range s.nodes {
		g, err := azure.ParseGroup(v)
		if err != nil {
			return o, err
		}
		o.Groups = append(o.Groups, g)
	}
	for _, v := range s.discovery {
		d, err := azure.ParseDiscovery(v)
		if err != nil {
			return o, err
		}
		o.Discovery = append(o.Discovery, d)
	}
	s.endpoints.give(&o)
	o.PricesFile, o.RetailPrices, o.RetailPricesEndpoint = s.pricesFile, s.retailPrices, s.retailPricesEndpoint
	if o.APIShare = s.apiShare; o.APIShare == 0 {
		return o, errors.New("--azure-api-share=0: give 0.01 to 1, such as 0.5")
	}
	o.Log = log
	return o, nil
}

// client reads where the API server is. The error names a kubeconfig that could say so and cannot be read.
func (s *settings) client() (config clientcmd.ClientConfig, hidden error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = s.kubeconfig
	hidden = orUsual(rules, s.kubernetes)
	rules.WarnIfAllMissing = false // it is the error below
	overrides := s.overrides
	overrides.ClusterInfo = api.Cluster{Server: s.kubernetes}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &overrides), hidden
}

// kube finds the API server.
func (s *settings) kube() (*rest.Config, error) {
	if err := s.checkOverrides(); err != nil {
		return nil, err
	}
	config, hidden := s.client()
	c, err := config.ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err) && hidden != nil:
		return nil, hidden
	case clientcmd.IsEmptyConfig(err) && s.kubeconfig == "":
		return nil, app.ErrNoCluster
	case clientcmd.IsEmptyConfig(err):
		return nil, fmt.Errorf("--kubeconfig=%s: it names no API server; give the path of one that does", s.kubeconfig)
	case err != nil && s.kubeconfig != "":
		return nil, fmt.Errorf("--kubeconfig=%s: %w; give the path of a kubeconfig whose current context names an API server", s.kubeconfig, err)
	case err != nil:
		return nil, fmt.Errorf("find the API server: %w; correct the kubeconfig, or give another with --kubeconfig", err)
	}
	c.UserAgent = cmp.Or(s.userAgent, "sluice/"+version)
	c.QPS, c.Burst = float32(s.qps), s.burst
	switch c.ContentType = s.contentType; s.contentType {
	case runtime.ContentTypeJSON:
	case runtime.ContentTypeProtobuf:
		c.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	default:
		return nil, fmt.Errorf("--kube-api-content-type=%s: give %s or %s", s.contentType, runtime.ContentTypeJSON, runtime.ContentTypeProtobuf)
	}
	return c, nil
}

// logger writes to w what is of a level, or of all levels when -v asks for it.
func (s *settings) logger(w io.Writer, level slog.Level) (*slog.Logger, error) {
	o := &slog.HandlerOptions{Level: level}
	if s.log.verbosity >= 4 {
		o.Level = slog.LevelDebug
	}
	switch s.log.format {
	case "text":
		return slog.New(slog.NewTextHandler(w, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, o)), nil
	}
	return nil, fmt.Errorf("--log-format=%s: give text or json", s.log.format)
}

// into moves the flags into options. The log goes to stderr, from a level on.
func (s *settings) into(o *app.Options, stderr io.Writer, level slog.Level) error {
	if err := s.butKube(o, stderr, level); err != nil {
		return err
	}
	var err error
	o.Kube, err = s.kube()
	return err
}

// butKube moves all flags into options but those that say where the API server is.
func (s *settings) butKube(o *app.Options, stderr io.Writer, level slog.Level) error {
	if s.provider != "azure" {
		return fmt.Errorf("--cloud-provider=%s: give azure: sluice knows the node groups of no other cloud", s.provider)
	}
	var err error
	if o.Log, err = s.logger(stderr, level); err != nil {
		return err
	}
	report.BridgeKlog(o.Log)
	if o.Policy, err = s.policy(); err != nil {
		return err
	}
	if o.Azure, err = s.azure(o.Log); err != nil {
		return err
	}
	o.Version = version
	return nil
}
