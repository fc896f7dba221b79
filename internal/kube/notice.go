package kube

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/cluster"
)

// Announce writes a notice on a node, in one request: its taint and annotation, in the place of an earlier one's; the node becomes
// unschedulable and load balancers send it nothing more. Whether it was so already is kept in the notice. [ErrGone] for a node that is not there.
func (w Writer) Announce(ctx context.Context, node string, uid types.UID, notice cluster.Notice) error {
	return w.change(ctx, "announce a notice on", node, uid, func(n *corev1.Node) error {
		earlier, stands := cluster.NoticeOf(n)
		notice.Cordoned = !n.Spec.Unschedulable || stands && earlier.Cordoned
		n.Spec.Unschedulable = true
		excludeFromBalancers(n)
		n.Spec.Taints = append(otherTaints(n, cluster.NoticeTaint), notice.Taint())
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, cluster.NoticeAnnotation, notice.Annotation())
		return nil
	})
}

// Withdraw takes back what [Writer.Announce] did. A node that somebody else wants cordoned, or that is on the removal ladder, stays
// unschedulable. A node that is gone, or has nothing to be taken back, is nil.
func (w Writer) Withdraw(ctx context.Context, node string, uid types.UID) error {
	err := w.change(ctx, "withdraw a notice from", node, uid, func(n *corev1.Node) error {
		notice, stands := cluster.NoticeOf(n)
		_, leaving := cluster.RemovalOf(n)
		if stands && notice.Cordoned && !leaving {
			n.Spec.Unschedulable = false
		}
		if !leaving {
			readmitToBalancers(n)
		}
		n.Spec.Taints = otherTaints(n, cluster.NoticeTaint)
		delete(n.Annotations, cluster.NoticeAnnotation)
		return nil
	})
	if errors.Is(err, ErrGone) {
		return nil
	}
	return err
}

// Own reads one node and the pods bound to it. The error says which read failed.
func Own(ctx context.Context, client kubernetes.Interface, node string) (*corev1.Node, []*cluster.Pod, error) {
	n, err := client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("read node %s: %w", node, err)
	}
	list, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String(),
	})
	if err != nil {
		return nil, nil, fmt.Errorf("list the pods of node %s: %w", node, err)
	}
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	return n, cluster.NewPods(pods...), nil
}

// NodeOf is the name of the node that the machine is, found among all. The error says that there is none, or several.
func NodeOf(ctx context.Context, client kubernetes.Interface, machine *cluster.Instance) (string, error) {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", fmt.Errorf("list nodes: %w", err)
	}
	name := ""
	for i := range list.Items {
		n := &list.Items[i]
		switch {
		case !machine.Is(n):
		case name != "":
			return "", fmt.Errorf("nodes %s and %s could both be machine %s: name its node with --node-name", name, n.Name, machine.ComputerName)
		default:
			name = n.Name
		}
	}
	if name == "" {
		return "", fmt.Errorf("no node is machine %s (unique id %s) yet: name it with --node-name if it has registered", machine.ComputerName, machine.UID)
	}
	return name, nil
}
