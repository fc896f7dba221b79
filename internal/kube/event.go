package kube

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// agentComponent is who the agent's events say they come from.
const agentComponent = "sluice-agent"

// TellNode puts a warning on a node, for people to read. Of several with the same reason and the same about, which is never shown, the first
// stands: it may be sent again after a restart.
func (w Writer) TellNode(ctx context.Context, node *corev1.Node, about, reason, message string, at time.Time) error {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s %s %s", node.UID, reason, about)
	stamp := metav1.NewTime(at.UTC().Truncate(time.Second))
	_, err := w.Client.CoreV1().Events(metav1.NamespaceDefault).Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: fmt.Sprintf("%s.%016x", node.Name, h.Sum64())},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID},
		Type:           corev1.EventTypeWarning, Reason: reason, Message: message,
		Source: corev1.EventSource{Component: agentComponent, Host: node.Name}, ReportingController: agentComponent, ReportingInstance: node.Name,
		FirstTimestamp: stamp, LastTimestamp: stamp, Count: 1,
	}, metav1.CreateOptions{})
	if err == nil || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return failed("put an event on", "node "+node.Name, nil, err)
}
