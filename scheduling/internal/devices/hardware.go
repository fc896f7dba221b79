package devices

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	"k8s.io/dynamic-resource-allocation/structured"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/plugins"
)

// hardware asks kube-scheduler's plugin about devices, over the snapshot's slices, claims and classes and over what is given away in
// the pretended world. It is made when the first pod with claims is asked about, and again for every snapshot.
//
//	invariant                                                         kept by
//	taken has the devices of every claim in claims that is allocated  newHardware, then reserve and release in pairs
//	claims has each claim as the pretended world has it               the same; own claims stay as they were made
//	here is about the node that is asked about                        at, before each question
//
// Devices of pods that run stay taken when a what-if has them leave. Their claims are freed by the pods' end, which takes its time. So a
// pod is rather said to wait than to fit.
type hardware struct {
	fwk.Handle // a framework without plugins and without a client
	ctx        context.Context
	plugin     reserver
	classes    map[string]*resourcev1.DeviceClass
	claims     map[string]*resourcev1.ResourceClaim // now, by "namespace/name"
	own        map[types.UID]bool                   // claims that stand for those of every pod of a class
	made       map[cluster.Key]map[string]*resourcev1.ResourceClaim
	slices     map[string][]*resourcev1.ResourceSlice // by the node whose they are
	shared     []*resourcev1.ResourceSlice            // that are not of one node alone
	taken      structured.AllocatedState
	serving    *extendedresourcecache.ExtendedResourceCache

	here      []*resourcev1.ResourceSlice // of the node that is asked about
	signalled []*resourcev1.ResourceClaim // what the plugin has just given
}

// reserver is a plugin that judges and gives.
type reserver interface {
	plugins.Prepared
	fwk.ReservePlugin
}

// newHardware counts all devices as taken that claims of the snapshot have been given.
func newHardware(s *cluster.Snapshot) *hardware {
	h := &hardware{
		ctx: plugins.Quiet(), classes: map[string]*resourcev1.DeviceClass{}, slices: map[string][]*resourcev1.ResourceSlice{},
		claims: make(map[string]*resourcev1.ResourceClaim, len(s.Objects.ResourceClaims)), own: map[types.UID]bool{},
		taken: structured.AllocatedState{
			AllocatedDevices: sets.New[structured.DeviceID](), AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
			AggregatedCapacity: structured.NewConsumedCapacityCollection(),
		},
	}
	h.serving = serving(s.Objects.DeviceClasses)
	for _, dc := range s.Objects.DeviceClasses {
		h.classes[dc.Name] = dc
	}
	for _, claim := range s.Objects.ResourceClaims {
		h.claims[keyOf(claim)] = claim
		h.hold(claim, true)
	}
	h.made = claimsMade(s, h.claims)
	h.sort(s.Objects.ResourceSlices)
	// There is nothing in it. The plugin indexes an informer's pods when it is made, for what it is never asked here.
	bare, err := runtime.NewFramework(h.ctx, nil, nil, runtime.WithInformerFactory(informers.NewSharedInformerFactory(nil, 0)))
	plugins.Must("make a framework", err)
	h.Handle = bare
	h.plugin = plugins.Make[reserver](dynamicresources.New, &config.DynamicResourcesArgs{
		FilterTimeout: &metav1.Duration{}, BindingTimeout: &metav1.Duration{Duration: config.DynamicResourcesBindingTimeoutDefault},
	}, h)
	return h
}

// keyOf is the claim's "namespace/name". The claim that the plugin makes for extended resources has a name that no object may have.
func keyOf(c *resourcev1.ResourceClaim) string { return c.Namespace + "/" + c.Name }

// claimsMade are the claims that were made for pods from templates, by class and by their name in the pod; nil for a template that
// makes none. Any pod of a class tells: what templates say does not depend on the pod.
func claimsMade(s *cluster.Snapshot, claims map[string]*resourcev1.ResourceClaim) map[cluster.Key]map[string]*resourcev1.ResourceClaim {
	all := map[cluster.Key]map[string]*resourcev1.ResourceClaim{}
	for _, p := range s.Objects.Pods {
		if len(p.Spec.ResourceClaims) == 0 {
			continue
		}
		for _, status := range p.Object().Status.ResourceClaimStatuses {
			var made *resourcev1.ResourceClaim
			if status.ResourceClaimName != nil {
				if made = claims[p.Namespace+"/"+*status.ResourceClaimName]; made == nil {
					continue
				}
			}
			if all[p.Key] == nil {
				all[p.Key] = map[string]*resourcev1.ResourceClaim{}
			}
			all[p.Key][status.Name] = made
		}
	}
	return all
}

// add adds a claim that stands for those of every pod of a class.
func (h *hardware) add(own *resourcev1.ResourceClaim) {
	h.claims[keyOf(own)] = own
	h.own[own.UID] = true
}

// at has the plugin be asked about a node with these slices of its own.
func (h *hardware) at(slices []*resourcev1.ResourceSlice) { h.here = slices }

// reserve has the plugin give the pod devices, in the state in which it was asked; nil when it does not. A claim that nobody knows is the
// one that the plugin makes for extended resources: like claims of a class's own it is given devices anew for every pod.
func (h *hardware) reserve(state fwk.CycleState, pod *corev1.Pod, node string) []Given {
	h.signalled = nil
	if status := h.plugin.Reserve(h.ctx, state, pod, node); !status.IsSuccess() {
		return nil
	}
	all := make([]Given, 0, len(h.signalled))
	for _, claim := range h.signalled {
		g := Given{claim: claim}
		if shared := h.claims[keyOf(claim)]; shared != nil && !h.own[claim.UID] {
			g.was = shared
			h.claims[keyOf(claim)] = claim
		}
		h.hold(claim, true)
		all = append(all, g)
	}
	return all
}

// release takes devices back. What was given last must be taken back first: a claim that is shared is as it was before then.
func (h *hardware) release(g Given) {
	h.hold(g.claim, false)
	if g.was != nil {
		h.claims[keyOf(g.was)] = g.was
	}
}

// sort tells slices of one node from others. A pool over several nodes is looked at as a whole: the allocator gives nothing of a pool of
// which it sees fewer slices than the pool says it has.
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
		// A slice of no node makes its pool wide, so the others name one.
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

// The plugin asks its handle for a manager, and the manager for all else.
func (h *hardware) SharedDRAManager() fwk.SharedDRAManager       { return h }
func (h *hardware) ResourceClaims() fwk.ResourceClaimTracker     { return tracker{h: h} }
func (h *hardware) ResourceSlices() fwk.ResourceSliceLister      { return h }
func (h *hardware) DeviceClasses() fwk.DeviceClassLister         { return classLister{h} }
func (h *hardware) DeviceClassResolver() fwk.DeviceClassResolver { return h }
func (h *hardware) PodGroups() fwk.PodGroupLister                { return nil }

// GetDeviceClass is the class that serves the extended resource, nil for none.
func (h *hardware) GetDeviceClass(r corev1.ResourceName) *resourcev1.DeviceClass {
	return h.serving.GetDeviceClass(r)
}

// ListWithDeviceTaintRules are the slices that concern the node asked about.
func (h *hardware) ListWithDeviceTaintRules() ([]*resourcev1.ResourceSlice, error) {
	return append(h.here[:len(h.here):len(h.here)], h.shared...), nil
}

// classLister looks device classes up by name.
type classLister struct{ h *hardware }

// List is not asked for.
func (l classLister) List() ([]*resourcev1.DeviceClass, error) { return nil, nil }

// Get is the class of that name.
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

// List has the plugin find no claim that it made for a pod's extended resources before: it would throw that away and try again.
func (t tracker) List() ([]*resourcev1.ResourceClaim, error) { return nil, nil }

// Get is the claim as it is in the pretended world.
func (t tracker) Get(namespace, name string) (*resourcev1.ResourceClaim, error) {
	if c, ok := t.h.claims[namespace+"/"+name]; ok {
		return c, nil
	}
	return nil, apierrors.NewNotFound(resourcev1.Resource("resourceclaims"), name)
}

// GatherAllocatedState is what is taken, pretended or not. The plugin adds to the capacities, so it gets a copy of them; the sets it only
// reads.
func (t tracker) GatherAllocatedState() (*structured.AllocatedState, error) {
	state := t.h.taken
	state.AggregatedCapacity = state.AggregatedCapacity.Clone()
	return &state, nil
}

// ListAllAllocatedDevices are the devices that are taken as a whole.
func (t tracker) ListAllAllocatedDevices() (sets.Set[structured.DeviceID], error) {
	return t.h.taken.AllocatedDevices, nil
}

// GetPendingAllocation says that nothing is pending: what is given counts at once.
func (t tracker) GetPendingAllocation(types.UID) *resourcev1.AllocationResult { return nil }

// SignalClaimPendingAllocation hears what the plugin gives while [hardware.reserve] asks it to.
func (t tracker) SignalClaimPendingAllocation(_ types.UID, claim *resourcev1.ResourceClaim) error {
	t.h.signalled = append(t.h.signalled, claim)
	return nil
}
