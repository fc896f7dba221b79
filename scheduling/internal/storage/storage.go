// Package storage asks kube-scheduler's plugins about the volumes of pods, over the snapshot's claims, volumes and classes.
//
//	plugin               is asked
//	VolumeBinding        once for each kind of node, and again when a claim that it depends on is decided
//	VolumeZone           with it
//	NodeVolumeLimits     for each node, once for those whose drivers say the same and that carry the same volumes
//	VolumeRestrictions   with it; a claim for one pod alone is counted here
//
//	file       what it owns
//	shelf      the objects, where plugins look for them
//	drivers    what kubelets say of their drivers
//	claims     which claims wait for their first pod, and what was decided about them
//	plugins    the plugins, and what they read of nodes
//	volumes    what the volumes of a pod say of nodes
//	pods       the volumes of a class
//	attach     what other volumes on a node have to do with them
//	storage    all of it, for a snapshot
package storage

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/journal"
	"sluice.dev/sluice/scheduling/internal/nodes"
)

// Storage answers for the storage objects of one snapshot after the other, and for what pods that are placed decide.
type Storage struct {
	clock    *journal.Clock
	table    *nodes.Table
	objects  *cluster.Objects
	judges   *judges          // of these objects, nil until somebody has volumes
	pods     []*Pods          // by class, nil for those that need none
	records  int              // of volumes, so far
	mounters map[string]int   // classes whose pods may use a claim, by "namespace/name"
	uses     map[string]int32 // pods that use a claim, by the same
}

// New asks nobody yet.
func New(clock *journal.Clock, t *nodes.Table, o *cluster.Objects) *Storage {
	return &Storage{clock: clock, table: t, objects: o, mounters: map[string]int{}, uses: map[string]int32{}}
}

// Changed says whether another observation differs in what is read here.
func (s *Storage) Changed(to *cluster.Objects) bool {
	a, b := s.objects, to
	return !slices.Equal(a.PersistentVolumeClaims, b.PersistentVolumeClaims) || !slices.Equal(a.PersistentVolumes, b.PersistentVolumes) ||
		!slices.Equal(a.StorageClasses, b.StorageClasses) || !slices.Equal(a.CSINodes, b.CSINodes) || !slices.Equal(a.CSIDrivers, b.CSIDrivers) ||
		!slices.Equal(a.CSIStorageCapacities, b.CSIStorageCapacities) || !slices.Equal(a.VolumeAttachments, b.VolumeAttachments)
}

// Follow goes on with a later observation. What pods decided must have been taken back where it [Storage.Changed].
func (s *Storage) Follow(o *cluster.Objects) {
	if s.Changed(o) {
		s.judges = nil
	}
	s.objects = o
}

// Class is a record of the volumes of a class, nil when no plugin cares for any. Classes are met in the order of their numbers, each once.
func (s *Storage) Class(of *cluster.Class) *Pods {
	p := newPods(of)
	s.pods = append(s.pods, p)
	for _, claim := range p.Claims() {
		s.mounters[claim]++
	}
	return p
}

// Use counts n pods more that share claims, fewer when n is negative.
func (s *Storage) Use(p *Pods, n int32) {
	for _, claim := range p.Claims() {
		s.uses[claim] += n
	}
}

// Volumes are what the volumes of the pods say of nodes, nil when no plugin cares. They are those of others as long as the two are alike.
func (s *Storage) Volumes(p *Pods) *Volumes {
	if p == nil {
		return nil
	}
	if s.judges == nil {
		s.judges = newJudges(s.clock, s.table, s.objects, &s.records)
	}
	p.follow(s.judges)
	if p.twin != nil && (p.reserved || !slices.ContainsFunc(p.claims, s.taken)) {
		return p.twin
	}
	return p.volumes()
}

// taken says whether a claim is used or decided, so that the pods which name it are like no others.
func (s *Storage) taken(claim string) bool {
	return s.uses[claim] > 0 || s.judges.claims.decided[claim]
}

// Own are what the volumes of the pods say by themselves.
func (s *Storage) Own(p *Pods) *Volumes {
	if s.Volumes(p) == nil {
		return nil
	}
	return p.volumes()
}

// Shared says whether pods of other classes may use a claim of these.
func (s *Storage) Shared(p *Pods) bool {
	return slices.ContainsFunc(p.claims, func(claim string) bool { return s.mounters[claim] > 1 })
}

// Anywhere says whether these volumes stand for those of the pods, whose claims wait, and new ones are made for these wherever the pods go.
func (s *Storage) Anywhere(p *Pods, v *Volumes) bool {
	if v == nil || v != p.twin {
		return false
	}
	return !slices.ContainsFunc(p.claims, func(key string) bool {
		claim := s.judges.claims.claim(key)
		return claim == nil || claim.Spec.VolumeName != "" || !s.judges.claims.makes(claim)
	})
}

// Reserve says whether a pod of the class stands somewhere whose claims are to count as waiting for it still.
func (s *Storage) Reserve(p *Pods, still bool) {
	if p != nil {
		p.reserved = still
	}
}

// Provide decides the claims that waited for a pod of the class, which goes to the node. It returns what takes that back, nil for nothing.
func (s *Storage) Provide(p *Pods, h nodes.Handle) []Decision {
	if len(p.Claims()) == 0 {
		return nil
	}
	v := s.Volumes(p)
	if p.twin != nil {
		return s.judges.claims.decide(p.claims, true, h)
	}
	return s.judges.claims.decide(v.waiting(), false, h)
}

// Withdraw takes back what was decided, the last first.
func (s *Storage) Withdraw(all []Decision) {
	for _, d := range slices.Backward(all) {
		s.judges.claims.withdraw(d)
	}
}

// Mountable says whether the node can have the volumes.
func (s *Storage) Mountable(v *Volumes, h nodes.Handle) bool {
	v.renew()
	if v.refused != "" || slices.ContainsFunc(v.alone, func(claim string) bool { return s.uses[claim] > 0 }) {
		return false
	}
	return v.bindable(h) && !s.overloads(v, h)
}

// Unmountable is why the node cannot have the volumes, nil when it can.
func (s *Storage) Unmountable(v *Volumes, h nodes.Handle) []Refusal {
	v.renew()
	all := s.crammed(v, h)
	for _, claim := range v.alone {
		if s.uses[claim] > 0 {
			all = append(all, Refusal{"VolumeRestrictions", "claim " + claim + " is used by another pod, and only one may use it"})
		}
	}
	return append(all, v.unbindable(h)...)
}

// keyOf is the claim's "namespace/name".
func keyOf(c *corev1.PersistentVolumeClaim) string { return c.Namespace + "/" + c.Name }
