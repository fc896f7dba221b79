package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"sluice.dev/sluice/cluster"
)

// send has a node changed as the merge patch says, which names the version that it holds for: by a patch, or by an update where the account may update nodes
// and not patch them, as with cluster-autoscaler's own role.
func (w Writer) send(ctx context.Context, node string, patch []byte) (*corev1.Node, error) {
	if w.Lacks == nil || !w.Lacks(cluster.PatchNode) {
		is, err := w.Client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
		if !apierrors.IsForbidden(err) {
			return is, err
		}
		if is, update := w.update(ctx, node, patch); !apierrors.IsForbidden(update) {
			return is, update
		}
		return nil, err
	}
	return w.update(ctx, node, patch)
}

// update applies the patch to the node as it is now, and sends all of it. It is read as it comes: a field that this program does not know would be lost else.
// One that is newer than what the patch was made of is a conflict, as the patch says its version.
func (w Writer) update(ctx context.Context, node string, patch []byte) (*corev1.Node, error) {
	client := w.Client.CoreV1().RESTClient()
	was, err := client.Get().Resource("nodes").Name(node).SetHeader("Accept", runtime.ContentTypeJSON).DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	becomes, err := jsonpatch.MergePatch(was, patch)
	if err != nil {
		return nil, fmt.Errorf("apply what is to be changed: %w", err)
	}
	is := new(corev1.Node)
	err = client.Put().Resource("nodes").Name(node).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(becomes).Do(ctx).Into(is)
	return is, err
}
