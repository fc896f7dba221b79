package kubesim_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"sluice.dev/sluice/internal/kubesim"
)

func TestInformerSeesEveryChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.join("n0", "4")
		stop := make(chan struct{})
		factory := informers.NewSharedInformerFactory(w.Clientset, 0)
		lister := factory.Core().V1().Pods().Lister().Pods("default")
		factory.Start(stop)
		factory.WaitForCacheSync(stop)
		must(w.CoreV1().Pods("default").Create(ctx, pod("a", "1"), metav1.CreateOptions{}))
		w.advance(5 * time.Second)
		synctest.Wait()
		if p, err := lister.Get("a"); err != nil || p.Status.Phase != corev1.PodRunning || p.Spec.NodeName != "n0" {
			t.Errorf("informer holds %v, %v; want it Running on n0", p, err)
		}
		if n := w.CutWatches(""); n == 0 {
			t.Error("no watch to cut")
		}
		must(w.CoreV1().Pods("default").Create(ctx, pod("b", "1"), metav1.CreateOptions{}))
		time.Sleep(time.Minute) // of the bubble: the reflector backs off
		synctest.Wait()
		if _, err := lister.Get("b"); err != nil {
			t.Errorf("after a cut watch: %v", err)
		}
		lift := w.Inject(kubesim.Fault{Resource: "pods", Stall: true})
		must(w.CoreV1().Pods("default").Create(ctx, pod("c", "1"), metav1.CreateOptions{}))
		synctest.Wait()
		if _, err := lister.Get("c"); err == nil {
			t.Error("a stalled watch delivered")
		}
		lift()
		synctest.Wait()
		if _, err := lister.Get("c"); err != nil {
			t.Errorf("after the stall: %v", err)
		}
		close(stop)
		factory.Shutdown()
	})
}

func TestStaleUpdateConflicts(t *testing.T) {
	w := newWorld(t)
	w.join("n0", "4")
	nodes := w.CoreV1().Nodes()
	n := must(nodes.Get(ctx, "n0", metav1.GetOptions{}))
	n.Spec.Unschedulable = true
	must(nodes.Update(ctx, n, metav1.UpdateOptions{}))
	n.Spec.Unschedulable = false
	if _, err := nodes.Update(ctx, n, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("stale update: %v, want a conflict", err)
	}
	patch := []byte(`{"metadata":{"uid":"` + string(n.UID) + `","resourceVersion":"1"},"spec":{"unschedulable":null}}`)
	if _, err := nodes.Patch(ctx, "n0", types.MergePatchType, patch, metav1.PatchOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("stale patch: %v, want a conflict", err)
	}
	got := must(nodes.Patch(ctx, "n0", types.StrategicMergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}))
	if got.Labels["a"] != "b" || got.Labels[corev1.LabelHostname] != "n0" || !got.Spec.Unschedulable {
		t.Errorf("patched node: %+v", got)
	}
	if _, err := nodes.Patch(ctx, "n0", types.JSONPatchType, []byte(`[{"op":"test","path":"/metadata/labels/a","value":"x"}]`), metav1.PatchOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("a JSON patch whose test fails: %v, want 422", err)
	}
}

func TestEvictionWaitsForItsBudget(t *testing.T) {
	w := newWorld(t)
	w.join("n0", "4")
	w.create(pod("a", "1"))
	w.create(pod("b", "1"))
	two := intstr.FromInt32(2)
	w.create(&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: policyv1.PodDisruptionBudgetSpec{
		MinAvailable: &two, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}})
	w.advance(10 * time.Second)
	evict := func() error {
		return w.CoreV1().Pods("default").EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
	}
	err := evict()
	if !apierrors.IsTooManyRequests(err) || !apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) {
		t.Fatalf("eviction under a full budget: %v", err)
	}
	w.create(pod("c", "1"))
	w.advance(10 * time.Second)
	if err := evict(); err != nil {
		t.Fatalf("eviction with one to spare: %v", err)
	}
	if w.pod("a").DeletionTimestamp == nil {
		t.Error("evicted pod is not going")
	}
	w.advance(10 * time.Second)
	if w.pod("a") != nil {
		t.Error("evicted pod is still there")
	}
	w.create(&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "second"}, Spec: policyv1.PodDisruptionBudgetSpec{
		Selector: &metav1.LabelSelector{}}})
	w.settle()
	err = w.CoreV1().Pods("default").EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}})
	if err == nil || !strings.Contains(err.Error(), "more than one PodDisruptionBudget") {
		t.Errorf("eviction under two budgets: %v", err)
	}
	var codes []int
	for _, r := range w.Log() {
		codes = append(codes, r.Code)
	}
	if len(codes) != 3 || codes[0] != 429 || codes[1] != 201 || codes[2] != 500 {
		t.Errorf("logged codes %v, want 429 201 500", codes)
	}
}

func TestDeletionHonoursPreconditionsAndGrace(t *testing.T) {
	w := newWorld(t)
	w.join("n0", "4")
	w.create(pod("a", "1"))
	w.create(pod("waits", "64"))
	w.advance(10 * time.Second)
	pods := w.CoreV1().Pods("default")
	wrong := types.UID("other")
	if err := pods.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}}); !apierrors.IsConflict(err) {
		t.Errorf("delete of another UID: %v, want a conflict", err)
	}
	if err := pods.Delete(ctx, "waits", metav1.DeleteOptions{}); err != nil || w.pod("waits") != nil {
		t.Errorf("an unplaced pod goes at once: %v", err)
	}
	uid := w.pod("a").UID
	if err := pods.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}); err != nil {
		t.Fatal(err)
	}
	if p := w.pod("a"); p == nil || p.DeletionTimestamp.Sub(w.clock) != 30*time.Second {
		t.Errorf("a placed pod is given its grace: %v", p)
	}
	w.advance(2 * time.Second)
	if w.pod("a") != nil {
		t.Error("the kubelet did not finish the deletion")
	}
	if err := pods.Delete(ctx, "a", metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("delete of nothing: %v", err)
	}
}

func TestFaultsStrikeAndPass(t *testing.T) {
	w := newWorld(t)
	w.Inject(kubesim.Fault{Verb: "create", Resource: "pods", Times: 1, Code: 504, Reason: metav1.StatusReasonTimeout, AfterEffect: true})
	w.Inject(kubesim.Fault{Verb: "delete", Resource: "pods", Times: 1})
	pods := w.CoreV1().Pods("default")
	if _, err := pods.Create(ctx, pod("a", "1"), metav1.CreateOptions{}); !apierrors.IsTimeout(err) {
		t.Errorf("create: %v, want a timeout", err)
	}
	if err := pods.Delete(ctx, "a", metav1.DeleteOptions{}); err == nil || !strings.Contains(err.Error(), "reset") {
		t.Errorf("delete: %v, want a broken connection", err)
	}
	if _, err := pods.Get(ctx, "a", metav1.GetOptions{}); err != nil {
		t.Errorf("the create had no effect: %v", err)
	}
}
