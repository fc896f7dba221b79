package storage

import (
	"context"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumerestrictions"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumezone"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/journal"
	"sluice.dev/sluice/scheduling/internal/nodes"
	"sluice.dev/sluice/scheduling/internal/plugins"
)

// judges is kube-scheduler's plugins about volumes, over the objects of one observation. It is made when the first pod with volumes is
// asked about, and again when any of these objects changed. Most clusters change nodes and pods all the time and storage seldom, so what
// plugins said holds for many snapshots.
//
// Answers are kept by kinds of nodes. That holds as long as keys and name say all that plugins read of a node: whoever makes them read
// more must add it in [judges.read].
type judges struct {
	table    *nodes.Table
	ctx      context.Context
	shelf    *shelf
	drivers  *drivers
	claims   *claims
	keys     []string // labels that volumes, storage classes and VolumeZone read of nodes
	name     bool     // they read a node's name, or more than labels
	attached bool     // some volumes are attached by objects of their own

	binding, zone plugins.Prepared
	restrictions  plugins.Prepared
	limits        fwk.FilterPlugin

	records *int                // volumes so far, of these and of earlier plugins
	twins   map[string]*Volumes // that stand for those of all classes alike: see [judges.alike]
}

// newJudges stocks the shelf with all objects and makes the plugins over it. Records is counted up for each record of volumes: their
// numbers tell kinds of pods apart, so none may come twice, even over other objects.
func newJudges(clock *journal.Clock, t *nodes.Table, o *cluster.Objects, records *int) *judges {
	s := newShelf()
	put(s, o.PersistentVolumeClaims...)
	put(s, o.PersistentVolumes...)
	put(s, o.StorageClasses...)
	put(s, o.CSIDrivers...)
	put(s, o.CSIStorageCapacities...)
	put(s, o.VolumeAttachments...)
	put(s, o.CSINodes...)
	j := &judges{
		table: t, ctx: plugins.Quiet(), shelf: s, drivers: newDrivers(o), claims: newClaims(clock, t, s, o),
		attached: len(o.VolumeAttachments) > 0, twins: map[string]*Volumes{}, records: records,
	}
	j.read(o)
	// VolumeBinding's own constructor takes a client from the handle: claims that are chosen here are never written.
	of := s.Storage().V1()
	capacities := volumebinding.CapacityCheck{CSIDriverInformer: of.CSIDrivers(), CSIStorageCapacityInformer: of.CSIStorageCapacities()}
	binder, err := volumebinding.NewVolumeBinder(logr.Discard(), nil, plugins.Gates(), s.Core().V1().Pods(), s.Core().V1().Nodes(),
		of.CSINodes(), s.Core().V1().PersistentVolumeClaims(), s.Core().V1().PersistentVolumes(), of.StorageClasses(), capacities, 0)
	plugins.Must("make a plugin", err)
	j.binding = &volumebinding.VolumeBinding{Binder: binder, PVCLister: s.Core().V1().PersistentVolumeClaims().Lister()}
	h := handle{shelf: s, drivers: j.drivers}
	j.zone = plugins.Make[plugins.Prepared](volumezone.New, nil, h)
	j.limits = plugins.Make[fwk.FilterPlugin](nodevolumelimits.NewCSI, nil, h)
	j.restrictions = plugins.Make[plugins.Prepared](volumerestrictions.New, nil, h)
	return j
}

// read finds out what volumes and storage classes look at in nodes.
func (j *judges) read(o *cluster.Objects) {
	// A name makes each node a kind of its own. It is the way out where nobody can say in advance which labels are read.
	j.name = len(o.CSIStorageCapacities) > 0 // they select nodes by any label
	j.keys = []string{
		corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion,
	}
	for _, v := range o.PersistentVolumes {
		if v.Spec.NodeAffinity != nil && v.Spec.NodeAffinity.Required != nil {
			keys, name := nodes.Mentioned(nil, v.Spec.NodeAffinity.Required)
			j.keys, j.name = append(j.keys, keys...), j.name || name
		}
		// A volume of a driver that used to be built in is translated as the node's kubelet says.
		j.name = j.name || v.Spec.AzureDisk != nil || v.Spec.AzureFile != nil
	}
	for _, c := range o.StorageClasses {
		for _, t := range c.AllowedTopologies {
			for _, r := range t.MatchLabelExpressions {
				j.keys = append(j.keys, r.Key)
			}
		}
	}
	slices.Sort(j.keys)
	j.keys = slices.Compact(j.keys)
}

// Refusal is a plugin's.
type Refusal struct{ Plugin, Message string }

// ask asks plugins about a node. One that has nothing to say of the pod is not asked: it has prepared no state, and would fail.
func (j *judges) ask(v *Volumes, info *framework.NodeInfo, all ...plugins.Prepared) []Refusal {
	var said []Refusal
	for _, p := range all {
		if v.skips[p.Name()] {
			continue
		}
		if status := p.Filter(j.ctx, v.state, v.pod, info); !status.IsSuccess() {
			said = append(said, Refusal{p.Name(), status.Message()})
		}
	}
	return said
}

// handle is how plugins look around. What it does not define belongs to scoring and binding.
type handle struct {
	fwk.Handle
	shelf   *shelf
	drivers *drivers
}

// What the plugins ask their handle for. All else panics, as there is nothing behind it.
func (h handle) SharedInformerFactory() informers.SharedInformerFactory { return h.shelf }
func (h handle) SnapshotSharedLister() fwk.SharedLister                 { return unshared{} }
func (h handle) SharedCSIManager() fwk.CSIManager                       { return h.drivers }

// unshared says that no claim is in use: claims for one pod alone are counted by [Storage], which hears of every pod that is placed.
type unshared struct{ fwk.SharedLister }

// VolumeRestrictions asks this of a snapshot of the scheduler, which there is not.
func (unshared) StorageInfos() fwk.StorageInfoLister { return unshared{} }
func (unshared) IsPVCUsedByPods(string) bool         { return false }
