package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/deploy"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/controlplane/controlplanetest"
	"sluice.dev/sluice/policy"
)

// TestAnOutageOfTheAPIServerIsSatOut takes a real API server away from a process that leads, as the restart of a single server does: while it is about to
// try a growth again, while a growth has no answer, and while another process takes the lease. Nothing is written to Azure after the lease has ended; the
// same process goes on from what is then, and ends where another one has had the lease.
func TestAnOutageOfTheAPIServerIsSatOut(t *testing.T) {
	ctx := t.Context()
	config := controlplanetest.Start(t)
	admin, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	grant(t, admin, deploy.RBAC)
	line := newLine(t, config.Host)
	own := rest.AnonymousClientConfig(config)
	own.Host, own.BearerToken = "https://"+line.address, account(t, admin, deploy.ServiceAccount)
	farm := &azuresim.Server{AnyToken: true, Boot: azuresim.Fixed(0), Delete: azuresim.Fixed(0)}
	const subscription, group = "00000000-0000-0000-0000-000000000001", "Farm"
	for _, err := range []error{
		farm.AddMachine(azuresim.Machine{Subscription: subscription, ResourceGroup: group, Name: "server-0", Location: "westeurope", SystemAssigned: true}),
		farm.AddScaleSet(azuresim.ScaleSet{Subscription: subscription, ResourceGroup: group, Name: "agents", Location: "westeurope", Size: "Standard_D4s_v5", VCPUs: 4, Family: "standardDSv5Family"}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	allowed := policy.Default()
	allowed.Growth.BurstWindow = 0
	machine, identity := Identify("server-0")
	ended := make(chan error, 1)
	life, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		ended <- Run(life, Options{
			Kube: own, Azure: azure.Options{Groups: []azure.GroupSpec{{Name: "agents", Max: 5}}, Transport: &azuresim.Transport{Server: farm, Machine: "server-0"}},
			Policy: allowed, Log: slog.New(slog.DiscardHandler), Timing: Timing{Resync: time.Second}, Namespace: deploy.Namespace, WriteStatus: true, StatusName: cluster.StatusName,
			Election: Election{
				Enabled: true, Namespace: deploy.Namespace, Name: "cluster-autoscaler", Machine: machine, Identity: identity,
				Lease: leaseLasts, Renew: 4 * time.Second, Retry: 200 * time.Millisecond,
			},
		})
	}()
	growths := func() int { return farm.Counters()["PATCH virtualMachineScaleSets"] }
	until := func(what string, so func() bool) {
		t.Helper()
		if err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
			select {
			case err := <-ended:
				return false, err
			default:
				return so(), nil
			}
		}); err != nil {
			t.Fatalf("%s: %v; growths %d, capacity %d", what, err, growths(), farm.ScaleSets()[0].Capacity)
		}
	}
	// while watches the farm until a time: nobody may write to it.
	while := func(what string, end time.Time) {
		t.Helper()
		before := growths()
		until(what, func() bool {
			if growths() != before {
				t.Fatalf("%s: growths %d, want %d", what, growths(), before)
			}
			return time.Now().After(end)
		})
	}
	lease := func() *holding {
		l, err := admin.CoordinationV1().Leases(deploy.Namespace).Get(ctx, "cluster-autoscaler", metav1.GetOptions{})
		if err != nil {
			return &holding{}
		}
		return &holding{*l.Spec.HolderIdentity, *l.Spec.LeaseTransitions, l.Spec.RenewTime.Time}
	}

	// A throttled growth is due again while the lease has ended.
	farm.Inject(azuresim.Fault{Kind: "PATCH virtualMachineScaleSets", Status: http.StatusTooManyRequests, RetryAfter: leaseLasts + 2*time.Second, Times: 1})
	pending(ctx, t, admin, "web-0")
	until("a growth is throttled", func() bool { return growths() == 1 })
	line.cut()
	while("the API server is away and a growth is due", time.Now().Add(leaseLasts+5*time.Second))
	if was := lease(); was.holder != identity || time.Since(was.renewed) < leaseLasts {
		t.Errorf("the lease is held by %q and was renewed %s ago", was.holder, time.Since(was.renewed))
	}
	line.mend(t)
	until("it grows when the API server is back", func() bool { return growths() == 2 && farm.ScaleSets()[0].Capacity == 1 })

	// A growth takes effect, and its answer never comes.
	farm.Inject(azuresim.Fault{Kind: "PATCH virtualMachineScaleSets", LoseAnswer: true, Hang: true, Times: 1})
	pending(ctx, t, admin, "web-1")
	until("a growth has no answer", func() bool { return growths() == 3 })
	line.cut()
	while("the API server is away and a growth has no answer", time.Now().Add(leaseLasts+2*time.Second))
	line.mend(t)
	until("the lease is renewed", func() bool { return time.Since(lease().renewed) < time.Second })
	while("the growth that had no answer has taken effect", time.Now().Add(leaseLasts))
	if now := farm.ScaleSets()[0].Capacity; now != 2 || lease().transitions != 0 {
		t.Errorf("the capacity is %d and the lease has changed hands %d times, want 2 and never", now, lease().transitions)
	}

	// Another process takes the lease.
	line.cut()
	pending(ctx, t, admin, "web-2")
	while("the API server is away", time.Now().Add(leaseLasts+time.Second))
	l, err := admin.CoordinationV1().Leases(deploy.Namespace).Get(ctx, "cluster-autoscaler", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l.Spec.HolderIdentity, l.Spec.RenewTime = new("server-1"), new(metav1.NowMicro())
	if _, err := admin.CoordinationV1().Leases(deploy.Namespace).Update(ctx, l, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	line.mend(t)
	select {
	case err := <-ended:
		if !errors.Is(err, ErrLeaseLost) {
			t.Errorf("it ended with %v, want %v", err, ErrLeaseLost)
		}
	case <-time.After(time.Minute):
		t.Error("it goes on beside another process")
	}
	if growths() != 3 || lease().holder != "server-1" {
		t.Errorf("growths %d, and %q holds the lease, want 3 and server-1", growths(), lease().holder)
	}
}

// leaseLasts is longer than the time that the guard wants of a lease beyond a write.
const leaseLasts = 7 * time.Second

type holding struct {
	holder      string
	transitions int32
	renewed     time.Time
}

// pending makes a pod that takes a machine for itself.
func pending(ctx context.Context, t *testing.T, admin kubernetes.Interface, name string) {
	t.Helper()
	if _, err := admin.CoreV1().Pods("default").Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "registry.example/web:1", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}},
		}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// A line carries connections to an API server until it is cut.
type line struct {
	address, to string

	mu       sync.Mutex
	listener net.Listener
	open     []net.Conn
}

func newLine(t *testing.T, host string) *line {
	t.Helper()
	to, err := url.Parse(host)
	if err != nil {
		t.Fatal(err)
	}
	l := &line{address: "127.0.0.1:0", to: to.Host}
	l.mend(t)
	t.Cleanup(l.cut)
	return l
}

// mend has the line carry connections.
func (l *line) mend(t *testing.T) {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", l.address)
	if err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listener, l.address = listener, listener.Addr().String()
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", l.to) //nolint:noctx // it ends with the line
			if err != nil {
				in.Close()
				continue
			}
			l.mu.Lock()
			l.open = append(l.open, in, out)
			l.mu.Unlock()
			go func() { io.Copy(out, in); out.Close() }() //nolint:errcheck // a line that is cut
			go func() { io.Copy(in, out); in.Close() }()  //nolint:errcheck // a line that is cut
		}
	}()
}

// cut has every connection break and refuses further ones.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listener.Close()
	for _, c := range l.open {
		c.Close()
	}
	l.open = nil
}
