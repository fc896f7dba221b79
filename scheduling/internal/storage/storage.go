// Package storage asks kube-scheduler's plugins about the volumes of pods, over the snapshot's claims, volumes and classes.
//
//	plugin               is asked
//	VolumeBinding        once for each kind of node, and again when a claim that it depends on is decided
//	VolumeZone           with it
//	NodeVolumeLimits     for each node, once for those whose drivers say the same and that carry the same volumes
//	VolumeRestrictions   with it; a claim for one pod alone is counted here
//
//	file      what it owns
//	shelf     the objects, where plugins look for them
//	drivers   what kubelets say of their drivers
//	claims    which claims wait for their first pod, and what was decided about them
//	judges    the plugins, and what they read of nodes
//	volumes   what the volumes of a pod say of nodes
//	pods      the volumes of a class
//	storage   all of it, and what other volumes on a node have to do with them
package storage

import (
	"fmt"
	"hash/fnv"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/journal"
	"sluice.dev/sluice/scheduling/internal/nodes"
	"sluice.dev/sluice/scheduling/internal/plugins"
)

// Storage answers for the storage objects of one snapshot after the other, and for what pods that are placed decide.
//
//	invariant                                                  kept by
//	pods[id] is the record of the class of that number         Class is called once for each, in their order
//	uses counts the pods that are there                        whoever counts pods calls Use with each that comes or goes
//	what is decided was decided for a pod that is placed       Withdraw takes it back, the last first, when the pod goes
//	decisions are about these objects                          all are withdrawn before Follow has other ones
type Storage struct {
	clock   *journal.Clock
	table   *nodes.Table
	objects *cluster.Objects
	judges  *judges          // of these objects, nil until somebody has volumes
	pods    []*Pods          // by class, nil for those that need none
	records int              // of volumes, so far
	uses    map[string]int32 // pods that use a claim, by "namespace/name"
}

// New asks nobody yet.
func New(clock *journal.Clock, t *nodes.Table, o *cluster.Objects) *Storage {
	return &Storage{clock: clock, table: t, objects: o, uses: map[string]int32{}}
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
	if p.twin != nil && !slices.ContainsFunc(p.claims, s.taken) {
		return p.twin
	}
	return p.volumes()
}

// taken says whether a claim is used or decided, so that the pods which name it are like no others.
func (s *Storage) taken(claim string) bool {
	return s.uses[claim] > 0 || s.judges.claims.decided[claim]
}

// Own are what the volumes of the pods say by themselves. Words are made of it: those about a twin would name claims that nobody knows.
func (s *Storage) Own(p *Pods) *Volumes {
	if s.Volumes(p) == nil {
		return nil
	}
	return p.volumes()
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

// What other volumes on a node have to do with a pod's is asked of NodeVolumeLimits and VolumeRestrictions. Where no pod with volumes runs,
// and where nobody counts them, the answer is the same for all nodes whose drivers say the same.

// mostLoads is how many answers of [Storage.overloads] are kept. Each node that carries something of its own has its own answer, so a
// backlog on thousands of nodes would keep thousands of them for every class.
const mostLoads = 4096

// overloads says whether the volumes of the pods on the node leave no room for further ones, or are in conflict with them.
//
// The answer is the same for nodes whose drivers say the same and that carry the same classes of pods with volumes, as long as no claim
// takes another volume. So it is remembered by that. Other pods matter only where some driver counts, or VolumeRestrictions has something
// to say.
func (s *Storage) overloads(v *Volumes, h nodes.Handle) bool {
	j := s.judges
	drivers, count := j.drivers.of(s.table.Name(h), s.limit(h))
	others := (count || !v.skips[j.restrictions.Name()]) && slices.ContainsFunc(s.table.Pods(h), s.hasVolumes)
	if j.attached && (count || others) {
		return len(s.crammed(v, h)) > 0 // volumes may be attached that no pod tells of
	}
	kind := crowd{drivers: drivers}
	if others {
		kind.load = s.load(h)
	}
	full, known := v.full[kind]
	if !known {
		full = len(s.crammed(v, h)) > 0
		if v.full == nil || len(v.full) == mostLoads {
			v.full = map[crowd]bool{}
		}
		v.full[kind] = full
	}
	return full
}

// crowd is a kind of nodes with other volumes.
type crowd struct {
	drivers int32  // the kind of what its kubelet says
	load    uint64 // of the pods with volumes, 0 where they do not matter
}

// load tells apart what the pods with volumes on nodes are.
func (s *Storage) load(h nodes.Handle) uint64 {
	sum := fnv.New64a()
	fmt.Fprintln(sum, s.judges.claims.bound)
	for _, e := range s.table.Pods(h) {
		switch {
		case !s.hasVolumes(e):
		case e.Bound():
			fmt.Fprintln(sum, e.Pod.UID, e.Pod) // what was made for it has its name
		default:
			fmt.Fprintln(sum, e.Class, e.N)
		}
	}
	return sum.Sum64()
}

// hasVolumes says whether a plugin may care for volumes of these pods.
func (s *Storage) hasVolumes(e nodes.Entry) bool { return s.pods[e.Class] != nil }

// limit is how many volumes a machine that is not there yet will attach, 0 for no limit and for nodes.
func (s *Storage) limit(h nodes.Handle) int {
	if t := s.table.Like(h); t != nil {
		return t.Attaches()
	}
	return 0
}

// crammed is what the plugins say that look at the volumes of the pods on the node.
func (s *Storage) crammed(v *Volumes, h nodes.Handle) []Refusal {
	j := s.judges
	info := plugins.Bare(s.table.Object(h))
	units := map[int32]int{}
	for _, e := range s.table.Pods(h) {
		switch p := s.pods[e.Class]; {
		case p == nil:
		case !p.ephemeral:
			info.Pods = append(info.Pods, p.info()) // pods of one class share their volumes
		case e.Bound():
			info.Pods = append(info.Pods, &framework.PodInfo{Pod: e.Pod.Object()})
		default:
			for range e.N {
				units[e.Class]++
				info.Pods = append(info.Pods, &framework.PodInfo{Pod: j.unit(p.of, units[e.Class])})
			}
		}
	}
	all := j.ask(v, info, j.restrictions)
	j.drivers.as(s.table.Name(h), s.limit(h), func() {
		if status := j.limits.Filter(j.ctx, nil, v.pod, info); !status.IsSuccess() {
			all = append(all, Refusal{j.limits.Name(), status.Message()})
		}
	})
	return all
}
