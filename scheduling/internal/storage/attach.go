package storage

import (
	"slices"

	"k8s.io/kubernetes/pkg/scheduler/framework"

	"sluice.dev/sluice/scheduling/internal/digest"
	"sluice.dev/sluice/scheduling/internal/nodes"
	"sluice.dev/sluice/scheduling/internal/plugins"
)

// What other volumes on a node have to do with a pod's is asked of NodeVolumeLimits and VolumeRestrictions. Where no pod with volumes runs,
// and where nobody counts them, the answer is the same for all nodes whose drivers say the same.

// mostLoads is how many answers of [Storage.overloads] are kept.
const mostLoads = 4096

// overloads says whether the volumes of the pods on the node leave no room for further ones, or are in conflict with them. The answer is the
// same for nodes whose drivers say the same and that carry the same classes of pods with volumes, as long as no claim takes another volume.
func (s *Storage) overloads(v *Volumes, h nodes.Handle) bool {
	j := s.judges
	drivers, count := j.drivers.of(s.table.Name(h), s.limit(h))
	others := (count || !v.skips[j.restrictions.Name()]) && slices.ContainsFunc(s.table.Pods(h), s.hasVolumes)
	if j.attached && (count || others) {
		return len(s.crammed(v, h)) > 0 // volumes may be attached that no pod tells of
	}
	sum := uint64(drivers)
	if others {
		sum = s.load(sum, h)
	}
	full, known := v.full[sum]
	if !known {
		full = len(s.crammed(v, h)) > 0
		if v.full == nil || len(v.full) == mostLoads {
			v.full = map[uint64]bool{}
		}
		v.full[sum] = full
	}
	return full
}

// load digests the volumes of the pods on the node.
func (s *Storage) load(sum uint64, h nodes.Handle) uint64 {
	sum = digest.Mix(sum, s.judges.claims.bound)
	for _, e := range s.table.Pods(h) {
		switch {
		case !s.hasVolumes(e):
		case e.Bound():
			sum = digest.String(sum, string(e.Pod.UID)+e.Pod.String()) // what was made for it has its name
		default:
			sum = digest.Mix(digest.Mix(sum, uint64(e.Class)), uint64(e.N))
		}
	}
	return sum
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
