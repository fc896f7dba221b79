package kubelets_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/internal/controlplane"
	"sluice.dev/sluice/internal/controlplane/kubelets"
)

// One control plane and one set of kubelets serve all tests of this package. A test keeps to a pool of its own: see newPool.
var (
	client  kubernetes.Interface
	kubelet *kubelets.Kubelets
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	plane, err := controlplane.Start(ctx, controlplane.Options{OrphanQuarantine: 2 * time.Second})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	if client, err = kubernetes.NewForConfig(plane.Config()); err != nil {
		return 1, err
	}
	kubelet = &kubelets.Kubelets{
		Client:       client,
		PodStart:     20 * time.Millisecond,
		PodStop:      20 * time.Millisecond,
		LeaseRenewal: 500 * time.Millisecond, // so that tests see it
	}
	ran := make(chan error, 1)
	go func() { ran <- kubelet.Run(ctx) }()
	code = m.Run()
	cancel()
	return code, <-ran
}

// pool is a group of nodes, and a namespace of the same name, of one test.
type pool struct {
	*testing.T
	name  string
	nodes []string
}

// newPool joins n machines of four cores whose nodes carry the label pool, with the test's name for a value.
func newPool(t *testing.T, n int) *pool {
	t.Parallel()
	p := &pool{T: t, name: strings.ToLower(t.Name())}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.name}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for range n {
		p.join()
	}
	return p
}

func (p *pool) join() {
	p.Helper()
	m := p.machine(len(p.nodes))
	if err := kubelet.Join(p.Context(), m); err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { kubelet.Leave(m.Name) })
	p.nodes = append(p.nodes, m.Name)
}

func (p *pool) machine(i int) kubelets.Machine {
	return kubelets.Machine{
		Name:       fmt.Sprintf("%s-%d", p.name, i),
		ProviderID: fmt.Sprintf("azure:///%s/%d", p.name, i),
		SystemUUID: fmt.Sprintf("00000000-0000-0000-0000-%012d", i),
		InternalIP: "10.1.0.1",
		Labels:     map[string]string{"pool": p.name},
		Capacity: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("4"),
			corev1.ResourceMemory: resource.MustParse("16Gi"),
		},
	}
}

// template is a pod that runs on the pool only.
func (p *pool) template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: p.labels()},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"pool": p.name},
			Containers: []corev1.Container{{Name: "main", Image: "none", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
			}}},
		},
	}
}

func (p *pool) labels() map[string]string { return map[string]string{"app": p.name} }

func (p *pool) selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: p.labels()}
}

// pods are the pool's, by name.
func (p *pool) pods(ctx context.Context) ([]corev1.Pod, error) {
	list, err := client.CoreV1().Pods(p.name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// eventually waits for check to answer nil, and fails the test with its last answer.
func (p *pool) eventually(check func(context.Context) error) {
	p.Helper()
	last := errors.New("never checked")
	err := wait.PollUntilContextTimeout(p.Context(), 20*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		answer := check(ctx)
		if answer == nil || ctx.Err() == nil { // an answer cut off by the deadline says nothing
			last = answer
		}
		return answer == nil, nil
	})
	if err != nil {
		p.Fatal(last)
	}
}

// eventuallyRuns waits until exactly n of the pool's pods are there, all Running and Ready on the pool's nodes.
func (p *pool) eventuallyRuns(n int) []corev1.Pod {
	p.Helper()
	var pods []corev1.Pod
	p.eventually(func(ctx context.Context) (err error) {
		if pods, err = p.pods(ctx); err != nil {
			return err
		}
		for _, pod := range pods {
			if !runs(pod) {
				return fmt.Errorf("pod %s is %s on node %q", pod.Name, pod.Status.Phase, pod.Spec.NodeName)
			}
		}
		if len(pods) != n {
			return fmt.Errorf("%d pods, want %d", len(pods), n)
		}
		return nil
	})
	return pods
}

func runs(pod corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil
		}
	}
	return false
}
