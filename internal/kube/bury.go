package kube

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
)

// DeleteNode deletes what a machine that is gone has left behind: the attachments of volumes to its node, the password by which K3s and RKE2
// know a node of that name again, and last, so that who is interrupted can go on, the Node object. machine is the node's system UUID: a
// node that another machine has taken over meanwhile is left alone, with [ErrConflict]. What is gone already, or deleted, is no error; without the
// right to delete attachments or the password the rest is done, and the error is [ErrForbidden]. [Writer.Still] is asked before each deletion.
func (w Writer) DeleteNode(ctx context.Context, node string, uid types.UID, machine string, attachments []cluster.Attachment) error {
	object := "node " + node
	n, err := w.Client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return failed("delete", object, nil, err)
	case n.UID != uid || n.DeletionTimestamp != nil: // another one, or one that finalizers hold
		return nil
	case n.Status.NodeInfo.SystemUUID != machine:
		return failed("delete", object, ErrConflict, nil)
	}
	var undone error
	for _, a := range attachments {
		if err := w.still(); err != nil {
			return err
		}
		err := w.Client.StorageV1().VolumeAttachments().Delete(ctx, a.Name, *metav1.NewPreconditionDeleteOptions(string(a.UID)))
		switch {
		case apierrors.IsForbidden(err):
			undone = failed("delete", "volume attachment "+a.Name, nil, err) // Kubernetes detaches by itself, later
		case err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
			return failed("delete", "volume attachment "+a.Name, nil, err)
		}
	}
	if secret := passwordOf(n); secret != "" {
		if err := w.still(); err != nil {
			return err
		}
		err := w.Client.CoreV1().Secrets(metav1.NamespaceSystem).Delete(ctx, secret, metav1.DeleteOptions{})
		switch {
		case apierrors.IsForbidden(err):
			undone = failed("delete", "secret "+metav1.NamespaceSystem+"/"+secret, nil, err)
		case err != nil && !apierrors.IsNotFound(err):
			return failed("delete", "secret "+metav1.NamespaceSystem+"/"+secret, nil, err)
		}
	}
	if err := w.still(); err != nil {
		return err
	}
	o := metav1.NewPreconditionDeleteOptions(string(uid))
	o.Preconditions.ResourceVersion = &n.ResourceVersion
	err = w.Client.CoreV1().Nodes().Delete(ctx, node, *o)
	switch {
	case err == nil || apierrors.IsNotFound(err):
		return undone
	case apierrors.IsConflict(err):
		n, getErr := w.Client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		return unless("delete", object, uid, n, getErr, ErrConflict, err)
	}
	return failed("delete", object, nil, err)
}

// still says whether the next write of several may be sent.
func (w Writer) still() error {
	if w.Still == nil {
		return nil
	}
	return w.Still()
}

// passwordOf is the name of the secret in which K3s or RKE2 keeps the node's password, "" for a node of another distribution. A machine of
// the same name with another password is turned away for as long as the secret is there.
func passwordOf(n *corev1.Node) string {
	version := n.Status.NodeInfo.KubeletVersion
	for _, distribution := range []string{"k3s", "rke2"} {
		if strings.Contains(version, "+"+distribution) {
			return n.Name + ".node-password." + distribution
		}
	}
	return ""
}
