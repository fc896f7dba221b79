package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"sluice.dev/sluice/internal/controlplane/kubelets"
)

// appLabel names the workload that a pod belongs to.
const appLabel = "app"

// pod is a template with one container that asks for so much.
func pod(app, cpu, memory string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{appLabel: app}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: app, Image: "registry.example/" + app + ":1",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
			}},
		}}},
	}
}

// onPool keeps a pod to one group and lets it in there.
func onPool(t corev1.PodTemplateSpec, g group) corev1.PodTemplateSpec {
	t.Spec.NodeSelector = map[string]string{poolLabel: g.name}
	t.Spec.Tolerations = []corev1.Toleration{{Key: poolLabel, Operator: corev1.TolerationOpEqual, Value: g.name, Effect: corev1.TaintEffectNoSchedule}}
	return t
}

func named(app string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: app, Namespace: metav1.NamespaceDefault, Labels: map[string]string{appLabel: app}}
}

// createDaemons makes the DaemonSet that every node of a cluster has some of.
func (p *playground) createDaemons(ctx context.Context, app string) error {
	t := pod(app, "100m", "128Mi")
	t.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	meta := named(app)
	meta.Namespace = metav1.NamespaceSystem
	_, err := p.client.AppsV1().DaemonSets(meta.Namespace).Create(ctx, &appsv1.DaemonSet{
		ObjectMeta: meta,
		Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: meta.Labels}, Template: t},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create DaemonSet %s: %w", app, err)
	}
	return nil
}

func (p *playground) createDeployment(ctx context.Context, t corev1.PodTemplateSpec, replicas int) error {
	meta := named(t.Labels[appLabel])
	_, err := p.client.AppsV1().Deployments(meta.Namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(replicas)), Selector: &metav1.LabelSelector{MatchLabels: meta.Labels}, Template: t,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create Deployment %s: %w", meta.Name, err)
	}
	return nil
}

func (p *playground) scaleDeployment(ctx context.Context, app string, replicas int) error {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	_, err := p.client.AppsV1().Deployments(metav1.NamespaceDefault).Patch(ctx, app, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("scale Deployment %s to %d: %w", app, replicas, err)
	}
	return nil
}

func (p *playground) deleteDeployment(ctx context.Context, app string) error {
	err := p.client.AppsV1().Deployments(metav1.NamespaceDefault).Delete(ctx, app, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)})
	if err != nil {
		return fmt.Errorf("delete Deployment %s: %w", app, err)
	}
	return nil
}

// createBudget lets one pod of a workload be disrupted at a time.
func (p *playground) createBudget(ctx context.Context, app string) error {
	meta := named(app)
	_, err := p.client.PolicyV1().PodDisruptionBudgets(meta.Namespace).Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: meta,
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: meta.Labels}},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create disruption budget %s: %w", app, err)
	}
	return nil
}

// createJob makes a Job whose only pod runs on one node for so long, and is never made again.
func (p *playground) createJob(ctx context.Context, t corev1.PodTemplateSpec, node string, runs time.Duration) error {
	meta := named(t.Labels[appLabel])
	t.Annotations = map[string]string{kubelets.RunForAnnotation: runs.String()}
	t.Spec.RestartPolicy = corev1.RestartPolicyNever
	t.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
	_, err := p.client.BatchV1().Jobs(meta.Namespace).Create(ctx, &batchv1.Job{
		ObjectMeta: meta,
		Spec:       batchv1.JobSpec{BackoffLimit: new(int32(0)), Template: t},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create Job %s: %w", meta.Name, err)
	}
	return nil
}
