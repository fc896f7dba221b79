package kube

import (
	"context"
	"errors"
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
// for the first kind whose right is missing. The kinds are read one after another: see [Observer.Objects]. What besides says is
// read as well.
func List(ctx context.Context, client kubernetes.Interface, besides Besides) (cluster.Objects, error) {
	r := resourcesOf(client, besides.RankingNamespace)
	var o cluster.Objects
	pods, err := r.pods.all(ctx)
	if err != nil {
		return cluster.Objects{}, err
	}
	if len(pods) > 0 {
		o.Pods = cluster.NewPods(pods...)
	}
	for _, read := range []func() error{
		func() error { return r.nodes.into(ctx, &o.Nodes) },
		func() error { return r.daemonSets.into(ctx, &o.DaemonSets) },
		func() error { return r.budgets.into(ctx, &o.Budgets) },
		func() error { return r.namespaces.into(ctx, &o.Namespaces) },
		func() error { return r.claims.into(ctx, &o.PersistentVolumeClaims) },
		func() error { return r.volumes.into(ctx, &o.PersistentVolumes) },
		func() error { return r.classes.into(ctx, &o.StorageClasses) },
		func() error { return r.csiNodes.into(ctx, &o.CSINodes) },
		func() error { return r.csiDrivers.into(ctx, &o.CSIDrivers) },
		func() error { return r.capacities.into(ctx, &o.CSIStorageCapacities) },
		func() error { return r.attachments.into(ctx, &o.VolumeAttachments) },
		func() error { return r.deviceClasses.into(ctx, &o.DeviceClasses) },
		func() error { return r.deviceClaims.into(ctx, &o.ResourceClaims) },
		func() error { return r.slices.into(ctx, &o.ResourceSlices) },
		func() error { return r.podGroups.into(ctx, &o.PodGroups) },
		func() error { return r.coscheduling.into(ctx, &o.CoschedulingGroups) },
		func() error { return r.buffers.into(ctx, &o.CapacityBuffers) },
		func() error { return r.requests.into(ctx, &o.ProvisioningRequests) },
		func() error {
			if o.CapacityBuffers == nil && o.ProvisioningRequests == nil {
				return nil // nothing names a template
			}
			if err := r.templates.into(ctx, &o.PodTemplates); err != nil {
				return err
			}
			scaled, err := readScaled(ctx, client, workloadsOf(o.CapacityBuffers))
			if err == nil { // what nobody may read is told as what is not there
				o.PodTemplates = mergeTemplates(o.PodTemplates, scaled)
			}
			return nil
		},
	} {
		if err := read(); err != nil {
			return cluster.Objects{}, err
		}
	}
	if r.configMaps != nil {
		if o.ConfigMaps, err = r.configMaps.all(ctx); err != nil {
			return cluster.Objects{}, err
		}
	}
	if besides.Controllers {
		if o.Controllers, err = controllersOf(client, besides.Replicas).all(ctx, besides.Replicas); err != nil {
			return cluster.Objects{}, err
		}
	}
	return o, nil
}

// all reads every controller.
func (cs controllers) all(ctx context.Context, counted bool) (cluster.Controllers, error) {
	read := cluster.Controllers{Known: true}
	for _, kind := range []struct {
		of      resource[*controller]
		into    *[]*cluster.Controller
		counted bool
	}{
		{cs.replicaSets, &read.ReplicaSets, counted},
		{cs.replicationControllers, &read.ReplicationControllers, counted},
		{cs.statefulSets, &read.StatefulSets, false},
	} {
		all, err := kind.of.all(ctx)
		if err != nil {
			return cluster.Controllers{}, err
		}
		keep := keepController(kind.counted)
		for _, c := range all {
			*kind.into = append(*kind.into, keep(c))
		}
	}
	return read, nil
}

// into reads every object of the kind; none, and no error, where the API server does not serve a kind that it need not have, or denies it.
func (r resource[T]) into(ctx context.Context, all *[]T) (err error) {
	*all, err = r.all(ctx)
	if denied := new(AccessError); r.apis != nil && (apierrors.IsNotFound(err) || errors.As(err, &denied)) {
		return nil
	}
	return err
}

// eachTrimmed trims the objects of a list where they are.
func eachTrimmed(list runtime.Object) error {
	return meta.EachListItem(list, func(o runtime.Object) error {
		_, err := Trim(o)
		return err
	})
}

// all reads every object of the kind, trimmed, sorted by namespace and name; nil when there is none.
func (r resource[T]) all(ctx context.Context) ([]T, error) { return r.each(ctx, eachTrimmed) }

// whole is all, with all that the objects have.
func (r resource[T]) whole(ctx context.Context) ([]T, error) {
	return r.each(ctx, func(runtime.Object) error { return nil })
}

func (r resource[T]) each(ctx context.Context, do func(page runtime.Object) error) ([]T, error) {
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		page, err := r.list(ctx, o)
		if err != nil {
			return nil, err
		}
		return page, do(page)
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
