package app

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sluice.dev/sluice/internal/attest"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/join"
)

// Joining is where and for whom machines may join by proof.
type Joining struct {
	Address      string // "" for nowhere
	Listener     net.Listener
	TLSFile      string
	Server       string
	CAFile       string
	Distribution string
	Groups       []string
	Pools        []string
	Age          time.Duration
	Life         time.Duration
	IssuersFrom  string
	Certificates string
}

// open makes the door and listens. Errors name the flag.
func (j Joining) open(
	ctx context.Context, client kubernetes.Interface, config *rest.Config, provider *azure.Provider, log *slog.Logger,
) (*join.Door, join.Identity, net.Listener, error) {
	fail := func(err error) (*join.Door, join.Identity, net.Listener, error) {
		return nil, join.Identity{}, nil, err
	}
	identity, err := join.ReadIdentity(j.TLSFile)
	if err != nil {
		return fail(fmt.Errorf("--join-tls-file=%w", err))
	}
	ca, err := j.authority(config)
	if err != nil {
		return fail(err)
	}
	if j.Server == "" {
		if j.Server, err = apiServer(ctx, client); err != nil {
			return fail(err)
		}
	}
	arrivals := provider.Arrivals()
	o := join.Options{
		Client: client, Cloud: arrivals, Groups: j.Groups, Pools: j.Pools, Distribution: j.Distribution, Server: j.Server, CA: ca, Age: j.Age, Life: j.Life,
		Key: identity.Secret, IssuersFrom: j.IssuersFrom, Log: log,
	}
	if len(o.Groups) == 0 {
		o.Groups = []string{arrivals.ResourceGroup()}
	}
	if o.Roots, o.Intermediates, err = j.roots(); err != nil {
		return fail(err)
	}
	door, err := join.New(o)
	if err != nil {
		return fail(fmt.Errorf("--join-distribution=%s, --join-server=%s, --join-max-age=%s, --join-token-life=%s: %w", j.Distribution, j.Server, j.Age, j.Life, err))
	}
	l := j.Listener
	if l == nil {
		if l, err = net.Listen("tcp", j.Address); err != nil {
			return fail(fmt.Errorf("--join-address=%s: %w; choose another address", j.Address, err))
		}
	}
	log.Info("machines may join by proof", "address", l.Addr().String(), "fingerprint", identity.Fingerprint, "server", j.Server, "resourceGroups", o.Groups, "pools", o.Pools, "distribution", o.Distribution)
	return door, identity, l, nil
}

// apiServer is what the service kubernetes points at: the API server itself, which machines reach before they have joined.
func apiServer(ctx context.Context, client kubernetes.Interface) (string, error) {
	slice, err := client.DiscoveryV1().EndpointSlices("default").Get(ctx, "kubernetes", metav1.GetOptions{})
	if err == nil && len(slice.Endpoints) > 0 && len(slice.Endpoints[0].Addresses) > 0 && len(slice.Ports) > 0 && slice.Ports[0].Port != nil {
		return "https://" + net.JoinHostPort(slice.Endpoints[0].Addresses[0], strconv.Itoa(int(*slice.Ports[0].Port))), nil
	}
	if err == nil {
		err = errors.New("it has no address")
	}
	return "", fmt.Errorf("--join-server is empty, and the EndpointSlice kubernetes does not say it (%w): give the API server as machines reach it, such as https://10.10.0.4:6443", err)
}

// authority is the certificate authority that machines get.
func (j Joining) authority(config *rest.Config) ([]byte, error) {
	file := j.CAFile
	if file == "" {
		if len(config.CAData) > 0 {
			return config.CAData, nil
		}
		file = config.CAFile
	}
	if file == "" {
		return nil, errors.New("--join-ca-file is empty, and the kubeconfig has no certificate authority: give its PEM file")
	}
	ca, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--join-ca-file=%s: it cannot be read (%w); give the PEM file of the cluster's certificate authority", file, errors.Unwrap(err))
	}
	return ca, nil
}

// roots are whom documents of Azure are believed by, and the certificates between that are known.
func (j Joining) roots() (*x509.CertPool, []*x509.Certificate, error) {
	roots, between, err := attest.Microsoft()
	if err != nil || j.Certificates == "" {
		return roots, between, err
	}
	text, err := os.ReadFile(j.Certificates)
	if err != nil {
		return nil, nil, fmt.Errorf("--attest-certificates=%s: it cannot be read (%w); give a PEM file of certificates", j.Certificates, errors.Unwrap(err))
	}
	all, err := attest.Certificates(text)
	if err == nil && len(all) == 0 {
		err = errors.New("it holds no certificate")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("--attest-certificates=%s: %w", j.Certificates, err)
	}
	own := x509.NewCertPool()
	trusted := false
	for _, c := range all {
		if attest.SelfSigned(c) {
			own.AddCert(c)
			trusted = true
		} else {
			between = append(between, c)
		}
	}
	if trusted {
		roots = own
	}
	return roots, between, nil
}

// Join is a process that lets machines join and does nothing else. It returns nil when it is told to stop.
func Join(ctx context.Context, o Options) error {
	client, err := kubernetes.NewForConfig(o.Kube)
	if err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	o.Azure.ReadOnly = true
	o.Azure.Discovery = []azure.Discovery{{}} // it manages no group
	provider, err := azure.New(ctx, o.Azure)
	if err != nil {
		return err
	}
	door, identity, l, err := o.Joining.open(ctx, client, o.Kube, provider, o.Log)
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registry.MustRegister(door.Collectors()...)
	pages := http.NewServeMux()
	pages.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	pages.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop, err := Serve(o, pages, cancel)
	if err != nil {
		_ = l.Close()
		return err
	}
	defer stop()
	err = door.Serve(ctx, l, identity.Certificate)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// awaitKey is how often the door's key is looked for.
const awaitKey = 15 * time.Second

// letIn opens the door beside the loop, until ctx is done. A key that is not there yet is waited for: the autoscaler does not depend on it. A door that ends
// before ends the process through fail.
func (o Options) letIn(ctx context.Context, client kubernetes.Interface, provider *azure.Provider, also func(...prometheus.Collector), fail context.CancelCauseFunc) error {
	if o.Joining.Address == "" && o.Joining.Listener == nil || o.DryRun {
		return nil
	}
	if _, err := os.Stat(o.Joining.TLSFile); err == nil {
		door, identity, l, err := o.Joining.open(ctx, client, o.Kube, provider, o.Log)
		if err != nil {
			return err
		}
		go serveDoor(ctx, door, identity, l, also, fail)
		return nil
	}
	o.Log.Warn("no machine can join before the key of the door is there", "--join-tls-file", o.Joining.TLSFile)
	go func() {
		every := time.NewTicker(awaitKey)
		defer every.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-every.C:
			}
			if _, err := os.Stat(o.Joining.TLSFile); err != nil {
				continue
			}
			door, identity, l, err := o.Joining.open(ctx, client, o.Kube, provider, o.Log)
			if err == nil {
				serveDoor(ctx, door, identity, l, also, fail)
				return
			}
			o.Log.Warn("no machine can join yet", "err", err)
		}
	}()
	return nil
}

// serveDoor is an open door beside the loop.
func serveDoor(ctx context.Context, door *join.Door, identity join.Identity, l net.Listener, also func(...prometheus.Collector), fail context.CancelCauseFunc) {
	also(door.Collectors()...)
	if err := door.Serve(ctx, l, identity.Certificate); err != nil {
		fail(err)
	}
}
