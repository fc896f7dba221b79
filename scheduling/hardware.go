package scheduling

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/dynamic-resource-allocation/structured"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"sluice.dev/sluice/cluster"
)

// hardware asks kube-scheduler's plugin about devices, over the snapshot's slices, claims and classes and over what is given away in
// the pretended world. It is made when the first pod with claims is asked about, and again for every snapshot.
//
// Extended resources that a device class serves are judged as plain ones.
type hardware struct {
	fwk.Handle // a framework without plugins and without a client
	plugin     interface {
		judge
		fwk.ReservePlugin
	}
	classes map[string]*resourcev1.DeviceClass
	claims  map[string]*resourcev1.ResourceClaim // now, by "namespace/name"
	own     map[types.UID]bool                   // claims that stand for those of every pod of a class
	made    map[cluster.Key]map[string]*resourcev1.ResourceClaim
	slices  map[string][]*resourcev1.ResourceSlice // by the node whose they are
	shared  []*resourcev1.ResourceSlice            // that are not of one node alone
	taken   structured.AllocatedState

	here      []*resourcev1.ResourceSlice // of the node that is asked about
	signalled []*resourcev1.ResourceClaim // what the plugin has just given
}

func hardwareOf(ctx context.Context, s *cluster.Snapshot) *hardware {
	h := &hardware{
		classes: map[string]*resourcev1.DeviceClass{}, claims: make(map[string]*resourcev1.ResourceClaim, len(s.Objects.ResourceClaims)),
		own: map[types.UID]bool{}, slices: map[string][]*resourcev1.ResourceSlice{},
		taken: structured.AllocatedState{
			AllocatedDevices: sets.New[structured.DeviceID](), AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
			AggregatedCapacity: structured.NewConsumedCapacityCollection(),
		},
	}
	for _, dc := range s.Objects.DeviceClasses {
		h.classes[dc.Name] = dc
	}
	for _, claim := range s.Objects.ResourceClaims {
		h.claims[claim.Namespace+"/"+claim.Name] = claim
		h.hold(claim, true)
	}
	h.made = claimsMade(s, h.claims)
	h.sort(s.Objects.ResourceSlices)
	gates := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	bare, err := runtime.NewFramework(ctx, nil, nil)
	if err != nil {
		panic(fmt.Sprintf("scheduling: make a framework: %v", err)) // there is nothing in it
	}
	h.Handle = bare
	p, err := dynamicresources.New(ctx, &config.DynamicResourcesArgs{
		FilterTimeout: &metav1.Duration{}, BindingTimeout: &metav1.Duration{Duration: config.DynamicResourcesBindingTimeoutDefault},
	}, h, gates)
	if err != nil {
		panic(fmt.Sprintf("scheduling: make a plugin: %v", err)) // its arguments are constant
	}
	h.plugin = p.(interface {
		judge
		fwk.ReservePlugin
	})
	return h
}

// sort tells slices of one node from others. A pool over several nodes is looked at as a whole.
func (h *hardware) sort(all []*resourcev1.ResourceSlice) {
	type pool struct{ driver, name string }
	of := map[pool]string{}
	wide := map[pool]bool{}
	for _, s := range all {
		key := pool{s.Spec.Driver, s.Spec.Pool.Name}
		if s.Spec.NodeName == nil {
			wide[key] = true
		} else if node, ok := of[key]; ok && node != *s.Spec.NodeName {
			wide[key] = true
		} else {
			of[key] = *s.Spec.NodeName
		}
	}
	for _, s := range all {
		if wide[pool{s.Spec.Driver, s.Spec.Pool.Name}] {
			h.shared = append(h.shared, s)
		} else {
			h.slices[*s.Spec.NodeName] = append(h.slices[*s.Spec.NodeName], s)
		}
	}
}

// hold counts the devices of a claim as taken, or as free again. Devices lent to administrators are nobody's.
func (h *hardware) hold(claim *resourcev1.ResourceClaim, taken bool) {
	if claim.Status.Allocation == nil {
		return
	}
	for _, r := range claim.Status.Allocation.Devices.Results {
		if r.AdminAccess != nil && *r.AdminAccess {
			continue
		}
		id := structured.MakeDeviceID(r.Driver, r.Pool, r.Device)
		switch {
		case r.ShareID == nil && taken:
			h.taken.AllocatedDevices.Insert(id)
		case r.ShareID == nil:
			h.taken.AllocatedDevices.Delete(id)
		case taken:
			h.taken.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, r.ShareID))
			h.taken.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, r.ConsumedCapacity))
		default:
			h.taken.AllocatedSharedDeviceIDs.Delete(structured.MakeSharedDeviceID(id, r.ShareID))
			h.taken.AggregatedCapacity.Remove(structured.NewDeviceConsumedCapacity(id, r.ConsumedCapacity))
		}
	}
}

// How the plugin looks around.

func (h *hardware) SharedDRAManager() fwk.SharedDRAManager       { return h }
func (h *hardware) ResourceClaims() fwk.ResourceClaimTracker     { return tracker{h: h} }
func (h *hardware) ResourceSlices() fwk.ResourceSliceLister      { return h }
func (h *hardware) DeviceClasses() fwk.DeviceClassLister         { return classLister{h} }
func (h *hardware) DeviceClassResolver() fwk.DeviceClassResolver { return h }
func (h *hardware) PodGroups() fwk.PodGroupLister                { return nil }

// GetDeviceClass says that no extended resource is served by devices.
func (h *hardware) GetDeviceClass(corev1.ResourceName) *resourcev1.DeviceClass { return nil }

// ListWithDeviceTaintRules are the slices that concern the node asked about.
func (h *hardware) ListWithDeviceTaintRules() ([]*resourcev1.ResourceSlice, error) {
	return append(h.here[:len(h.here):len(h.here)], h.shared...), nil
}

type classLister struct{ h *hardware }

// List is not asked for.
func (l classLister) List() ([]*resourcev1.DeviceClass, error) { return nil, nil }

func (l classLister) Get(name string) (*resourcev1.DeviceClass, error) {
	if c, ok := l.h.classes[name]; ok {
		return c, nil
	}
	return nil, apierrors.NewNotFound(resourcev1.Resource("deviceclasses"), name)
}

// tracker tells of claims and hears what they are given.
type tracker struct {
	fwk.ResourceClaimTracker
	h *hardware
}

func (t tracker) Get(namespace, name string) (*resourcev1.ResourceClaim, error) {
	if c, ok := t.h.claims[namespace+"/"+name]; ok {
		return c, nil
	}
	return nil, apierrors.NewNotFound(resourcev1.Resource("resourceclaims"), name)
}

func (t tracker) GatherAllocatedState() (*structured.AllocatedState, error) {
	state := t.h.taken
	state.AggregatedCapacity = state.AggregatedCapacity.Clone()
	return &state, nil
}

func (t tracker) ListAllAllocatedDevices() (sets.Set[structured.DeviceID], error) {
	return t.h.taken.AllocatedDevices, nil
}

func (t tracker) GetPendingAllocation(types.UID) *resourcev1.AllocationResult { return nil }

func (t tracker) SignalClaimPendingAllocation(_ types.UID, claim *resourcev1.ResourceClaim) error {
	t.h.signalled = append(t.h.signalled, claim)
	return nil
}
