package kubesim_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sluice.dev/sluice/internal/kubesim"
)

func TestMachineThatLeftIsMissed(t *testing.T) {
	w := newWorld(t)
	w.join("n0", "4")
	w.create(pod("a", "1"))
	w.advance(10 * time.Second)
	w.Leave("n0")
	readyStatus := func() corev1.ConditionStatus {
		n, _ := kubesim.Find[*corev1.Node](w.Cluster, "", "n0")
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady {
				return c.Status
			}
		}
		return ""
	}
	w.advance(39 * time.Second)
	if s := readyStatus(); s != corev1.ConditionTrue {
		t.Errorf("Ready after 39 s: %s", s)
	}
	w.advance(time.Second)
	if s := readyStatus(); s != corev1.ConditionUnknown {
		t.Errorf("Ready after 40 s: %s", s)
	}
	n, _ := kubesim.Find[*corev1.Node](w.Cluster, "", "n0")
	if len(n.Spec.Taints) != 2 || n.Spec.Taints[0].Key != corev1.TaintNodeUnreachable {
		t.Errorf("taints: %v", n.Spec.Taints)
	}
	if err := w.CoreV1().Pods("default").Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.advance(time.Hour)
	if w.pod("a") == nil {
		t.Error("nobody was there to finish the deletion")
	}
	if err := w.CoreV1().Nodes().Delete(ctx, "n0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.advance(59 * time.Second)
	if w.pod("a") == nil {
		t.Error("an orphan is collected after a minute, not before")
	}
	w.advance(time.Second)
	if w.pod("a") != nil {
		t.Error("the orphan was not collected")
	}
}

func TestSchedulerSaysWhy(t *testing.T) {
	w := newWorld(t)
	w.join("n0", "4")
	w.join("n1", "4")
	w.join("n2", "4")
	taint := func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}
	}
	if err := kubesim.Edit(w.Cluster, "", "n2", taint); err != nil {
		t.Fatal(err)
	}
	gated := pod("gated", "1")
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "hold"}}
	w.create(gated)
	w.create(pod("big", "8"))
	w.settle()
	for name, want := range map[string][2]string{
		"big":   {"Unschedulable", "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu."},
		"gated": {"SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates"},
	} {
		conds := w.pod(name).Status.Conditions
		if len(conds) != 1 || conds[0].Reason != want[0] || conds[0].Message != want[1] {
			t.Errorf("%s: %+v", name, conds)
		}
	}
	w.join("n3", "16")
	if err := kubesim.Edit(w.Cluster, "default", "gated", func(p *corev1.Pod) { p.Spec.SchedulingGates = nil }); err != nil {
		t.Fatal(err)
	}
	w.advance(10 * time.Second)
	if w.pod("big").Spec.NodeName != "n3" || w.pod("gated").Spec.NodeName == "" {
		t.Errorf("big on %q, gated on %q", w.pod("big").Spec.NodeName, w.pod("gated").Spec.NodeName)
	}
}

func TestSchedulerKeepsPodsApartAndTogether(t *testing.T) {
	w := newWorld(t)
	w.join("n0", "8")
	w.join("n1", "4")
	term := []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}
	for _, name := range []string{"a", "b", "c"} {
		p := pod(name, "1")
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term}}
		w.create(p)
	}
	w.settle()
	got := [3]string{w.pod("a").Spec.NodeName, w.pod("b").Spec.NodeName, w.pod("c").Spec.NodeName}
	if got != [3]string{"n0", "n1", ""} {
		t.Errorf("placed on %v, want one a node and the third waiting", got)
	}
}
