package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/kube"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/setting"
)

// Where the manifests have sluice, and how a process of its own tells whose port it is.
const (
	serviceName  = "sluice"
	servicePort  = "8085"
	serviceLabel = "app.kubernetes.io/name=sluice"
	nobodyAsked  = "none" // as --server
)

// whom says which running sluice is asked.
type whom struct {
	server    string // an address, NAMESPACE/SERVICE:PORT, none for no sluice, "" for that of the cluster
	token     string
	namespace string // of the sluice of the cluster
}

func (w *whom) add(f *pflag.FlagSet) {
	f.StringVar(&w.server, "server", "", "running sluice to ask: its address, such as http://127.0.0.1:8085, or NAMESPACE/SERVICE:PORT; empty: that of the cluster, through the API server; none: decide here")
	f.StringVar(&w.token, "token", "", "bearer token to show to a sluice that runs with --web-authorization")
}

// asking are the flags that say how a question is put, and where the cluster and Azure are. All others say how to decide, which a running sluice does by its own.
var asking = []string{
	"server", "token", "output", "namespace", "status-namespace", "status-config-map-name", "cycle", "at", "journal", "kubeconfig", "kubernetes", "context",
	"as", "as-group", "request-timeout", "kube-api-content-type", "kube-client-qps", "kube-client-burst", "user-agent", "v", "log-format",
	"azure-resource-manager-endpoint", "azure-authority-host", "azure-metadata-endpoint",
}

// decides is the first flag given that says how to decide; "" when there is none.
func decides(f *pflag.FlagSet) (first string) {
	f.Visit(func(given *pflag.Flag) {
		if first == "" && !slices.Contains(asking, given.Name) {
			first = given.Name
		}
	})
	return first
}

// noSluice says why no running sluice can be asked; "" where the API server is not known either.
type noSluice struct{ why string }

func (n *noSluice) Error() string { return n.why }

// besides is an error of the process that decides in its place.
func (n *noSluice) besides(err error) error {
	var missing *report.NotFoundError
	switch {
	case n.why == "":
		return err
	case errors.As(err, &missing):
		return fmt.Errorf("%w; no running sluice is asked (%s), and the default flags are assumed here", err, n.why)
	}
	return fmt.Errorf("no running sluice is asked (%s), and this process cannot decide: %w", n.why, err)
}

// here says whether a question is to be decided by this process. It is where flags say how to decide, and where no sluice is to be asked; ask says
// where it is because none runs.
func (w whom) here(f *pflag.FlagSet) (bool, error) {
	by := decides(f)
	switch {
	case w.server == nobodyAsked:
		return true, nil
	case by != "" && w.server != "":
		return false, fmt.Errorf("--%s and --server: give one of them; a running sluice decides by its own flags", by)
	}
	return by != "", nil
}

// ask lets the running sluice answer. Where none can be asked, and the user has named none, the error is a [*noSluice].
func (s *settings) ask(ctx context.Context, w whom, page string, query url.Values, v any) error {
	if strings.Contains(w.server, "://") {
		return askAddress(ctx, w.server, w.token, page, query, v)
	}
	namespace, service, port := w.namespace, serviceName, servicePort
	if w.server != "" {
		named := false
		if namespace, service, named = strings.Cut(w.server, "/"); !named || namespace == "" {
			return askAddress(ctx, w.server, w.token, page, query, v)
		}
		service, port, _ = strings.Cut(service, ":")
		if port == "" {
			port = servicePort
		}
	}
	config, err := s.kube()
	if err != nil {
		return &noSluice{} // who decides here says the same
	}
	if config.Timeout == 0 {
		config.Timeout = answerWithin
	}
	ctx, cancel := context.WithTimeout(ctx, config.Timeout)
	defer cancel()
	p := proxied{token: w.token, scheme: "http"}
	if p.client, err = rest.HTTPClientFor(config); err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	if p.at, _, err = rest.DefaultServerUrlFor(config); err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	err = p.ask(ctx, namespace, service, port, page, query, v)
	var none *noSluice
	switch {
	case err == nil || !errors.As(err, &none):
		return err
	case w.server != "":
		return fmt.Errorf("--server=%s: %s", w.server, none.why)
	}
	return p.askElsewhere(ctx, config, namespace, none, page, query, v)
}

// tries is how often a service is asked for a replica that leads. The API server takes any that is Ready each time: of two, one in a thousand
// questions finds the one that stands by each time.
const tries = 10

// ask lets the leader among a service's replicas answer. Any replica names it; where its pod may not be asked by name, the service is asked again.
func (p proxied) ask(ctx context.Context, namespace, service, port, page string, query url.Values, v any) error {
	var r reply
	for n := 0; n < tries; n++ {
		var err error
		if r, err = p.door(namespace, "services", service, port).get(ctx, page, query); err != nil {
			return reaching(kube.Plain(err))
		}
		if r.wantsTLS() && p.scheme == "http" {
			p.scheme = "https"
			continue
		}
		leader, so := r.standsBy()
		if !so {
			break
		}
		if host, _, _ := strings.Cut(leader, "_"); n < 2 && len(validation.IsDNS1123Subdomain(host)) == 0 { // else it could be any path of the API server
			// Without a number the API server takes the pod's first port. A pod in the host's network has another name: its service is asked again.
			direct, err := p.door(namespace, "pods", host, "").get(ctx, page, query)
			if _, also := direct.standsBy(); err == nil && direct.ofAPIServer() == nil && !also {
				r = direct
				break
			}
		}
	}
	return p.said(r, namespace, service, v)
}

// said reads an answer, sluice's or that of the API server in its place.
func (p proxied) said(r reply, namespace, service string, v any) error {
	err := r.ofAPIServer()
	switch {
	case err == nil:
		return r.into(v)
	case apierrors.IsNotFound(err):
		return &noSluice{fmt.Sprintf("there is no service %s/%s", namespace, service)}
	case apierrors.IsServiceUnavailable(err) && strings.Contains(err.Error(), "no endpoints available"):
		return &noSluice{fmt.Sprintf("no pod of service %s/%s is Ready", namespace, service)}
	case apierrors.IsServiceUnavailable(err):
		return &noSluice{fmt.Sprintf("the API server does not reach service %s/%s (%v)", namespace, service, err)}
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w: bind the user to the Role sluice-reader (deploy/reader.yaml), or decide here with --server=none", err)
	}
	return reaching(fmt.Errorf("ask the running sluice: %w", kube.Plain(err)))
}

// askElsewhere looks for a sluice that is not where the manifests have it: a service of another name, as of the chart, or a process on this machine.
// Else the error says where the one runs that holds the lease.
func (p proxied) askElsewhere(ctx context.Context, config *rest.Config, namespace string, none *noSluice, page string, query url.Values, v any) error {
	client, err := kubernetes.NewForConfigAndClient(config, p.client)
	if err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	// Who may not list services of all namespaces has named none, and is told so below.
	found, err := client.CoreV1().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: serviceLabel})
	if err == nil {
		others := slices.DeleteFunc(found.Items, func(o corev1.Service) bool {
			return o.Namespace == namespace && o.Name == serviceName || len(o.Spec.Ports) == 0
		})
		if len(others) > 1 {
			return fmt.Errorf("several services may be sluice's: name one, such as --server=%s", address(others[0]))
		}
		if len(others) == 1 {
			o := others[0]
			return p.ask(ctx, o.Namespace, o.Name, strconv.Itoa(int(o.Spec.Ports[0].Port)), page, query, v)
		}
	}
	holder, why := leaseholder(ctx, client, namespace)
	if holder == "" {
		return &noSluice{none.why + ", and " + why}
	}
	host, err := os.Hostname()
	if machine, _ := app.Identify(host); err == nil && machine != "" && strings.HasPrefix(holder, machine+"_") {
		beside := "http://127.0.0.1:" + servicePort
		if err := askAddress(ctx, beside, "", page, query, v); err != nil {
			return &noSluice{fmt.Sprintf("%s, and the sluice of this machine does not answer (%v)", none.why, err)}
		}
		return nil
	}
	return &noSluice{none.why + ", and " + why}
}

// address is a service as --server names it.
func address(o corev1.Service) string {
	return fmt.Sprintf("%s/%s:%d", o.Namespace, o.Name, o.Spec.Ports[0].Port)
}

// leaseholder is who leads by the lease, and what to say of that; "" where nobody can be asked.
func leaseholder(ctx context.Context, client kubernetes.Interface, namespace string) (holder, why string) {
	name := setting.Find("leader-elect-resource-name").Default
	lease, err := client.CoordinationV1().Leases(namespace).Get(ctx, name, metav1.GetOptions{})
	name = namespace + "/" + name
	switch {
	case apierrors.IsNotFound(err):
		return "", "there is no lease " + name
	case err != nil:
		return "", fmt.Sprintf("lease %s cannot be read (%v)", name, kube.Plain(err))
	case lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "":
		return "", "nobody holds lease " + name
	}
	holder = *lease.Spec.HolderIdentity
	host, process, _ := strings.Cut(holder, "_")
	if at := lease.Spec.RenewTime; at != nil && time.Since(at.Time) > time.Hour {
		return "", fmt.Sprintf("nobody has renewed lease %s since %s", name, at.UTC().Format(time.RFC3339))
	}
	if strings.Contains(process, "-") {
		return "", fmt.Sprintf("lease %s is held by a cluster-autoscaler on %s", name, host) // whose processes have a UUID
	}
	return holder, fmt.Sprintf("the sluice that leads runs on host %s, to which no service leads: name its address with --server", host)
}

// decidedHere says that no running sluice was asked, why, and by which flags this process has decided.
func decidedHere(none *noSluice) string {
	return fmt.Sprintf("sluice: no running sluice is asked: %s; this is decided here with the default flags, of groups with the tags cluster-autoscaler-enabled=true, min and max\n", none.why)
}

// sorted is a list in order.
func sorted(list []string) []string {
	slices.Sort(list)
	return list
}
