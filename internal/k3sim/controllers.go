package k3sim

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// Finalizers are those by which a server holds each Node object until its controllers have seen the deletion.
var Finalizers = []string{"wrangler.cattle.io/node", "wrangler.cattle.io/managed-etcd-controller"}

// uninitialized is the taint of a node that waits for a cloud controller.
const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

// orphanAge is how old a password without a Node object gets.
const orphanAge = 10 * time.Minute

// controllers do with Node objects what those of a K3s server do.
type controllers struct {
	server *Server
	ctx    context.Context //nolint:containedctx // the informer's handlers are given none
	nodes  cache.SharedIndexInformer
}

func (s *Server) runControllers(ctx context.Context) (*controllers, error) {
	watch := cache.NewListWatchFromClient(s.client.CoreV1().RESTClient(), "nodes", "", fields.Everything())
	c := &controllers{server: s, ctx: ctx, nodes: cache.NewSharedIndexInformer(watch, &corev1.Node{}, 0, cache.Indexers{})}
	_, err := c.nodes.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { c.see(o) },
		UpdateFunc: func(_, o any) { c.see(o) },
	})
	if err != nil {
		return nil, err
	}
	s.ended.Go(func() { c.nodes.RunWithContext(ctx) })
	return c, nil
}

// again looks at all nodes.
func (c *controllers) again() {
	for _, o := range c.nodes.GetStore().List() {
		c.see(o)
	}
}

// see does what a Node object asks for. A write that comes too late is followed by another event.
func (c *controllers) see(o any) {
	n, is := o.(*corev1.Node)
	if !is || c.server.idle.Load() {
		return
	}
	var err error
	if n.DeletionTimestamp != nil {
		err = c.release(n)
	} else if err = c.own(n); err == nil {
		err = c.adopt(n)
	}
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && c.ctx.Err() == nil {
		c.server.logf("level=error msg=\"error syncing '%s': %v\"", n.Name, err)
	}
}

// release lets go of a Node object that was deleted, and of its password.
func (c *controllers) release(n *corev1.Node) error {
	err := c.server.client.CoreV1().Secrets(metav1.NamespaceSystem).Delete(c.ctx, PasswordOf(n.Name), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return c.patch(n, func(n *corev1.Node) {
		n.Finalizers = slices.DeleteFunc(n.Finalizers, func(f string) bool { return slices.Contains(Finalizers, f) })
	})
}

// own makes the Node object the owner of its password, so that garbage collection takes one with the other.
func (c *controllers) own(n *corev1.Node) error {
	secrets := c.server.client.CoreV1().Secrets(metav1.NamespaceSystem)
	secret, err := secrets.Get(c.ctx, PasswordOf(n.Name), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || slices.ContainsFunc(secret.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == n.UID }) {
		return err
	}
	secret.OwnerReferences = append(secret.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: n.Name, UID: n.UID})
	_, err = secrets.Update(c.ctx, secret, metav1.UpdateOptions{})
	return err
}

// adopt holds the Node object by finalizers and, as the embedded cloud controller, says what machine a node is that waits for that.
func (c *controllers) adopt(n *corev1.Node) error {
	return c.patch(n, func(n *corev1.Node) {
		for _, f := range Finalizers {
			if !slices.Contains(n.Finalizers, f) {
				n.Finalizers = append(n.Finalizers, f)
			}
		}
		waits := func(t corev1.Taint) bool { return t.Key == uninitialized }
		if c.server.options.DisableCloudController || !slices.ContainsFunc(n.Spec.Taints, waits) {
			return
		}
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, waits)
		if n.Spec.ProviderID == "" {
			n.Spec.ProviderID = "k3s://" + n.Name
		}
		for stable, beta := range map[string]string{
			corev1.LabelInstanceTypeStable: corev1.LabelInstanceType, corev1.LabelTopologyZone: corev1.LabelFailureDomainBetaZone,
		} {
			value, told := n.Labels[stable]
			if !told && stable == corev1.LabelInstanceTypeStable {
				value, told = "k3s", true
			}
			if told {
				n.Labels[stable], n.Labels[beta] = value, value
			}
		}
	})
}

// patch changes a Node object as far as the change makes it another one, if nobody else has changed it since it was seen.
func (c *controllers) patch(n *corev1.Node, change func(*corev1.Node)) error {
	want := n.DeepCopy()
	change(want)
	update := map[string]any{}
	meta := map[string]any{"uid": n.UID, "resourceVersion": n.ResourceVersion}
	if !slices.Equal(n.Finalizers, want.Finalizers) {
		meta["finalizers"] = want.Finalizers
		if len(want.Finalizers) == 0 {
			meta["finalizers"] = nil
		}
	}
	if fmt.Sprint(n.Labels) != fmt.Sprint(want.Labels) {
		meta["labels"] = want.Labels
	}
	spec := map[string]any{}
	if len(n.Spec.Taints) != len(want.Spec.Taints) {
		spec["taints"] = want.Spec.Taints
	}
	if n.Spec.ProviderID != want.Spec.ProviderID {
		spec["providerID"] = want.Spec.ProviderID
	}
	if len(meta) == 2 && len(spec) == 0 {
		return nil
	}
	update["metadata"] = meta
	if len(spec) > 0 {
		update["spec"] = spec
	}
	body, err := json.Marshal(update)
	if err != nil {
		return err
	}
	_, err = c.server.client.CoreV1().Nodes().Patch(c.ctx, n.Name, types.MergePatchType, body, metav1.PatchOptions{})
	return err
}

// Sweep is what a server does each minute: it deletes passwords that have had no Node object for ten minutes, as of machines that never joined.
func (s *Server) Sweep(ctx context.Context) error {
	secrets, err := s.client.CoreV1().Secrets(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{FieldSelector: "type=" + string(PasswordType)})
	if err != nil {
		return err
	}
	for _, secret := range secrets.Items {
		if s.options.Now().Sub(secret.CreationTimestamp.Time) < orphanAge {
			continue
		}
		_, err := s.client.CoreV1().Nodes().Get(ctx, strings.TrimSuffix(secret.Name, PasswordOf("")), metav1.GetOptions{})
		if err == nil {
			continue
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
		err = s.client.CoreV1().Secrets(secret.Namespace).Delete(ctx, secret.Name, *metav1.NewPreconditionDeleteOptions(string(secret.UID)))
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		s.logf("level=warning msg=\"Deleted orphaned node-password secret %s created %s\"", secret.Name, secret.CreationTimestamp)
	}
	return nil
}
