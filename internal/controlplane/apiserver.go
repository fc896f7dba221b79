package controlplane

import (
	"context"
	"net"
	"time"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	cliflag "k8s.io/component-base/cli/flag"
	aggregator "k8s.io/kube-aggregator/pkg/apiserver"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// drainLimit is how long a stopping kube-apiserver waits for the connections of clients before it cuts their watches.
const drainLimit = 250 * time.Millisecond

// apiServerFlags are for a kube-apiserver that stores in etcd at the given endpoint; where it listens is not among them.
func apiServerFlags(etcd string, keys *credentials, egress string) []string {
	return []string{
		"--etcd-servers=" + etcd,
		"--etcd-cafile=" + keys.etcd.ca.certificateFile,
		"--etcd-certfile=" + keys.etcd.peer.certificateFile,
		"--etcd-keyfile=" + keys.etcd.peer.keyFile,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--tls-cert-file=" + keys.apiserver.certificateFile,
		"--tls-private-key-file=" + keys.apiserver.keyFile,
		"--client-ca-file=" + keys.ca.certificateFile,
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--enable-bootstrap-token-auth",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + keys.serviceAccount,
		"--service-account-signing-key-file=" + keys.serviceAccount,
		"--service-cluster-ip-range=" + serviceRange,
		"--endpoint-reconciler-type=none", // a loopback address is not a valid endpoint of the service kubernetes
		"--profiling=false",
		"--egress-selector-config-file=" + egress,
	}
}

// startAPIServer serves on listener, which it owns from a nil error on.
func startAPIServer(listener net.Listener, arguments []string) (*component, error) {
	o := options.NewServerRunOptions()
	o.SecureServing.Listener = listener
	if err := parseFlags(o.Flags(), arguments); err != nil {
		return nil, err
	}
	o.SecureServing.BindPort = listener.Addr().(*net.TCPAddr).Port
	if err := o.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, err
	}

	ctx, cancel := context.WithCancel(context.Background())
	server, err := buildAPIServer(ctx, o)
	if err != nil {
		cancel()
		return nil, err
	}
	return run("kube-apiserver", func(stop context.Context) error {
		defer cancel()
		prepared, err := server.PrepareRun()
		if err != nil {
			return err
		}
		return prepared.Run(stop)
	}), nil
}

// parseFlags reads arguments into the options behind sets. Each component parses its own: the command line of the
// program, whose flags are its own, is not involved.
func parseFlags(sets cliflag.NamedFlagSets, arguments []string) error {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, set := range sets.FlagSets {
		flags.AddFlagSet(set)
	}
	return flags.Parse(arguments)
}

// buildAPIServer links the three servers of which kube-apiserver consists. Its background work ends with ctx.
func buildAPIServer(ctx context.Context, o *options.ServerRunOptions) (*aggregator.APIAggregator, error) {
	completed, err := o.Complete(ctx)
	if err != nil {
		return nil, err
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return nil, utilerrors.NewAggregate(errs)
	}
	config, err := apiserver.NewConfig(completed)
	if err != nil {
		return nil, err
	}
	chain, err := config.Complete()
	if err != nil {
		return nil, err
	}
	server, err := apiserver.CreateServerChain(chain)
	if err != nil {
		return nil, err
	}
	server.GenericAPIServer.ShutdownTimeout = drainLimit
	return server, nil
}
