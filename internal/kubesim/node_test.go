package kubesim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
	web := []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}
	apart := &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: web}}
	near := &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: web}}
	spread := []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: web[0].LabelSelector}}
	other := map[string]string{"app": "other"}
	with := func(labels map[string]string, a *corev1.Affinity, s []corev1.TopologySpreadConstraint) *corev1.Pod {
		p := pod("", "1")
		p.Labels, p.Spec.Affinity, p.Spec.TopologySpreadConstraints = labels, a, s
		return p
	}
	plain := pod("", "1").Labels
	for name, tc := range map[string]struct {
		pods []*corev1.Pod // created in this order; n0 has room for 8, n1 for 4
		want []string      // where each goes, "" for nowhere
	}{
		"one a node and the third waits":           {[]*corev1.Pod{with(plain, apart, nil), with(plain, apart, nil), with(plain, apart, nil)}, []string{"n0", "n1", ""}},
		"away from a pod that does not mind":       {[]*corev1.Pod{with(plain, nil, nil), with(other, apart, nil)}, []string{"n0", "n1"}},
		"a placed pod keeps others away":           {[]*corev1.Pod{with(other, apart, nil), with(plain, nil, nil)}, []string{"n0", "n1"}},
		"next to the one it wants":                 {[]*corev1.Pod{with(plain, nil, nil), with(other, near, nil), with(other, near, nil), with(other, near, nil), with(other, near, nil), with(other, near, nil)}, []string{"n0", "n0", "n0", "n0", "n0", "n0"}},
		"nobody there to be next to":               {[]*corev1.Pod{with(other, near, nil)}, []string{""}},
		"the first of a kind that wants its like":  {[]*corev1.Pod{with(plain, near, nil)}, []string{"n0"}},
		"spread evenly though one node is emptier": {[]*corev1.Pod{with(plain, nil, spread), with(plain, nil, spread), with(plain, nil, spread), with(plain, nil, spread)}, []string{"n0", "n1", "n0", "n1"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.join("n0", "8")
			w.join("n1", "4")
			var got []string
			for i, p := range tc.pods {
				p.Name = fmt.Sprintf("p%d", i)
				w.create(p)
				w.settle()
				got = append(got, w.pod(p.Name).Spec.NodeName)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
		})
	}
}
