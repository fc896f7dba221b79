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
	addToken(f, w)
}

func addToken(f *pflag.FlagSet, w *whom) {
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

// noSluice says why no running sluice can be asked; "" where the API server is not known either, which unknown then says.
type noSluice struct {
	why     string
	unknown error
}

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
	r, err := s.reach(ctx, w, page, query)
	var no *noRight
	switch {
	case errors.As(err, &no):
		return fmt.Errorf("%w; or decide here with --server=none", err)
	case err != nil:
		return err
	}
	return r.into(v)
}

// noRight is a refusal of the API server to lead to sluice.
type noRight struct{ error }

func (n *noRight) Unwrap() error { return n.error }

// reach finds the running sluice and asks it. Its reply is sluice's own, whatever it says.
func (s *settings) reach(ctx context.Context, w whom, page string, query url.Values) (reply, error) {
	if strings.Contains(w.server, "://") {
		return reachAddress(ctx, w.server, w.token, page, query)
	}
	namespace, service, port := w.namespace, serviceName, servicePort
	if w.server != "" {
		named := false
		if namespace, service, named = strings.Cut(w.server, "/"); !named || namespace == "" {
			return reachAddress(ctx, w.server, w.token, page, query)
		}
		service, port, _ = strings.Cut(service, ":")
		if port == "" {
			port = servicePort
		}
	}
	config, err := s.kube()
	if err != nil {
		return reply{}, &noSluice{unknown: err} // who decides here says the same
	}
	if config.Timeout == 0 {
		config.Timeout = answerWithin
	}
	ctx, cancel := context.WithTimeout(ctx, config.Timeout)
	defer cancel()
	p := proxied{token: w.token, scheme: "http"}
	if p.client, err = rest.HTTPClientFor(config); err != nil {
		return reply{}, fmt.Errorf("connect to the API server: %w", err)
	}
	if p.at, _, err = rest.DefaultServerUrlFor(config); err != nil {
		return reply{}, fmt.Errorf("connect to the API server: %w", err)
	}
	r, err := p.ask(ctx, namespace, service, port, page, query)
	var none *noSluice
	switch {
	case err == nil || !errors.As(err, &none):
		return r, err
	case w.server != "":
		return r, fmt.Errorf("--server=%s: %s", w.server, none.why)
	}
	return p.askElsewhere(ctx, config, namespace, none, page, query)
}

// tries is how often a service is asked for a replica that leads. The API server takes any that is Ready each time: of two, one in a thousand
// questions finds the one that stands by each time.
const tries = 10

// ask lets the leader among a service's replicas answer. Any replica names it; where its pod may not be asked by name, the service is asked again.
func (p proxied) ask(ctx context.Context, namespace, service, port, page string, query url.Values) (r reply, err error) {
	for n := 0; n < tries; n++ {
		if r, err = p.door(namespace, "services", service, port).get(ctx, page, query); err != nil {
			return r, reaching(kube.Plain(err))
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
	return r, refused(r, namespace, service)
}

// refused is the error where the API server answers in sluice's place.
func refused(r reply, namespace, service string) error {
	err := r.ofAPIServer()
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return &noSluice{why: fmt.Sprintf("there is no service %s/%s", namespace, service)}
	case apierrors.IsServiceUnavailable(err) && strings.Contains(err.Error(), "no endpoints available"):
		return &noSluice{why: fmt.Sprintf("no pod of service %s/%s is Ready", namespace, service)}
	case apierrors.IsServiceUnavailable(err):
		return &noSluice{why: fmt.Sprintf("the API server does not reach service %s/%s (%v)", namespace, service, err)}
	case apierrors.IsForbidden(err):
		return &noRight{fmt.Errorf("%w: apply deploy/reader.yaml and bind the user to its Role: kubectl -n %s create rolebinding sluice-readers --role=sluice-reader --user=NAME", err, namespace)}
	}
	return reaching(fmt.Errorf("ask the running sluice: %w", kube.Plain(err)))
}

// askElsewhere looks for a sluice that is not where the manifests have it: a service of another name, as of the chart, or a process on this machine.
// Else the error says where the one runs that holds the lease.
func (p proxied) askElsewhere(ctx context.Context, config *rest.Config, namespace string, none *noSluice, page string, query url.Values) (reply, error) {
	client, err := kubernetes.NewForConfigAndClient(config, p.client)
	if err != nil {
		return reply{}, fmt.Errorf("connect to the API server: %w", err)
	}
	// Who may not list services of all namespaces has named none, and is told so below.
	found, err := client.CoreV1().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: serviceLabel})
	if err == nil {
		others := slices.DeleteFunc(found.Items, func(o corev1.Service) bool {
			return o.Namespace == namespace && o.Name == serviceName || len(o.Spec.Ports) == 0
		})
		if len(others) > 1 {
			return reply{}, fmt.Errorf("several services may be sluice's: name one, such as --server=%s", address(others[0]))
		}
		if len(others) == 1 {
			o := others[0]
			return p.ask(ctx, o.Namespace, o.Name, strconv.Itoa(int(o.Spec.Ports[0].Port)), page, query)
		}
	}
	holder, why := leaseholder(ctx, client, namespace)
	if holder == "" {
		return reply{}, &noSluice{why: none.why + ", and " + why}
	}
	host, err := os.Hostname()
	if machine, _ := app.Identify(host); err == nil && machine != "" && strings.HasPrefix(holder, machine+"_") {
		r, err := reachAddress(ctx, beside, "", page, query)
		if err != nil {
			return r, &noSluice{why: fmt.Sprintf("%s, and the sluice of this machine does not answer (%v)", none.why, err)}
		}
		return r, nil
	}
	return reply{}, &noSluice{why: none.why + ", and " + why}
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
