package kube

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/pager"

	"sluice.dev/sluice/cluster"
)

// pageSize is how many objects one request of [List] asks for.
const pageSize = 500

// List reads all objects once, page by page, trimmed. It answers with all of them or an error, which is an [*AccessError]
// for the first kind whose right is missing. The kinds are read one after another: see [Observer.Objects]. The ConfigMap that ranks groups is
// read where its namespace is named.
func List(ctx context.Context, client kubernetes.Interface, rankingNamespace string) (cluster.Objects, error) {
	r := resourcesOf(client, rankingNamespace)
	var o cluster.Objects
	pods, err := r.pods.all(ctx)
	if err != nil {
		return cluster.Objects{}, err
	}
	o.Pods = cluster.NewPods(pods...)
	if o.Nodes, err = r.nodes.all(ctx); err != nil {
		return cluster.Objects{}, err
	}
	if o.DaemonSets, err = r.daemonSets.all(ctx); err != nil {
		return cluster.Objects{}, err
	}
	if o.Budgets, err = r.budgets.all(ctx); err != nil {
		return cluster.Objects{}, err
	}
	if o.Namespaces, err = r.namespaces.all(ctx); err != nil {
		return cluster.Objects{}, err
	}
	if r.configMaps != nil {
		if o.ConfigMaps, err = r.configMaps.all(ctx); err != nil {
			return cluster.Objects{}, err
		}
	}
	return o, nil
}

// all reads every object of the kind, sorted by namespace and name; nil when there is none.
func (r resource[T]) all(ctx context.Context) ([]T, error) {
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		page, err := r.list(ctx, o)
		if err != nil {
			return nil, err
		}
		return page, meta.EachListItem(page, func(o runtime.Object) error {
			_, err := Trim(o)
			return err
		})
	})
	pages.PageSize = pageSize
	list, _, err := pages.ListWithAlloc(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		return nil, &AccessError{Missing: []Right{{Verb: "list", Resource: r.name, Group: r.group}}}
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", r.name, err)
	}
	var all []T
	err = meta.EachListItemWithAlloc(list, func(o runtime.Object) error {
		t, ok := o.(T)
		if !ok {
			return fmt.Errorf("unexpected %T", o)
		}
		all = append(all, t)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", r.name, err)
	}
	slices.SortFunc(all, func(a, b T) int { return nameOf(a).compare(nameOf(b)) })
	return all, nil
}
