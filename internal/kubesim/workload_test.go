package kubesim_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sluice.dev/sluice/internal/kubesim"
)

func template(cpu string) (*metav1.LabelSelector, corev1.PodTemplateSpec) {
	l := map[string]string{"app": "web"}
	return &metav1.LabelSelector{MatchLabels: l}, corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: l}, Spec: podSpec(cpu)}
}

func deployment(name string, replicas int32, cpu string) *appsv1.Deployment {
	sel, t := template(cpu)
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: sel, Template: t}}
}

func daemonSet(name string) *appsv1.DaemonSet {
	sel, t := template("100m")
	return &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}, Spec: appsv1.DaemonSetSpec{Selector: sel, Template: t}}
}

func job(name string, completions int32, runFor string) *batchv1.Job {
	_, t := template("500m")
	t.Labels = nil
	t.Annotations = map[string]string{kubesim.RunForAnnotation: runFor}
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: batchv1.JobSpec{Completions: &completions, Template: t}}
}

func TestDeploymentKeepsItsPodsRunning(t *testing.T) {
	w := newWorld(t)
	w.join("n0", "4")
	w.create(deployment("web", 3, "1"))
	w.advance(10 * time.Second)
	pods := kubesim.All[*corev1.Pod](w.Cluster, "default")
	if len(pods) != 3 {
		t.Fatalf("%d pods, want 3", len(pods))
	}
	if err := w.Delete(pods[0], nil); err != nil {
		t.Fatal(err)
	}
	w.advance(10 * time.Second)
	d, _ := kubesim.Find[*appsv1.Deployment](w.Cluster, "default", "web")
	if d.Status.ReadyReplicas != 3 || w.pod(pods[0].Name) != nil {
		t.Errorf("ready %d, want 3 with a replacement", d.Status.ReadyReplicas)
	}
	if err := kubesim.Edit(w.Cluster, "default", "web", func(d *appsv1.Deployment) { *d.Spec.Replicas = 1 }); err != nil {
		t.Fatal(err)
	}
	w.advance(10 * time.Second)
	if n := len(kubesim.All[*corev1.Pod](w.Cluster, "default")); n != 1 {
		t.Errorf("%d pods after scaling to 1", n)
	}
	if err := w.Delete(d.DeepCopy(), nil); err != nil {
		t.Fatal(err)
	}
	w.advance(10 * time.Second)
	if n := len(kubesim.All[*corev1.Pod](w.Cluster, "")) + len(kubesim.All[*appsv1.ReplicaSet](w.Cluster, "")); n != 0 {
		t.Errorf("%d objects outlive their Deployment", n)
	}
}

func TestJobFinishesBySimulatedClock(t *testing.T) {
	w := newWorld(t)
	w.join("n0", "4")
	w.create(job("batch", 2, "1h"))
	w.advance(time.Hour)
	running, _ := kubesim.Find[*batchv1.Job](w.Cluster, "default", "batch")
	if running.Status.Succeeded != 0 || running.Status.Active != 1 {
		t.Errorf("status after an hour: %+v", running.Status)
	}
	w.advance(2 * time.Hour)
	done, _ := kubesim.Find[*batchv1.Job](w.Cluster, "default", "batch")
	if done.Status.Succeeded != 2 || done.Status.CompletionTime == nil {
		t.Fatalf("status after three hours: %+v", done.Status)
	}
	want := time.Date(2026, 1, 1, 2, 0, 4, 0, time.UTC) // two pods in turn, 2 s to start each
	if diff := cmp.Diff(want, done.Status.CompletionTime.Time); diff != "" {
		t.Errorf("completion time (-want +got):\n%s", diff)
	}
}

func TestDaemonSetFollowsNodes(t *testing.T) {
	w := newWorld(t)
	w.create(daemonSet("agent"))
	w.join("n0", "4")
	w.join("n1", "4")
	w.advance(10 * time.Second)
	if n := len(kubesim.All[*corev1.Pod](w.Cluster, "kube-system")); n != 2 {
		t.Errorf("%d daemons on 2 nodes", n)
	}
	for _, c := range []struct {
		effect corev1.TaintEffect
		want   int
	}{{corev1.TaintEffectNoSchedule, 2}, {corev1.TaintEffectNoExecute, 1}} {
		if err := kubesim.Edit(w.Cluster, "", "n1", func(n *corev1.Node) {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "dedicated", Effect: c.effect})
		}); err != nil {
			t.Fatal(err)
		}
		w.advance(10 * time.Second)
		if n := len(kubesim.All[*corev1.Pod](w.Cluster, "kube-system")); n != c.want {
			t.Errorf("%d daemons when one node has a taint %s that they do not tolerate, want %d", n, c.effect, c.want)
		}
	}
}

func TestStatefulSetStartsInOrder(t *testing.T) {
	w := newWorld(t)
	w.join("n0", "4")
	replicas := int32(3)
	sel, tmpl := template("1")
	w.create(&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db"}, Spec: appsv1.StatefulSetSpec{Replicas: &replicas, Selector: sel, Template: tmpl}})
	w.settle()
	if w.pod("db-0") == nil || w.pod("db-1") != nil {
		t.Error("db-1 must wait for db-0")
	}
	w.advance(10 * time.Second)
	if p := w.pod("db-2"); p == nil || p.Status.Phase != corev1.PodRunning {
		t.Errorf("db-2 does not run: %v", p)
	}
}

func TestDaemonsThatWaitForNodesThatAreGoneGoInOrderOfNode(t *testing.T) {
	w := newWorld(t)
	names := []string{"n0", "n1", "n2", "n3", "n4", "n5", "n6"}
	for _, name := range names {
		w.join(name, "50m") // too small for its daemon
	}
	w.create(daemonSet("agent"))
	w.settle()
	for _, name := range names {
		n, _ := kubesim.Find[*corev1.Node](w.Cluster, "", name)
		if err := w.Delete(n, nil); err != nil {
			t.Fatal(err)
		}
	}
	since := w.ResourceVersion("pods")
	w.join("other", "4") // nodes that come have daemons looked at
	w.settle()
	_, gone, _, _ := kubesim.Changed[*corev1.Pod](w.Cluster, since)
	var order []string
	for _, p := range gone {
		order = append(order, p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Values[0])
	}
	if diff := cmp.Diff(names, order); diff != "" {
		t.Errorf("nodes whose daemons went (-want +got):\n%s", diff)
	}
}
