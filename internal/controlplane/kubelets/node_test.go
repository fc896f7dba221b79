package kubelets_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/internal/controlplane/kubelets"
)

func TestNodeRegistersAsItsMachine(t *testing.T) {
	p := newPool(t, 0)
	m := p.machine(0)
	m.Taints = []corev1.Taint{{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}}
	if err := kubelet.Join(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	defer kubelet.Leave(m.Name)
	var node *corev1.Node
	p.eventually(func(ctx context.Context) (err error) {
		if node, err = client.CoreV1().Nodes().Get(ctx, m.Name, metav1.GetOptions{}); err != nil {
			return err
		}
		if diff := cmp.Diff(m.Taints, node.Spec.Taints); diff != "" {
			return fmt.Errorf("taints once it is Ready, without those of admission (-want +got):\n%s", diff)
		}
		return nil
	})
	got := kubelets.Machine{
		Name: node.Labels[corev1.LabelHostname], ProviderID: node.Spec.ProviderID, SystemUUID: node.Status.NodeInfo.SystemUUID,
		Labels: map[string]string{"pool": node.Labels["pool"]}, Taints: m.Taints, Capacity: m.Capacity,
	}
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			got.InternalIP = a.Address
		}
	}
	if diff := cmp.Diff(m, got); diff != "" {
		t.Errorf("the machine as its node shows it (-want +got):\n%s", diff)
	}
	want := corev1.ResourceList{
		corev1.ResourceCPU: m.Capacity[corev1.ResourceCPU], corev1.ResourceMemory: m.Capacity[corev1.ResourceMemory],
		corev1.ResourcePods: node.Status.Capacity[corev1.ResourcePods],
	}
	if diff := cmp.Diff(want, node.Status.Allocatable); diff != "" {
		t.Errorf("allocatable (-want +got):\n%s", diff)
	}
}

// renewed is when the node's lease was renewed last.
func (p *pool) renewed(ctx context.Context, node string) (time.Time, error) {
	lease, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return time.Time{}, err
	}
	return lease.Spec.RenewTime.Time, nil
}

func TestLeaseIsRenewed(t *testing.T) {
	p := newPool(t, 1)
	var first time.Time
	p.eventually(func(ctx context.Context) (err error) {
		first, err = p.renewed(ctx, p.nodes[0])
		return err
	})
	p.eventually(func(ctx context.Context) error {
		again, err := p.renewed(ctx, p.nodes[0])
		if err == nil && !again.After(first) {
			err = fmt.Errorf("lease was renewed at %s and not since", first)
		}
		return err
	})
}

// TestAKubeletThatLivesContradicts has a node and its pod called unready, as the node lifecycle controller does when leases come late.
func TestAKubeletThatLivesContradicts(t *testing.T) {
	p := newPool(t, 1)
	p.deploy(1)
	pod := p.eventuallyRuns(1)[0]
	called := []byte(`{"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown"}]}}`)
	if _, err := client.CoreV1().Nodes().Patch(t.Context(), p.nodes[0], types.StrategicMergePatchType, called, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	called = []byte(`{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`)
	if _, err := client.CoreV1().Pods(p.name).Patch(t.Context(), pod.Name, types.StrategicMergePatchType, called, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	p.eventually(func(ctx context.Context) error {
		node, err := client.CoreV1().Nodes().Get(ctx, p.nodes[0], metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
				return fmt.Errorf("node is still said to be %s: %s", c.Type, c.Status)
			}
		}
		again, err := client.CoreV1().Pods(p.name).Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if again.Status.PodIP != pod.Status.PodIP || again.Status.Phase != corev1.PodRunning {
			t.Errorf("its pod was started anew: %+v", again.Status)
		}
		for _, c := range again.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status != corev1.ConditionTrue {
				return fmt.Errorf("its pod is still said to be %s: %s", c.Type, c.Status)
			}
		}
		return nil
	})
}

func TestPodsOfADeletedNodeAreCollected(t *testing.T) {
	p := newPool(t, 2)
	p.deploy(6)
	p.eventuallyRuns(6)
	kubelet.Leave(p.nodes[0])
	if err := client.CoreV1().Nodes().Delete(t.Context(), p.nodes[0], metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.eventually(func(ctx context.Context) error {
		pods, err := p.pods(ctx)
		for _, pod := range pods {
			if pod.Spec.NodeName == p.nodes[0] {
				return fmt.Errorf("pod %s is still on node %s, which is gone", pod.Name, p.nodes[0])
			}
		}
		return err
	})
}

func TestMachineThatLeftAcknowledgesNothing(t *testing.T) {
	p := newPool(t, 1)
	p.deploy(1)
	pod := p.eventuallyRuns(1)[0]
	kubelet.Leave(p.nodes[0])
	cordon := []byte(`{"spec":{"unschedulable":true}}`) // nobody has noticed yet that the machine left
	if _, err := client.CoreV1().Nodes().Patch(t.Context(), p.nodes[0], types.StrategicMergePatchType, cordon, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.CoreV1().Pods(p.name).Delete(t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.join() // a live machine, whose own pod shows that the kubelets have seen the deletion
	p.eventually(func(ctx context.Context) error {
		pods, err := p.pods(ctx)
		for _, other := range pods {
			if other.Spec.NodeName == p.nodes[1] && runs(other) {
				return nil
			}
		}
		return fmt.Errorf("no pod runs on the second node: %v", err)
	})
	left, err := client.CoreV1().Pods(p.name).Get(t.Context(), pod.Name, metav1.GetOptions{})
	if err != nil || left.DeletionTimestamp == nil || left.Status.Phase != corev1.PodRunning {
		t.Errorf("deleted pod of a machine that left: %v, %+v; want it to linger as it was", err, left.Status)
	}
	if err := kubelet.Join(t.Context(), p.machine(0)); err != nil {
		t.Fatal(err)
	}
	p.eventuallyRuns(1) // its kubelet is back and takes the pod down
}

func TestMachineTakesOverTheNodeOfItsName(t *testing.T) {
	p := newPool(t, 1)
	kubelet.Leave(p.nodes[0])
	m := p.machine(0)
	m.SystemUUID, m.Labels["generation"] = "10000000-0000-0000-0000-000000000000", "2"
	if err := kubelet.Join(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	p.eventually(func(ctx context.Context) error {
		node, err := client.CoreV1().Nodes().Get(ctx, m.Name, metav1.GetOptions{})
		if err == nil && (node.Status.NodeInfo.SystemUUID != m.SystemUUID || node.Labels["generation"] != "2" || len(node.Spec.Taints) > 0) {
			err = fmt.Errorf("node has system UUID %s, labels %v, taints %v", node.Status.NodeInfo.SystemUUID, node.Labels, node.Spec.Taints)
		}
		return err
	})
}
