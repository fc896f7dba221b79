package kube

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
)

// Announce writes a notice on a node, in one request: its taint, which keeps new pods away, and its annotation, in the place of an earlier
// one's. Nothing else is touched. [ErrGone] for a node that is not there.
func (w Writer) Announce(ctx context.Context, node string, uid types.UID, notice cluster.Notice) error {
	return w.change(ctx, "announce a notice on", node, uid, func(n *corev1.Node) error {
		n.Spec.Taints = append(otherTaints(n, cluster.NoticeTaint), notice.Taint())
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, cluster.NoticeAnnotation, notice.Annotation())
		return nil
	})
}

// Withdraw takes back what [Writer.Announce] did. A node that is gone, or has nothing to be taken back, is nil.
func (w Writer) Withdraw(ctx context.Context, node string, uid types.UID) error {
	err := w.change(ctx, "withdraw a notice from", node, uid, func(n *corev1.Node) error {
		n.Spec.Taints = otherTaints(n, cluster.NoticeTaint)
		delete(n.Annotations, cluster.NoticeAnnotation)
		return nil
	})
	if errors.Is(err, ErrGone) {
		return nil
	}
	return err
}

// AnswerNotice writes the answer to a notice on a node, in the place of an earlier one; with exclude it also takes the node out of load balancers. [ErrGone] for a
// node that is not there.
func (w Writer) AnswerNotice(ctx context.Context, node string, uid types.UID, answer cluster.NoticeAnswer, exclude bool) error {
	return w.change(ctx, "answer a notice on", node, uid, func(n *corev1.Node) error {
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, cluster.AnswerAnnotation, answer.Annotation())
		if exclude {
			excludeFromBalancers(n)
		}
		return nil
	})
}

// ForgetNotice takes back what [Writer.AnswerNotice] did. A node on the removal ladder stays out of load balancers. One that is gone is nil.
func (w Writer) ForgetNotice(ctx context.Context, node string, uid types.UID) error {
	err := w.change(ctx, "take back the answer on", node, uid, func(n *corev1.Node) error {
		if _, leaving := cluster.RemovalOf(n); !leaving {
			readmitToBalancers(n)
		}
		delete(n.Annotations, cluster.AnswerAnnotation)
		return nil
	})
	if errors.Is(err, ErrGone) {
		return nil
	}
	return err
}
