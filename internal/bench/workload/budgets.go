package workload

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Budgeted gives every app of the world that has running pods a disruption budget: a tenth of its pods, but at least one, may be away.
// Every fifth app has none to lose.
func Budgeted(w *World) *World {
	running := map[[2]string]int32{}
	var apps [][2]string // in the order of the pods
	for _, p := range w.Pods {
		app := [2]string{p.Namespace, p.Labels["app"]}
		if p.Spec.NodeName == "" || app[1] == agent.App {
			continue
		}
		if running[app] == 0 {
			apps = append(apps, app)
		}
		running[app]++
	}
	for i, app := range apps {
		pods := running[app]
		allowed, most := max(1, pods/10), intstr.FromString("10%")
		if i%5 == 4 {
			allowed, most = 0, intstr.FromInt32(0)
		}
		w.Budgets = append(w.Budgets, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: app[0], Name: app[1], Generation: 1, CreationTimestamp: metav1.NewTime(born)},
			Spec: policyv1.PodDisruptionBudgetSpec{
				MaxUnavailable: &most, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app[1]}},
			},
			Status: policyv1.PodDisruptionBudgetStatus{
				ObservedGeneration: 1, DisruptionsAllowed: allowed, CurrentHealthy: pods, DesiredHealthy: pods - allowed, ExpectedPods: pods,
			},
		})
	}
	return w
}
