package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sluice.dev/sluice/deploy"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/controlplane/controlplanetest"
	"sluice.dev/sluice/internal/controlplane/kubelets"
	"sluice.dev/sluice/internal/ledger"
	"sluice.dev/sluice/policy"
)

// TestANodeThatWorksForADaemonStaysUntilItIsCalm packs render workers into a DaemonSet whose pods request next to nothing, on two nodes of a real API
// server. One of them works, as a metrics API behind the real aggregator says. Sluice has the rights of deploy/rbac.yaml. The other node goes; the one that
// works keeps its pod until it is calm.
func TestANodeThatWorksForADaemonStaysUntilItIsCalm(t *testing.T) {
	ctx := t.Context()
	config := controlplanetest.Start(t)
	admin, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	grant(t, admin, deploy.RBAC)
	own := rest.AnonymousClientConfig(config)
	own.BearerToken = account(t, admin, deploy.ServiceAccount)
	client, err := kubernetes.NewForConfig(own)
	if err != nil {
		t.Fatal(err)
	}
	allowed := policy.Default()
	book := ledger.New(ledger.Horizon(allowed), time.Now)
	farm, cloud := twoMachines(ctx, t, admin, book)
	works, calm := farm.names()[0], farm.names()[1]
	uses := measures(ctx, t, admin, map[string]string{works: "3600m", calm: "40m"})
	workers(ctx, t, admin)
	farm.until(ctx, t, "a worker runs on each node", func() bool { return running(ctx, t, admin, works) != "" && running(ctx, t, admin, calm) != "" })
	worker := running(ctx, t, admin, works)

	allowed.Installation = "kube-system/cluster-autoscaler"
	allowed.Removal.UnneededTime, allowed.Removal.Delay.AfterTaint, allowed.Removal.Delay.Exclusion = 3*time.Second, time.Second, time.Second
	sluice := New(Parts{Client: client, Cloud: cloud, Ledger: book, Policy: allowed, Timing: Timing{Resync: time.Second}, Log: slog.New(slog.DiscardHandler)})
	if err := sluice.Start(ctx); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	life, stop := context.WithCancel(ctx)
	go func() { ended <- sluice.Run(life) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})

	farm.until(ctx, t, "the machine that does not work is gone", func() bool { return len(farm.names()) == 1 })
	if left := farm.names()[0]; left != works {
		t.Fatalf("the machine that is left is %s, want %s, which works", left, works)
	}
	uses.say(works, "40m")
	if pod := running(ctx, t, admin, works); pod != worker {
		t.Errorf("the worker is %q, want %q as before", pod, worker)
	}
	farm.until(ctx, t, "the other one is gone, too, now that it is calm", func() bool { return len(farm.names()) == 0 })
}

// farmOfTwo is the two machines of a scale set, and their kubelets.
type farmOfTwo struct {
	azure    *azuresim.Server
	kubelets *kubelets.Kubelets
	joined   map[string]bool
}

// names are the machines that are there.
func (f *farmOfTwo) names() (all []string) {
	for _, m := range f.azure.Machines() {
		if m.ScaleSet != "" {
			all = append(all, m.ComputerName)
		}
	}
	return all
}

// until waits until that is so. Kubelets end with their machines.
func (f *farmOfTwo) until(ctx context.Context, t *testing.T, what string, so func() bool) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 5*time.Minute, true, func(context.Context) (bool, error) {
		there := strings.Join(f.names(), " ")
		for name := range f.joined {
			if !strings.Contains(there, name) {
				f.kubelets.Leave(name)
				delete(f.joined, name)
			}
		}
		return so(), nil
	}); err != nil {
		t.Fatalf("%s: %v; there are %v", what, err, f.names())
	}
}

func twoMachines(ctx context.Context, t *testing.T, admin kubernetes.Interface, book *ledger.Book) (*farmOfTwo, *azure.Provider) {
	t.Helper()
	const subscription = "00000000-0000-0000-0000-000000000001"
	a := &azuresim.Server{Boot: azuresim.Fixed(0), Delete: azuresim.Fixed(100 * time.Millisecond)}
	for _, err := range []error{
		a.AddMachine(azuresim.Machine{Subscription: subscription, ResourceGroup: "Farm", Name: "server-0", Location: "westeurope", SystemAssigned: true}),
		a.AddScaleSet(azuresim.ScaleSet{
			Subscription: subscription, ResourceGroup: "Farm", Name: "render", Location: "westeurope", Size: "Standard_D4s_v5", VCPUs: 4, Family: "standardDSv5Family", Capacity: 2,
		}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	arm, metadata := httptest.NewServer(a), httptest.NewServer(a.Metadata("server-0"))
	t.Cleanup(arm.Close)
	t.Cleanup(metadata.Close)
	cloud, err := azure.New(ctx, azure.Options{
		ResourceManagerEndpoint: arm.URL, AuthorityHost: arm.URL, MetadataEndpoint: metadata.URL, Log: slog.New(slog.DiscardHandler),
		Groups: []azure.GroupSpec{{Name: "render", Min: 0, Max: 2}}, Ledger: book,
	})
	if err != nil {
		t.Fatal(err)
	}
	f := &farmOfTwo{azure: a, kubelets: &kubelets.Kubelets{Client: admin}, joined: map[string]bool{}}
	life, stop := context.WithCancel(ctx)
	var serve sync.WaitGroup
	serve.Go(func() {
		if err := f.kubelets.Run(life); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		stop()
		serve.Wait()
	})
	for _, m := range a.Machines() {
		if m.ScaleSet == "" {
			continue
		}
		if err := f.kubelets.Join(ctx, kubelets.Machine{
			Name: m.ComputerName, ProviderID: "azure://" + m.ID, SystemUUID: m.VMID, InternalIP: m.PrivateIP,
			Labels:   map[string]string{corev1.LabelInstanceTypeStable: m.Size, corev1.LabelTopologyRegion: m.Location, corev1.LabelTopologyZone: "0"},
			Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi")},
		}); err != nil {
			t.Fatal(err)
		}
		f.joined[m.ComputerName] = true
	}
	if len(f.names()) != 2 {
		t.Fatalf("machines %v, want two", f.names())
	}
	return f, cloud
}

// workers is a DaemonSet that requests a tenth of a core.
func workers(ctx context.Context, t *testing.T, admin kubernetes.Interface) {
	t.Helper()
	labels := map[string]string{"app": "worker"}
	if _, err := admin.AppsV1().DaemonSets("default").Create(ctx, &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "worker"},
		Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "main", Image: "registry.example/worker:1",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}},
			}}},
		}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// running is the UID of the worker that runs on the node and is not told to end, "" for none.
func running(ctx context.Context, t *testing.T, admin kubernetes.Interface, node string) string {
	t.Helper()
	pods, err := admin.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=worker", FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
			return string(p.UID)
		}
	}
	return ""
}

// meters is a metrics API.
type meters struct {
	mu  sync.Mutex
	cpu map[string]string // by node
}

func (m *meters) say(node, cpu string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cpu[node] = cpu
}

func (m *meters) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if !strings.HasSuffix(r.URL.Path, "/nodes") {
		fmt.Fprint(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"metrics.k8s.io/v1beta1","resources":[{"name":"nodes","singularName":"","namespaced":false,"kind":"NodeMetrics","verbs":["get","list"]}]}`)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var items []string
	for node, cpu := range m.cpu {
		items = append(items, fmt.Sprintf(`{"metadata":{"name":%q},"timestamp":%q,"window":"15s","usage":{"cpu":%q,"memory":"1Gi"}}`, node, time.Now().UTC().Format(time.RFC3339), cpu))
	}
	fmt.Fprintf(w, `{"kind":"NodeMetricsList","apiVersion":"metrics.k8s.io/v1beta1","metadata":{},"items":[%s]}`, strings.Join(items, ","))
}

// measures has the API server serve a metrics API, and returns when it does.
func measures(ctx context.Context, t *testing.T, admin kubernetes.Interface, cpu map[string]string) *meters {
	t.Helper()
	m := &meters{cpu: cpu}
	server := httptest.NewTLSServer(m)
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.CoreV1().Services(deploy.Namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "meters"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	rest := admin.Discovery().RESTClient()
	if err := rest.Post().AbsPath("/apis/apiregistration.k8s.io/v1/apiservices").SetHeader("Content-Type", "application/json").Body(fmt.Appendf(nil,
		`{"kind":"APIService","apiVersion":"apiregistration.k8s.io/v1","metadata":{"name":"v1beta1.metrics.k8s.io"},"spec":{"group":"metrics.k8s.io","version":"v1beta1",`+
			`"groupPriorityMinimum":100,"versionPriority":100,"insecureSkipTLSVerify":true,"service":{"namespace":%q,"name":"meters","port":%s}}}`, deploy.Namespace, port)).Do(ctx).Error(); err != nil {
		t.Fatal(err)
	}
	var last error
	if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		last = rest.Get().AbsPath("/apis/metrics.k8s.io/v1beta1/nodes").Do(ctx).Error()
		return last == nil, nil
	}); err != nil {
		t.Fatalf("the API server serves no metrics: %v", last)
	}
	return m
}
