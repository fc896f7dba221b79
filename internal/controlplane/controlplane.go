// Package controlplane runs a real Kubernetes control plane inside the calling process: etcd, kube-apiserver,
// kube-scheduler and kube-controller-manager, as their own code runs them, listening on loopback only.
//
// It exists so that tests and the playground meet the real admission, the real scheduler, the real eviction API and the
// real authorizer instead of an imitation. There are no nodes: package kubelets brings them.
//
// Kubernetes components share state that belongs to a process (feature gates, metrics, klog, served configurations), so
// one process runs one control plane at a time; after Stop it may start another one. With [Options.Binaries] another version
// of Kubernetes runs in their place, in processes beside this one; etcd stays here. See log.go for what becomes of the
// components' logs.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"go.etcd.io/etcd/server/v3/etcdserver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// pollInterval is how often Start asks whether a component is ready.
const pollInterval = 25 * time.Millisecond

// ErrRunning is what Start answers while this process already runs a control plane.
var ErrRunning = errors.New("this process already runs a control plane")

// Options say where a control plane keeps its files and its logs. The zero value is ready to use.
type Options struct {
	// Dir holds etcd's data, certificates, kubeconfigs and, when Log is nil, the log. It is created when missing.
	// Empty means a new temporary directory that Stop removes. A directory that is named stays, and starting on it
	// again continues with the objects stored in it; certificates are made anew each time.
	Dir string

	// Log receives the lines of all components, one Write call a line, never concurrently. Nil means the file
	// controlplane.log in Dir.
	Log io.Writer

	// Port is where kube-apiserver listens on 127.0.0.1. Zero means a free port.
	Port int

	// Binaries is a folder with the programs kube-apiserver, kube-controller-manager and kube-scheduler of any version of Kubernetes, which then run as
	// processes in place of the code that is linked in. Empty means that code.
	Binaries string

	// Egress is a file with an EgressSelectorConfiguration: how kube-apiserver reaches pods, services and nodes. Empty means directly.
	Egress string

	// OrphanQuarantine is for how long the pods of a node that is gone are left alone before they are garbage
	// collected, checked every half of it. Zero means Kubernetes' own times: 40 s, checked every 20 s.
	OrphanQuarantine time.Duration

	// SchedulerQPS and ControllersQPS are how many requests a second kube-scheduler and each controller may send; twice and one and a half times as many at
	// once, as by Kubernetes' own defaults, which are 50 and 20. Zero means so many that nothing waits.
	SchedulerQPS, ControllersQPS int
}

// rates are the flags for so many requests a second, and so many at once for each of these.
func rates(qps int, burst float64) []string {
	if qps == 0 {
		qps, burst = 2000, 2
	}
	return []string{"--kube-api-qps=" + strconv.Itoa(qps), "--kube-api-burst=" + strconv.Itoa(int(burst*float64(qps)))}
}

// ControlPlane is a running control plane. Its methods may be called from several goroutines.
type ControlPlane struct {
	dir        string
	temporary  bool // dir was made by Start and is removed by Stop
	log        *log
	kubeconfig string
	config     *rest.Config
	etcd       *etcdserver.EtcdServer
	serve      func(net.Listener) (*component, error) // starts a kube-apiserver

	mu         sync.Mutex   // guards what follows
	components []*component // in the order of their start

	stop    sync.Once
	stopped error
}

// running is held from a successful Start to the end of Stop.
var running sync.Mutex

// Start returns a control plane whose kube-apiserver answers /readyz with ok, whose scheduler has filled its caches, and
// whose controllers have made the default service account of namespace default: a pod created now is admitted and
// scheduled. Cancelling ctx before then ends the start with an error; afterwards ctx is of no consequence and only Stop
// ends the control plane. An error names the component and the log, which in that case is kept even in a temporary
// directory.
func Start(ctx context.Context, o Options) (*ControlPlane, error) {
	if !running.TryLock() {
		return nil, ErrRunning
	}
	c, err := start(ctx, o)
	if err != nil {
		running.Unlock()
		return nil, err
	}
	return c, nil
}

func start(ctx context.Context, o Options) (_ *ControlPlane, err error) {
	if o.Binaries != "" {
		if err := lackOf(o.Binaries); err != nil {
			return nil, err
		}
	}
	c := &ControlPlane{dir: o.Dir, temporary: o.Dir == ""}
	if c.temporary {
		if c.dir, err = os.MkdirTemp("", "controlplane-"); err != nil {
			return nil, err
		}
	} else if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, err
	}
	if c.log, err = openLog(c.dir, o.Log); err != nil {
		return nil, err
	}
	begin := time.Now()
	defer func() {
		if err == nil {
			return
		}
		err = fmt.Errorf("%w (log: %s)", err, c.log.name)
		c.temporary = c.temporary && c.log.path == "" // the log in it explains the error
		err = errors.Join(err, c.shutdown())
	}()

	keys, err := makeCredentials(filepath.Join(c.dir, "pki"))
	if err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	etcd, member, err := startEtcd(ctx, filepath.Join(c.dir, "etcd"), keys.etcd)
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	c.components, c.etcd = append(c.components, etcd), member.Server
	endpoint := "https://" + member.Clients[0].Addr().String()
	parts := linked
	if o.Binaries != "" {
		parts = programsIn(o.Binaries, keys)
	}
	c.serve = func(listener net.Listener) (*component, error) {
		return parts.apiServer(listener, apiServerFlags(endpoint, keys, o.Egress))
	}

	// The listener is made here, rather than a free port guessed, so that nobody else can take the port in between.
	listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", o.Port))
	if err != nil {
		return nil, fmt.Errorf("kube-apiserver: %w", err)
	}
	url := "https://" + listener.Addr().String()
	if err := c.writeKubeconfigs(url, keys); err != nil {
		listener.Close()
		return nil, err
	}
	apiserver, err := c.serve(listener)
	if err != nil {
		listener.Close()
		return nil, fmt.Errorf("kube-apiserver: %w", err)
	}
	c.components = append(c.components, apiserver)
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return nil, err
	}
	if err := apiserver.await(ctx, "ready", func(ctx context.Context) error { return readyz(ctx, client) }); err != nil {
		return nil, err
	}

	controllers, err := parts.controllers(controllersFlags(c.kubeconfigOf("controllers"), keys, o.OrphanQuarantine == 0, o.ControllersQPS))
	if err != nil {
		return nil, fmt.Errorf("kube-controller-manager: %w", err)
	}
	c.components = append(c.components, controllers)
	if o.OrphanQuarantine > 0 {
		podGC, err := startPodGC(c.Config(), o.OrphanQuarantine)
		if err != nil {
			return nil, fmt.Errorf("pod-garbage-collector: %w", err)
		}
		c.components = append(c.components, podGC)
	}
	scheduler, synced, err := parts.scheduler(schedulerFlags(c.kubeconfigOf("scheduler"), o.SchedulerQPS))
	if err != nil {
		return nil, fmt.Errorf("kube-scheduler: %w", err)
	}
	c.components = append(c.components, scheduler)
	if err := scheduler.await(ctx, "caches", synced); err != nil {
		return nil, err
	}
	err = controllers.await(ctx, "default service account", func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	if err != nil {
		return nil, err
	}
	c.log.printf("control plane ready at %s after %s", url, time.Since(begin).Round(time.Millisecond))
	return c, nil
}

// readyz is nil when kube-apiserver says that it is ready, and otherwise says which of its checks fail.
func readyz(ctx context.Context, client kubernetes.Interface) error {
	body, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	if apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) {
		return fmt.Errorf("%w: %s", err, body)
	}
	return err
}

// Config is an administrator's (group system:masters) client configuration without client-side rate limits. The caller
// owns the copy.
func (c *ControlPlane) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Kubeconfig is the path of an administrator's kubeconfig, for kubectl and everything else that reads one.
func (c *ControlPlane) Kubeconfig() string { return c.kubeconfig }

// Dir is where the control plane keeps its files.
func (c *ControlPlane) Dir() string { return c.dir }

// Stop ends all components and waits for them: when it returns nothing listens any more, and a temporary directory is
// gone. Watches of clients that are still connected are cut. Calling it again returns the same answer.
func (c *ControlPlane) Stop() error {
	c.stop.Do(func() {
		c.stopped = c.shutdown()
		running.Unlock()
	})
	return c.stopped
}

// shutdown ends the components, the last started first: a component's clients end before it does.
func (c *ControlPlane) shutdown() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	exiting.Store(true)
	for i := len(c.components) - 1; i >= 0; i-- {
		errs = append(errs, c.components[i].stop())
	}
	exiting.Store(false)
	errs = append(errs, c.log.close())
	if c.temporary {
		errs = append(errs, os.RemoveAll(c.dir))
	}
	return errors.Join(errs...)
}

func (c *ControlPlane) kubeconfigOf(user string) string {
	return filepath.Join(c.dir, user+".kubeconfig")
}

// writeKubeconfigs writes one kubeconfig for the administrator and one for each client component.
func (c *ControlPlane) writeKubeconfigs(url string, keys *credentials) error {
	for user, pair := range map[string]keyPair{"admin": keys.admin, "scheduler": keys.scheduler, "controllers": keys.controllers} {
		if err := clientcmd.WriteToFile(kubeconfigFor(url, user, keys.ca.certificate, pair), c.kubeconfigOf(user)); err != nil {
			return fmt.Errorf("kubeconfig of %s: %w", user, err)
		}
	}
	c.kubeconfig = c.kubeconfigOf("admin")
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = -1, math.MaxInt32
	c.config = config
	return nil
}
