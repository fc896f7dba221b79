package cluster_test

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
)

// TestBudgetsHoldPodsAsTheAPIServerHasIt reads each pod from paper besides: a journal tells the same.
func TestBudgetsHoldPodsAsTheAPIServerHasIt(t *testing.T) {
	in := func(phase corev1.PodPhase, ready ...corev1.ConditionStatus) *cluster.Pod {
		return Pod("web", On("a-0"), func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Conditions = phase, nil
			for _, said := range ready {
				p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: said})
			}
		})
	}
	always, healthy := policyv1.AlwaysAllow, policyv1.IfHealthyBudget
	for name, c := range map[string]struct {
		pod            *cluster.Pod
		policy         *policyv1.UnhealthyPodEvictionPolicyType
		healthy, wants int32
		holds          bool
	}{
		"a pod that is Ready":                            {in(corev1.PodRunning, corev1.ConditionTrue), &always, 2, 1, true},
		"a pod of which nobody says whether it is":       {in(corev1.PodRunning), &always, 2, 1, true},
		"a pod that is not":                              {in(corev1.PodRunning, corev1.ConditionFalse), &always, 0, 1, false},
		"a pod of a node that is lost":                   {in(corev1.PodRunning, corev1.ConditionUnknown), &always, 0, 1, false},
		"a pod that is not, while the others are enough": {in(corev1.PodRunning, corev1.ConditionFalse), nil, 1, 1, false},
		"a pod that is not, while they are too few":      {in(corev1.PodRunning, corev1.ConditionFalse), nil, 1, 2, true},
		"a pod that is not, by the default's name":       {in(corev1.PodRunning, corev1.ConditionFalse), &healthy, 1, 2, true},
		"a pod that is not, while nobody has to be":      {in(corev1.PodRunning, corev1.ConditionFalse), nil, 0, 0, true},
		"a pod that has not started":                     {in(corev1.PodPending), nil, 0, 1, false},
		"a pod that is over":                             {in(corev1.PodSucceeded, corev1.ConditionFalse), nil, 0, 1, false},
	} {
		b := Budget("web", "app", "web", 0)
		b.Spec.UnhealthyPodEvictionPolicy, b.Status.CurrentHealthy, b.Status.DesiredHealthy = c.policy, c.healthy, c.wants
		paper, err := json.Marshal(c.pod)
		if err != nil {
			t.Fatal(err)
		}
		var read cluster.Pod
		if err := json.Unmarshal(paper, &read); err != nil {
			t.Fatal(err)
		}
		if !read.Equal(c.pod) {
			t.Errorf("%s: another pod is read from its paper: %s", name, paper)
		}
		for _, p := range []*cluster.Pod{c.pod, &read} {
			if got := cluster.Holds(b, p); got != c.holds {
				t.Errorf("%s: held %t, want %t", name, got, c.holds)
			}
		}
	}
	if in(corev1.PodRunning, corev1.ConditionTrue).Equal(in(corev1.PodRunning, corev1.ConditionFalse)) {
		t.Error("a pod that ceases to be Ready counts as the same")
	}
}
