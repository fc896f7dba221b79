package kubesim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sluice.dev/sluice/internal/kubesim"
)

// world is a cluster on a clock that the test turns.
type world struct {
	*kubesim.Cluster
	t     testing.TB
	clock time.Time
	*kubernetes.Clientset
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	w.Cluster = &kubesim.Cluster{Now: func() time.Time { return w.clock }, Seed: 7}
	w.Clientset = must(kubernetes.NewForConfig(w.RESTConfig()))
	return w
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// settle lets the cluster act until it rests.
func (w *world) settle() {
	for range 100 {
		if !w.Step() {
			return
		}
	}
	w.t.Fatal("the cluster does not come to rest")
}

// advance turns the clock, stopping wherever something is due.
func (w *world) advance(d time.Duration) {
	end := w.clock.Add(d)
	w.settle()
	for {
		at, ok := w.NextChange()
		if !ok || at.After(end) {
			break
		}
		if at.After(w.clock) {
			w.clock = at
		}
		w.settle()
	}
	w.clock = end
	w.settle()
}

func (w *world) join(name string, cpu string) {
	w.t.Helper()
	err := w.Join(kubesim.Machine{Name: name, ProviderID: "azure:///" + name, SystemUUID: "uuid-" + name, InternalIP: "10.0.0.4",
		Capacity: corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("16Gi")}})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) create(obj kubesim.Object) {
	w.t.Helper()
	if _, err := w.Create(obj); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) pod(name string) *corev1.Pod {
	p, _ := kubesim.Find[*corev1.Pod](w.Cluster, "default", name)
	return p
}

func pod(name, cpu string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": "web"}}, Spec: podSpec(cpu)}
}

func podSpec(cpu string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}}}}
}

var ctx = context.Background()

// script is a story that touches most of the cluster.
func script(w *world) {
	for i := range 3 {
		w.join(fmt.Sprintf("n%d", i), "4")
	}
	w.create(deployment("web", 4, "1"))
	w.create(daemonSet("agent"))
	w.create(job("batch", 2, "30s"))
	w.advance(20 * time.Second)
	w.Leave("n1")
	w.advance(2 * time.Minute)
	n, _ := kubesim.Find[*corev1.Node](w.Cluster, "", "n1")
	if err := w.Delete(n, nil); err != nil {
		w.t.Fatal(err)
	}
	w.advance(2 * time.Minute)
}

func TestSameScriptGivesSameBytes(t *testing.T) {
	dump := func() string {
		w := newWorld(t)
		script(w)
		var all string
		for _, path := range []string{"/api/v1/nodes", "/api/v1/pods", "/apis/apps/v1/replicasets", "/apis/apps/v1/daemonsets", "/apis/batch/v1/jobs"} {
			all += string(must(w.CoreV1().RESTClient().Get().AbsPath(path).DoRaw(ctx)))
		}
		return all
	}
	first := dump()
	if len(first) < 5000 {
		t.Fatalf("the script left little behind: %s", first)
	}
	for range 5 {
		if again := dump(); again != first {
			t.Fatalf("two runs differ:\n%s\n%s", first, again)
		}
	}
}
