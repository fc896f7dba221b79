package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
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
	"sluice.dev/sluice/internal/controlplane/kubelets"
	"sluice.dev/sluice/policy"
)

// TestTheIncumbentsRightsAreEnough runs a whole process with the rights that cluster-autoscaler's manifests grant and no other, on a real API server with its
// authorizer. It buys a machine for a pod, and deletes the machine when the pod is gone. The Node object stays, which it may not delete, until a cloud
// controller takes it away.
func TestTheIncumbentsRightsAreEnough(t *testing.T) {
	for _, of := range []string{"examples", "chart"} {
		t.Run(of, func(t *testing.T) { underTheRightsOf(t, "testdata/incumbent/"+of+".yaml") })
	}
}

func underTheRightsOf(t *testing.T, manifest string) {
	ctx := t.Context()
	config := controlplanetest.Start(t)
	admin, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	rights, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	grant(t, admin, bytes.TrimPrefix(rights, []byte("---\n")))
	own := rest.AnonymousClientConfig(config)
	own.BearerToken = account(t, admin, "cluster-autoscaler")
	f := newBreathing(ctx, t, admin)
	said := &lines{}
	stop := f.runs(t, Options{Kube: own, Log: slog.New(slog.NewTextHandler(said, nil)), HandBack: true})

	pending(ctx, t, admin, "web-0")
	f.until(ctx, t, "the pod runs on a machine that was bought for it", func() bool {
		p, err := admin.CoreV1().Pods("default").Get(ctx, "web-0", metav1.GetOptions{})
		return err == nil && p.Status.Phase == corev1.PodRunning
	})
	node := f.names()[0]
	if err := admin.CoreV1().Pods("default").Delete(ctx, "web-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.until(ctx, t, "the machine is gone again", func() bool { return len(f.names()) == 0 })

	// The Node object is a cloud controller's to delete. Until it does, sluice says once what it does not do.
	const lacks = "sluice may not delete nodes: Node objects of deleted machines stay until a cloud controller deletes them"
	f.until(ctx, t, "the status says what is not done", func() bool {
		m, err := admin.CoreV1().ConfigMaps(deploy.Namespace).Get(ctx, cluster.StatusName, metav1.GetOptions{})
		return err == nil && strings.Contains(m.Data["status"], "sluice may not delete nodes")
	})
	f.until(ctx, t, "an Event says it", func() bool {
		events, err := admin.CoreV1().Events(deploy.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=RightMissing"})
		return err == nil && slices.ContainsFunc(events.Items, func(e corev1.Event) bool { return e.Message == lacks })
	})
	quiet := time.Now().Add(5 * time.Second)
	f.until(ctx, t, "several cycles have passed", func() bool { return time.Now().After(quiet) })
	if _, err := admin.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{}); err != nil {
		t.Errorf("node %s: %v, want it to be there", node, err)
	}
	if err := admin.CoreV1().Nodes().Delete(ctx, node, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	log := said.String()
	if strings.Contains(log, "action failed") || strings.Contains(log, "action refused") || strings.Contains(log, "list and watch") || strings.Contains(log, "report failed") {
		t.Errorf("something was tried in vain:\n%s", log)
	}
	if n := strings.Count(log, lacks); n != 1 {
		t.Errorf("the log says %d times what is not done, want once:\n%s", n, log)
	}

	client, err := kubernetes.NewForConfig(own)
	if err != nil {
		t.Fatal(err)
	}
	denied, without, _, err := examineRights(ctx, client, Election{Namespace: deploy.Namespace, Name: "cluster-autoscaler"})
	if err != nil || len(denied) > 0 || !without.Has(cluster.DeleteNodes) || without.Has(cluster.PatchNode) {
		t.Errorf("doctor misses %v and does without %v, %v", denied, without, err)
	}

	// It hands back at its end.
	pending(ctx, t, admin, "web-1")
	f.until(ctx, t, "another pod runs", func() bool {
		p, err := admin.CoreV1().Pods("default").Get(ctx, "web-1", metav1.GetOptions{})
		return err == nil && p.Status.Phase == corev1.PodRunning
	})
	if err := admin.CoreV1().Pods("default").Delete(ctx, "web-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	node = f.names()[0]
	marked := func() string {
		n, err := admin.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return cluster.OwnerOf(n)
	}
	f.until(ctx, t, "its node is marked", func() bool { return marked() != "" })
	stop()
	if left := marked(); left != "" {
		t.Errorf("node %s still bears the name %s:\n%s", node, left, said)
	}
}

// breathing is a scale set without machines, whose kubelets join and leave with them.
type breathing struct {
	farmOfTwo
	server *azuresim.Server
	ended  chan error
}

func newBreathing(ctx context.Context, t *testing.T, admin kubernetes.Interface) *breathing {
	t.Helper()
	const subscription, group = "00000000-0000-0000-0000-000000000001", "Farm"
	a := &azuresim.Server{AnyToken: true, Boot: azuresim.Fixed(0), Delete: azuresim.Fixed(100 * time.Millisecond)}
	for _, err := range []error{
		a.AddMachine(azuresim.Machine{Subscription: subscription, ResourceGroup: group, Name: "server-0", Location: "westeurope", SystemAssigned: true}),
		a.AddScaleSet(azuresim.ScaleSet{Subscription: subscription, ResourceGroup: group, Name: "agents", Location: "westeurope", Size: "Standard_D4s_v5", VCPUs: 4, Family: "standardDSv5Family"}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	f := &breathing{farmOfTwo: farmOfTwo{azure: a, kubelets: &kubelets.Kubelets{Client: admin}, joined: map[string]bool{}}, server: a, ended: make(chan error, 1)}
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
	return f
}

// runs has a process run on the farm until it is told to stop, at the latest when the test ends.
func (f *breathing) runs(t *testing.T, o Options) (stop func()) {
	t.Helper()
	machine, identity := Identify("server-0")
	o.Azure = azure.Options{Groups: []azure.GroupSpec{{Name: "agents", Max: 5}}, Transport: &azuresim.Transport{Server: f.server, Machine: "server-0"}, Log: o.Log}
	o.Policy = policy.Default()
	o.Policy.Growth.BurstWindow = 0
	o.Policy.Removal.Unneeded, o.Policy.Removal.AfterTaint, o.Policy.Removal.Exclusion, o.Policy.Removal.AfterAdd = 3*time.Second, time.Second, time.Second, 0
	o.Timing, o.Namespace, o.WriteStatus, o.StatusName = Timing{Resync: time.Second}, deploy.Namespace, true, cluster.StatusName
	o.Election = Election{
		Enabled: true, Namespace: deploy.Namespace, Name: "cluster-autoscaler", Machine: machine, Identity: identity,
		Lease: leaseLasts, Renew: 4 * time.Second, Retry: 200 * time.Millisecond,
	}
	life, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := Run(life, o)
		if life.Err() == nil {
			f.ended <- err
		} else if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}()
	stop = func() {
		end()
		<-ended
	}
	t.Cleanup(stop)
	return stop
}

// until waits until that is so. Kubelets begin and end with their machines.
func (f *breathing) until(ctx context.Context, t *testing.T, what string, so func() bool) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
		there := map[string]bool{}
		for _, m := range f.azure.Machines() {
			if m.ScaleSet == "" {
				continue
			}
			if there[m.ComputerName] = true; f.joined[m.ComputerName] {
				continue
			}
			if err := f.kubelets.Join(ctx, kubelets.Machine{
				Name: m.ComputerName, ProviderID: "azure://" + m.ID, SystemUUID: m.VMID, InternalIP: m.PrivateIP,
				Labels:   map[string]string{corev1.LabelInstanceTypeStable: m.Size, corev1.LabelTopologyRegion: m.Location, corev1.LabelTopologyZone: "0"},
				Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi")},
			}); err != nil {
				return false, err
			}
			f.joined[m.ComputerName] = true
		}
		for name := range f.joined {
			if !there[name] {
				f.kubelets.Leave(name)
				delete(f.joined, name)
			}
		}
		select {
		case err := <-f.ended:
			return false, err
		default:
			return so(), nil
		}
	}); err != nil {
		t.Fatalf("%s: %v; there are %v", what, err, f.names())
	}
}

// lines is what a log has said.
type lines struct {
	mu  sync.Mutex
	all strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}
