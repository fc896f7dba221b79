package scheduling

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	storagehelpers "k8s.io/component-helpers/storage/volume"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumerestrictions"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumezone"

	"sluice.dev/sluice/cluster"
)

// storage asks kube-scheduler's plugins about volumes, over the snapshot's claims, volumes and classes. It is made when the first pod
// with volumes is asked about, and again when any of these objects changed.
type storage struct {
	fwk.Handle // what is not defined here belongs to scoring and binding: see the methods below
	shelf      *shelf
	csiNodes   map[string]*storagev1.CSINode
	drivers    []string // those that attach no more than so many volumes to a node
	keys       []string // labels that volumes, storage classes and VolumeZone read of nodes
	name       bool     // they read a node's name, or more than labels

	binding, zone judge
	restrictions  judge
	limits        fwk.FilterPlugin

	spare      map[string][]string // volumes that nobody has, or that wait for one claim, by the name of their storage class
	bound      uint64              // how often a claim took a volume or gave one up
	decided    map[string]bool     // claims that waited for their first pod and were decided: see [Checker.provide]
	claims     map[string]*waiter
	classes    map[string]*waiter
	later      map[string]Handle   // claims that were decided to a volume which is made on that node once somebody looks for it
	twins      map[string]*volumes // see [Checker.alike], by likeness
	promised   map[string]bool     // claims that volumes name
	attributes bool                // VolumeAttributesClass is on

	attached    bool             // some volumes are attached by objects of their own
	driversOf   map[string]int32 // what the node's kubelet says of its drivers, by the node's name; those that say nothing are left out
	driverKinds map[string]int32
	counting    map[int32]bool // kinds of which some driver counts volumes

	here *storagev1.CSINode // what a machine that is not there yet will say of its drivers, while it is asked about
}

// judge is a plugin that prepares for a pod.
type judge interface {
	fwk.PreFilterPlugin
	fwk.FilterPlugin
}

// storageOf makes the plugins as kube-scheduler's default profile does.
func storageOf(ctx context.Context, o *cluster.Objects) *storage {
	s := &storage{
		shelf: newShelf(), csiNodes: make(map[string]*storagev1.CSINode, len(o.CSINodes)),
		spare: map[string][]string{}, decided: map[string]bool{}, claims: map[string]*waiter{}, classes: map[string]*waiter{},
		later: map[string]Handle{}, twins: map[string]*volumes{}, promised: map[string]bool{},
		attached: len(o.VolumeAttachments) > 0, driversOf: make(map[string]int32, len(o.CSINodes)), driverKinds: map[string]int32{}, counting: map[int32]bool{},
	}
	put(s.shelf, o.PersistentVolumeClaims...)
	put(s.shelf, o.PersistentVolumes...)
	put(s.shelf, o.StorageClasses...)
	put(s.shelf, o.CSIDrivers...)
	put(s.shelf, o.CSIStorageCapacities...)
	put(s.shelf, o.VolumeAttachments...)
	put(s.shelf, o.CSINodes...)
	told, counted := map[string]bool{}, map[string]bool{} // by the driver's name, whether some node has it, and says how much it attaches
	for _, n := range o.CSINodes {
		s.csiNodes[n.Name] = n
		s.tell(n)
		for _, d := range n.Spec.Drivers {
			told[d.Name] = true
			counted[d.Name] = counted[d.Name] || d.Allocatable != nil && d.Allocatable.Count != nil
		}
	}
	maps.DeleteFunc(counted, func(_ string, counts bool) bool { return !counts })
	may := map[string]bool{} // those of the machine may count: no node has them yet, or nobody counts yet
	if len(counted) == 0 {
		may = told
	}
	for _, d := range o.CSIDrivers {
		may[d.Name] = (may[d.Name] || !told[d.Name]) && (d.Spec.AttachRequired == nil || *d.Spec.AttachRequired)
	}
	maps.DeleteFunc(may, func(_ string, counts bool) bool { return !counts })
	s.drivers = slices.AppendSeq(slices.Collect(maps.Keys(counted)), maps.Keys(may))
	slices.Sort(s.drivers)
	s.drivers = slices.Compact(s.drivers)
	s.read(o)

	s.attributes = utilfeature.DefaultFeatureGate.Enabled(features.VolumeAttributesClass)
	gates := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	type factory func(context.Context, runtime.Object, fwk.Handle, feature.Features) (fwk.Plugin, error)
	made := func(f factory, args runtime.Object) fwk.Plugin {
		p, err := f(ctx, args, s, gates)
		if err != nil {
			panic(fmt.Sprintf("scheduling: make a plugin: %v", err))
		}
		return p
	}
	// Its own constructor takes a client from the handle: claims that are chosen here are never written.
	binder, err := volumebinding.NewVolumeBinder(logr.Discard(), nil, gates, s.shelf.Core().V1().Pods(), s.shelf.Core().V1().Nodes(), s.shelf.Storage().V1().CSINodes(),
		s.shelf.Core().V1().PersistentVolumeClaims(), s.shelf.Core().V1().PersistentVolumes(), s.shelf.Storage().V1().StorageClasses(),
		volumebinding.CapacityCheck{CSIDriverInformer: s.shelf.Storage().V1().CSIDrivers(), CSIStorageCapacityInformer: s.shelf.Storage().V1().CSIStorageCapacities()}, 0)
	if err != nil {
		panic(fmt.Sprintf("scheduling: make a plugin: %v", err))
	}
	s.binding = &volumebinding.VolumeBinding{Binder: binder, PVCLister: s.shelf.Core().V1().PersistentVolumeClaims().Lister()}
	s.zone = made(volumezone.New, nil).(judge)
	s.limits = made(nodevolumelimits.NewCSI, nil).(fwk.FilterPlugin)
	s.restrictions = made(volumerestrictions.New, nil).(judge)
	return s
}

// read finds out what volumes and storage classes look at in nodes.
func (s *storage) read(o *cluster.Objects) {
	s.name = len(o.CSIStorageCapacities) > 0 // they select nodes by any label
	s.keys = []string{
		corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion,
	}
	for _, v := range o.PersistentVolumes {
		if ref := v.Spec.ClaimRef; ref != nil {
			s.promised[ref.Namespace+"/"+ref.Name] = true
		}
		if v.Status.Phase != corev1.VolumeBound {
			class := storagehelpers.GetPersistentVolumeClass(v)
			s.spare[class] = append(s.spare[class], v.Name)
		}
		if v.Spec.NodeAffinity != nil && v.Spec.NodeAffinity.Required != nil {
			keys, name := mentioned(nil, v.Spec.NodeAffinity.Required)
			s.keys, s.name = append(s.keys, keys...), s.name || name
		}
		// A volume of a driver that used to be built in is translated as the node's kubelet says.
		s.name = s.name || v.Spec.AzureDisk != nil || v.Spec.AzureFile != nil
	}
	for _, c := range o.StorageClasses {
		for _, t := range c.AllowedTopologies {
			for _, r := range t.MatchLabelExpressions {
				s.keys = append(s.keys, r.Key)
			}
		}
	}
	slices.Sort(s.keys)
	s.keys = slices.Compact(s.keys)
}

// sameStorage says whether two observations agree in all that [storageOf] reads.
func sameStorage(a, b *cluster.Objects) bool {
	return slices.Equal(a.PersistentVolumeClaims, b.PersistentVolumeClaims) && slices.Equal(a.PersistentVolumes, b.PersistentVolumes) &&
		slices.Equal(a.StorageClasses, b.StorageClasses) && slices.Equal(a.CSINodes, b.CSINodes) && slices.Equal(a.CSIDrivers, b.CSIDrivers) &&
		slices.Equal(a.CSIStorageCapacities, b.CSIStorageCapacities) && slices.Equal(a.VolumeAttachments, b.VolumeAttachments)
}

// How plugins look around.

func (s *storage) SharedInformerFactory() informers.SharedInformerFactory { return s.shelf }
func (s *storage) SnapshotSharedLister() fwk.SharedLister                 { return unshared{} }
func (s *storage) SharedCSIManager() fwk.CSIManager                       { return s }
func (s *storage) CSINodes() fwk.CSINodeLister                            { return s }

// List is not asked for by any filter.
func (s *storage) List() ([]*storagev1.CSINode, error) { return nil, nil }

// Get is what the node's kubelet says of its drivers.
func (s *storage) Get(node string) (*storagev1.CSINode, error) {
	if s.here != nil {
		return s.here, nil
	}
	if n, ok := s.csiNodes[node]; ok {
		return n, nil
	}
	return nil, apierrors.NewNotFound(storagev1.Resource("csinodes"), node)
}

// unshared says that no claim is in use: claims for one pod alone are counted by the checker.
type unshared struct{ fwk.SharedLister }

func (unshared) StorageInfos() fwk.StorageInfoLister { return unshared{} }
func (unshared) IsPVCUsedByPods(string) bool         { return false }
