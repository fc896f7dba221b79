package resident

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/bench/workload"
	"sluice.dev/sluice/internal/kube"
)

// TestTheServedClusterIsTheSteadyOne reads the cluster as sluice does, in pages and by streams, and finds what the workload says.
func TestTheServedClusterIsTheSteadyOne(t *testing.T) {
	const nodes = 250
	served, err := Serve(nodes)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(served)
	defer server.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop() // before the server closes, which waits for watches
	listed, err := kube.List(ctx, client, kube.Besides{Controllers: true})
	if err != nil {
		t.Fatal(err)
	}
	observer := kube.NewObserver(client, kube.Options{Patience: time.Minute, Besides: kube.Besides{Controllers: true}})
	if err := observer.Start(ctx); err != nil {
		t.Fatal(err)
	}
	watched, err := observer.Objects()
	if err != nil {
		t.Fatal(err)
	}
	w := workload.NewSteadyWorld(1, nodes)
	owners := map[types.UID]bool{}
	for _, p := range w.Pods {
		if by := metav1.GetControllerOf(p); by.Kind == "ReplicaSet" {
			owners[by.UID] = true
		}
	}
	for how, got := range map[string]cluster.Objects{"listed": listed, "watched": watched} {
		if len(got.Nodes) != nodes || len(got.DaemonSets) != 1 || len(got.Namespaces) != len(w.Namespaces) {
			t.Errorf("%s: %d nodes, %d daemon sets, %d namespaces", how, len(got.Nodes), len(got.DaemonSets), len(got.Namespaces))
		}
		if len(got.Controllers.ReplicaSets) != len(owners)*(1+kept) {
			t.Errorf("%s: %d ReplicaSets, want %d with %d revisions each", how, len(got.Controllers.ReplicaSets), len(owners), kept)
		}
		told := map[types.UID]bool{}
		for _, c := range got.Controllers.ReplicaSets {
			told[c.UID] = true
		}
		for uid := range owners {
			if !told[uid] {
				t.Fatalf("%s: ReplicaSet %s is not there, whose pods are", how, uid)
			}
		}
	}
	if len(listed.Pods) != len(w.Pods) {
		t.Fatalf("%d pods are listed, want %d", len(listed.Pods), len(w.Pods))
	}
	type facts struct {
		Node     string
		Labels   map[string]string
		Selector map[string]string
		CPU      string
		Phase    corev1.PodPhase
	}
	of := func(p *corev1.Pod) facts {
		return facts{p.Spec.NodeName, p.Labels, p.Spec.NodeSelector, p.Spec.Containers[0].Resources.Requests.Cpu().String(), p.Status.Phase}
	}
	for i, want := range workload.Sorted(w.Pods) {
		if d := cmp.Diff(of(want), of(listed.Pods[i].Object())); d != "" {
			t.Fatalf("pod %s (-want +got):\n%s", want.Name, d)
		}
	}
	groups, err := fleet(ctx, server.URL)
	if err != nil {
		t.Fatal(err)
	}
	s := cluster.New(workload.At, listed, groups)
	for _, n := range s.Nodes {
		if n.Instance == nil {
			t.Fatalf("node %s is no machine of the served groups", n.Name())
		}
	}
}

// TestChurnIsTheTraceHour counts what happens, however fast.
func TestChurnIsTheTraceHour(t *testing.T) {
	s := workload.NewSteady(1, 250)
	w := workload.NewSteadyWorld(1, 250)
	pods := newWardrobe(w)
	appeared, gone := 0, 0
	for _, step := range s.Steps[s.Initial():] {
		if step.Gone {
			gone++
		} else {
			appeared++
		}
	}
	got := map[watch.EventType]int{}
	for i, e := range newChurn(s, pods).events {
		got[e.kind]++
		if e.version != beginning+1+i {
			t.Fatalf("event %d has version %d", i, e.version)
		}
		if p := pods.dressed(e.pod, e.version); p.Name != e.pod.Name || p.Spec.NodeName != e.pod.Spec.NodeName {
			t.Fatalf("pod %s on %q is told of as %s on %q", e.pod.Name, e.pod.Spec.NodeName, p.Name, p.Spec.NodeName)
		}
	}
	if want := map[watch.EventType]int{watch.Added: appeared, watch.Modified: appeared, watch.Deleted: gone}; !cmp.Equal(want, got) {
		t.Errorf("%v, want %v", got, want)
	}
}
