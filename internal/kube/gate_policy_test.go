package kube_test

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/deploy"
	"sluice.dev/sluice/internal/controlplane/controlplanetest"
)

const capacityGate = "sluice.dev/capacity"

// onlyWithGates skips a test of the capacity gate on API servers that lack its kind of policy, as those of before 1.36: see make skew.
func onlyWithGates(t *testing.T, api kubernetes.Interface) {
	t.Helper()
	if _, err := api.AdmissionregistrationV1().MutatingAdmissionPolicies().List(t.Context(), metav1.ListOptions{}); apierrors.IsNotFound(err) {
		if os.Getenv("SLUICE_KUBERNETES") == "" {
			t.Fatal("the Kubernetes that sluice is built with serves no policy for the capacity gate")
		}
		t.Skip("done without: the capacity gate")
	}
}

// TestAdmissionPolicyGatesOnlyPodsThatAskForIt applies the shipped policy to a real API server.
func TestAdmissionPolicyGatesOnlyPodsThatAskForIt(t *testing.T) {
	api, err := kubernetes.NewForConfig(controlplanetest.Start(t))
	if err != nil {
		t.Fatal(err)
	}
	onlyWithGates(t, api)
	e := &estate{T: t, admin: api}
	e.must(api.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: deploy.Namespace}}, metav1.CreateOptions{}))
	e.apply(deploy.CapacityGate)
	for name, labels := range map[string]map[string]string{"gated": {"sluice.dev/capacity-gate": "true"}, "plain": nil} {
		if _, err := api.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := api.CoreV1().ServiceAccounts(name).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{}); err != nil {
			t.Log(err) // its controller was faster
		}
	}
	gates := func(ctx context.Context, namespace string, edit func(*corev1.Pod)) ([]string, error) {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "p-"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
		if edit != nil {
			edit(p)
		}
		made, err := api.CoreV1().Pods(namespace).Create(ctx, p, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return nil, err
		}
		var names []string
		for _, g := range made.Spec.SchedulingGates {
			names = append(names, g.Name)
		}
		return names, nil
	}
	label := func(value string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Labels = map[string]string{"sluice.dev/capacity-gate": value} }
	}
	// The API server learns of a policy a moment after it accepted it.
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		byNamespace, _ := gates(ctx, "gated", nil)
		byLabel, _ := gates(ctx, "plain", label("true"))
		return len(byNamespace) == 1 && len(byLabel) == 1, nil
	})
	if err != nil {
		t.Fatal("the policy never gated a pod: ", err)
	}
	for name, c := range map[string]struct {
		namespace string
		edit      func(*corev1.Pod)
		want      []string
	}{
		"a pod of a labelled namespace":       {"gated", nil, []string{capacityGate}},
		"a labelled pod of another namespace": {"plain", label("true"), []string{capacityGate}},
		"a pod of another namespace":          {"plain", nil, nil},
		"a pod with other labels":             {"plain", func(p *corev1.Pod) { p.Labels = map[string]string{"app": "web"} }, nil},
		"a pod that stays out of it":          {"gated", label("false"), nil},
		"a pod that names its node":           {"gated", func(p *corev1.Pod) { p.Spec.NodeName = "n" }, nil},
		"a pod that has the gate already":     {"gated", func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: capacityGate}} }, []string{capacityGate}},
		"a pod behind somebody else's gate as well": {"gated", func(p *corev1.Pod) {
			p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/approval"}}
		}, []string{"example.com/approval", capacityGate}},
		"a daemon": {"gated", func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: "1"}}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := gates(t.Context(), c.namespace, c.edit)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("gates %q, want %q", got, c.want)
			}
		})
	}
}
