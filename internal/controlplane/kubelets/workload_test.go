package kubelets_test

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"sluice.dev/sluice/internal/controlplane/kubelets"
)

func (p *pool) deploy(replicas int32) {
	p.Helper()
	_, err := client.AppsV1().Deployments(p.name).Create(p.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: p.selector(), Template: p.template()},
	}, metav1.CreateOptions{})
	if err != nil {
		p.Fatal(err)
	}
}

func TestDeploymentBecomesAvailable(t *testing.T) {
	p := newPool(t, 2)
	p.deploy(5)
	p.eventuallyRuns(5)
	p.eventually(func(ctx context.Context) error {
		d, err := client.AppsV1().Deployments(p.name).Get(ctx, "web", metav1.GetOptions{})
		if err == nil && d.Status.AvailableReplicas != 5 {
			err = fmt.Errorf("%d available replicas, want 5", d.Status.AvailableReplicas)
		}
		return err
	})
}

func TestPodsWaitForTheNodeThatHoldsThem(t *testing.T) {
	p := newPool(t, 1)
	p.deploy(6)
	p.eventually(func(ctx context.Context) error {
		pods, err := p.pods(ctx)
		running, refused := 0, 0
		for _, pod := range pods {
			if runs(pod) {
				running++
			}
			for _, c := range pod.Status.Conditions {
				if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
					refused++
				}
			}
		}
		if err == nil && (running != 4 || refused != 2) {
			err = fmt.Errorf("%d pods run and %d are unschedulable, want 4 and 2 on four cores", running, refused)
		}
		return err
	})
	p.join()
	p.eventuallyRuns(6)
}

func TestJobCompletesWhenItsPodsHaveRunFor(t *testing.T) {
	p := newPool(t, 1)
	template := p.template()
	template.Annotations = map[string]string{kubelets.RunForAnnotation: "1s"}
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	two := int32(2)
	_, err := client.BatchV1().Jobs(p.name).Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "render"},
		Spec:       batchv1.JobSpec{Completions: &two, Parallelism: &two, Template: template},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p.eventually(func(ctx context.Context) error {
		j, err := client.BatchV1().Jobs(p.name).Get(ctx, "render", metav1.GetOptions{})
		if err == nil && (j.Status.CompletionTime == nil || j.Status.Succeeded != 2 || j.Status.Failed != 0) {
			err = fmt.Errorf("job is not complete: %+v", j.Status)
		}
		return err
	})
}

func TestDaemonSetLandsOnEveryNode(t *testing.T) {
	p := newPool(t, 2)
	_, err := client.AppsV1().DaemonSets(p.name).Create(t.Context(), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "agent"},
		Spec:       appsv1.DaemonSetSpec{Selector: p.selector(), Template: p.template()},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p.eventuallyRuns(2)
	p.join()
	on := map[string]bool{}
	for _, pod := range p.eventuallyRuns(3) {
		on[pod.Spec.NodeName] = true
	}
	if len(on) != 3 {
		t.Errorf("the daemon set's pods run on %v, want one on each of %v", on, p.nodes)
	}
}

func TestEvictionHonoursDisruptionBudgets(t *testing.T) {
	p := newPool(t, 1)
	p.deploy(2)
	pods := p.eventuallyRuns(2)
	least := intstr.FromInt32(2)
	budgets := client.PolicyV1().PodDisruptionBudgets(p.name)
	budget, err := budgets.Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &least, Selector: p.selector()},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p.eventually(func(ctx context.Context) error {
		b, err := budgets.Get(ctx, "web", metav1.GetOptions{})
		if err == nil && (b.Status.ObservedGeneration != b.Generation || b.Status.CurrentHealthy != 2) {
			err = fmt.Errorf("budget counts %d healthy pods, want 2", b.Status.CurrentHealthy)
		}
		return err
	})
	evict := func(ctx context.Context) error {
		return client.CoreV1().Pods(p.name).EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pods[0].Name}})
	}
	if err := evict(t.Context()); !apierrors.IsTooManyRequests(err) {
		t.Fatalf("eviction that the budget forbids: %v, want 429", err)
	}

	if err := budgets.Delete(t.Context(), budget.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.eventually(evict)
	p.eventually(func(ctx context.Context) error {
		_, err := client.CoreV1().Pods(p.name).Get(ctx, pods[0].Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("evicted pod is not gone: %v", err)
	})
	p.eventuallyRuns(2)
}
