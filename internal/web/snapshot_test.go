package web

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// TestASnapshotShowsWhatACycleSaw holds that it is there only where it is asked for, and that it has no secrets.
func TestASnapshotShowsWhatACycleSaw(t *testing.T) {
	if w := ask(New(Options{}), "GET", "/snapshotz"); w.Code != http.StatusNotFound {
		t.Errorf("without the option: %d", w.Code)
	}
	s := New(Options{Snapshots: true})
	if w := ask(s, "GET", "/snapshotz"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("before the first cycle: %d", w.Code)
	}
	pod := func(name, node string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Annotations: map[string]string{"cluster-autoscaler.kubernetes.io/safe-to-evict": "Pl4nted"}},
			Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Args: []string{"Pl4nted"}, Env: []corev1.EnvVar{{Name: "KEY", Value: "Pl4nted"}}}}},
		}
	}
	e := entry()
	group := e.Seen.Groups[0]
	group.Template = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"pool": "agents"}}}
	e.Seen = cluster.New(noon, cluster.Objects{
		Nodes: []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "agents-0", Annotations: map[string]string{"a": "Pl4nted"}}}},
		Pods:  cluster.NewPods(pod("runs", "agents-0"), pod("fits", ""), pod("stuck", "")),
	}, []*cluster.Group{group})
	e.Plan.Verdicts = []action.Verdict{{Subject: reason.Pod("default", "fits"), Outcome: action.PodScheduling}, {Subject: reason.Pod("default", "stuck"), Outcome: action.PodStuck}}
	s.Report(e)
	w := ask(s, "GET", "/snapshotz")
	if w.Code != http.StatusOK || strings.Contains(w.Body.String(), "Pl4nted") {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	var have snapshotView
	if err := json.Unmarshal(w.Body.Bytes(), &have); err != nil {
		t.Fatal(err)
	}
	names := func(pods []*corev1.Pod) (all []string) {
		for _, p := range pods {
			all = append(all, p.Name)
		}
		return all
	}
	switch {
	case !have.StartTimestamp.Equal(noon):
		t.Errorf("it is of %s", have.StartTimestamp)
	case len(have.NodeList) != 1 || have.NodeList[0].Node.Name != "agents-0" || !slices.Equal(names(have.NodeList[0].Pods), []string{"runs"}):
		t.Errorf("nodes %+v", have.NodeList)
	case !slices.Equal(names(have.UnscheduledPodsCanBeScheduled), []string{"fits"}):
		t.Errorf("pods that can be scheduled %v", names(have.UnscheduledPodsCanBeScheduled))
	case have.TemplateNodes["agents"].Node.Labels["pool"] != "agents":
		t.Errorf("templates %+v", have.TemplateNodes)
	case len(have.NodeGroups) != 1 || have.NodeGroups[0] != (snapshotGroup{Name: "agents", MaxSize: 3, TargetSize: 1}):
		t.Errorf("groups %+v", have.NodeGroups)
	}
}
