package main

import (
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/policy"
)

// settings are the flags that every verb shares which looks at a live cluster.
type settings struct {
	kubeconfig string
	provider   string
	nodes      []string
	discovery  []string

	managerEndpoint, authorityHost, metadataEndpoint string

	policy       *policy.Policy
	cores        string
	memory       string
	graceSeconds int64

	verbosity int
	logFormat string
}

// add declares the flags. Their names and meanings are cluster-autoscaler's where it has them.
func (s *settings) add(f *pflag.FlagSet) {
	s.policy = policy.Default()
	g, r, h := &s.policy.Growth, &s.policy.Removal, &s.policy.Health

	f.StringVar(&s.kubeconfig, "kubeconfig", "", "path of a kubeconfig; empty: $KUBECONFIG, else the pod's service account")
	f.StringVar(&s.provider, "cloud-provider", "azure", "the cloud; azure is the only one")
	f.StringArrayVar(&s.nodes, "nodes", nil, "a node group as min:max:scale-set-name; may be repeated")
	f.StringArrayVar(&s.discovery, "node-group-auto-discovery", nil, "find node groups by the tags of scale sets: label:tag=value[,tag=value][,min=N][,max=N]; tags min and max on the scale set win; may be repeated, all must match")
	f.StringVar(&s.managerEndpoint, "azure-resource-manager-endpoint", "", "Resource Manager endpoint; empty: public Azure")
	f.StringVar(&s.authorityHost, "azure-authority-host", "", "token authority; empty: public Azure")
	f.StringVar(&s.metadataEndpoint, "azure-metadata-endpoint", "", "instance metadata endpoint; empty: the link-local address of every Azure machine")

	f.IntVar(&g.MaxNodes, "max-nodes-total", 0, "most nodes in the whole cluster, managed or not; 0: no limit")
	f.StringVar(&s.cores, "cores-total", "0:0", "min:max cores of the whole cluster; a max of 0: no limit")
	f.StringVar(&s.memory, "memory-total", "0:0", "min:max GiB of memory of the whole cluster; a max of 0: no limit")
	f.DurationVar(&g.Provision, "max-node-provision-time", g.Provision, "a machine without a Ready node after this long is given up")
	f.DurationVar(&g.BackoffFirst, "initial-node-group-backoff-duration", g.BackoffFirst, "how long a group rests after its first failure")
	f.DurationVar(&g.BackoffMost, "max-node-group-backoff-duration", g.BackoffMost, "a group's rest doubles from failure to failure up to this")
	f.DurationVar(&g.BackoffReset, "node-group-backoff-reset-timeout", g.BackoffReset, "after this long without failures the next one counts as the first")

	f.BoolVar(&r.Enabled, "scale-down-enabled", r.Enabled, "remove nodes that are not needed")
	f.DurationVar(&r.Unneeded, "scale-down-unneeded-time", r.Unneeded, "how long a node must have been idle or underused before it goes")
	f.DurationVar(&r.Unready, "scale-down-unready-time", r.Unready, "how long a node that is not Ready must have been unneeded before it goes")
	f.Float64Var(&r.Threshold, "scale-down-utilization-threshold", r.Threshold, "share of CPU or memory requested, at or below which a node is underused")
	f.DurationVar(&r.AfterAdd, "scale-down-delay-after-add", r.AfterAdd, "no removal so long after a growth")
	f.DurationVar(&r.AfterTaint, "node-delete-delay-after-taint", r.AfterTaint, "pause between cordoning a node and the next step")
	f.IntVar(&r.MaxInFlight, "max-scale-down-parallelism", r.MaxInFlight, "most nodes on their way out at once")
	f.IntVar(&r.MaxDrains, "max-drain-parallelism", r.MaxDrains, "of these, most nodes with pods to evict")
	f.Int64Var(&s.graceSeconds, "max-graceful-termination-sec", int64(r.MaxGrace/time.Second), "longest grace period given to an evicted pod, in seconds")
	f.DurationVar(&r.DrainDeadline, "max-drain-time", r.DrainDeadline, "a node that is not empty so long after it was cordoned is given back")
	f.BoolVar(&r.LocalStorage, "skip-nodes-with-local-storage", r.LocalStorage, "a pod with a hostPath or emptyDir volume keeps its node")
	f.BoolVar(&r.SystemPods, "skip-nodes-with-system-pods", r.SystemPods, "a kube-system pod without a disruption budget keeps its node while it is younger than an hour")
	f.IntVar(&h.UnreadyCount, "ok-total-unready-count", h.UnreadyCount, "so many nodes may be not Ready before removal stops")
	f.Float64Var(&h.UnreadyPercent, "max-total-unready-percentage", h.UnreadyPercent, "and beyond that count this share of all nodes, in percent")

	f.IntVarP(&s.verbosity, "v", "v", 0, "log verbosity; 4 and above: debug")
	f.StringVar(&s.logFormat, "log-format", "text", "text or json")
}

// checked is the policy that the flags say.
func (s *settings) checked() (*policy.Policy, error) {
	if s.provider != "azure" {
		return nil, fmt.Errorf("--cloud-provider=%s: sluice knows azure only", s.provider)
	}
	p := s.policy
	var err error
	if p.Removal.MinCores, p.Growth.MaxCores, err = bounds("cores-total", s.cores); err != nil {
		return nil, err
	}
	if p.Removal.MinMemoryGiB, p.Growth.MaxMemoryGiB, err = bounds("memory-total", s.memory); err != nil {
		return nil, err
	}
	p.Removal.MaxGrace = time.Duration(s.graceSeconds) * time.Second
	if err := p.Check(); err != nil {
		return nil, err
	}
	return p, nil
}

// bounds reads "min:max".
func bounds(name, value string) (low, high int64, err error) {
	before, after, ok := strings.Cut(value, ":")
	if ok {
		low, err = strconv.ParseInt(before, 10, 64)
	}
	if ok && err == nil {
		high, err = strconv.ParseInt(after, 10, 64)
	}
	if !ok || err != nil || low < 0 || high < 0 || high > 0 && high < low {
		return 0, 0, fmt.Errorf("--%s=%s: give min:max as whole numbers with max at least min, such as 0:320, or a max of 0 for no limit", name, value)
	}
	return low, high, nil
}

// azure reads where the groups are and who asks: flags first, then the environment, then instance metadata.
func (s *settings) azure(log *slog.Logger) (azure.Options, error) {
	o, err := azure.FromEnvironment(os.Getenv)
	if err != nil {
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
	o.ResourceManagerEndpoint, o.AuthorityHost, o.MetadataEndpoint = s.managerEndpoint, s.authorityHost, s.metadataEndpoint
	o.Log = log
	return o, nil
}

// kube finds the API server.
func (s *settings) kube() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = s.kubeconfig
	c, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w; give --kubeconfig, set KUBECONFIG, or run as a pod with a service account", err)
	}
	c.UserAgent = "sluice/" + version
	c.QPS, c.Burst = 50, 100
	return c, nil
}

// logger writes to standard error.
func (s *settings) logger() (*slog.Logger, error) {
	o := &slog.HandlerOptions{Level: slog.LevelInfo}
	if s.verbosity >= 4 {
		o.Level = slog.LevelDebug
	}
	switch s.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(os.Stderr, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(os.Stderr, o)), nil
	}
	return nil, fmt.Errorf("--log-format=%s: give text or json", s.logFormat)
}

// into moves the flags into options.
func (s *settings) into(o *app.Options) error {
	var err error
	if o.Log, err = s.logger(); err != nil {
		return err
	}
	if o.Policy, err = s.checked(); err != nil {
		return err
	}
	if o.Azure, err = s.azure(o.Log); err != nil {
		return err
	}
	o.Version = version
	o.Kube, err = s.kube()
	return err
}
