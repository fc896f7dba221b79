package grow

import (
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// remedy is what would have to be different for an empty machine of the group to take such pods, which it refuses for the reasons in why.
// It names all changes together, so that what is said would be enough. It is nil when no such change is known.
//
//	the group refuses because of                                       change
//	too few cores, too little memory, too few devices that sizes have  another size; nil where no sizes are known
//	a device that its size has and its machines do not announce        its machines announce it
//	local storage                                                      its disks leave as much
//	another resource                                                   its machines announce it
//	a taint that somebody is known to take off new nodes               that one takes it off
//	another taint                                                      the pod tolerates it
//	labels                                                             the labels, the zone or the size that they stand for; see labels
//	anything else                                                      nil: only other pods can change that, or nobody
func (s *standing) remedy(d *Stuck, q *inquiry, why []reason.Reason) *reason.Reason {
	var changes, taints []string
	stays := map[string][]string{} // startup taints, by who takes them off
	tooSmall := false
	for _, r := range why {
		switch r.Code {
		case reason.InsufficientResource:
			switch resource := corev1.ResourceName(r.Facts["resource"]); {
			case s.sized(resource) && !s.promised(resource):
				tooSmall = true
			case resource == corev1.ResourceEphemeralStorage:
				changes = append(changes, "its disks left "+r.Facts["needs"]+" of "+string(resource))
			default:
				changes = append(changes, "its machines announced "+r.Facts["needs"]+" of "+string(resource))
			}
		case reason.UntoleratedTaint:
			taint := r.Facts["taint"]
			if who := s.Passing.Remover(taintKey(taint)); who != "" {
				stays[who] = append(stays[who], taint)
			} else {
				taints = append(taints, taint)
			}
		case reason.SelectorMismatch:
			labels, size, ok := s.labels(q)
			if !ok {
				return nil
			}
			changes = append(changes, labels...)
			tooSmall = tooSmall || size
		default:
			return nil // only other pods can change that, or nobody
		}
	}
	for _, who := range slices.Sorted(maps.Keys(stays)) {
		changes = append(changes, who+" took "+strings.Join(stays[who], " and ")+" off its nodes")
	}
	if len(taints) > 0 {
		changes = append(changes, "the pod tolerated "+strings.Join(taints, " and "))
	}
	if tooSmall {
		if s.Sizes == nil {
			return nil
		}
		size := s.size(d, q)
		if size == "" {
			return s.note("", reason.NoSizeHolds, "where", s.Sizes.Where)
		}
		changes = append([]string{size}, changes...)
	}
	if len(changes) == 0 {
		return nil
	}
	change := strings.Join(changes, " and ")
	return s.note(change, reason.CouldHold, "change", change)
}

// taintKey is the key of a taint as Kubernetes writes it, such as "dedicated=batch:NoSchedule".
func taintKey(taint string) string {
	if end := strings.IndexAny(taint, "=:"); end >= 0 {
		return taint[:end]
	}
	return taint
}

// note is the group's reason under that key; "" is the key of NoSizeHolds. Thousands of pods share a few of them, so each is made once.
func (s *standing) note(key string, code reason.Code, facts ...any) *reason.Reason {
	r := s.notes[key]
	if r == nil {
		if s.notes == nil {
			s.notes = map[string]*reason.Reason{}
		}
		made := reason.New(code, reason.Group(string(s.ID)), facts...)
		r = &made
		s.notes[key] = r
	}
	return r
}

// labels are the labels that the group's machines lack for the pods, as changes; size says whether it takes another size. It is not ok
// where one label would have to have two values, or the hostname is asked for.
//
//	label                                                                          change
//	of the size, and the machines have the group's size there, or it is not known  another size
//	a zone of the group                                                            its next machine is in that zone
//	a zone that the group does not have                                            its machines are in that zone
//	any other; a zone too, where nodes do not bear the cloud's zones               its machines have the label
func (s *standing) labels(q *inquiry) (changes []string, size, ok bool) {
	unmet, ok := scheduling.Unmet(q.pod.Class, s.Template.Labels)
	changed := maps.Clone(s.Template.Labels)
	for _, r := range unmet {
		if value, is := strings.CutPrefix(r.Words, r.Key+"="); is {
			changed[r.Key] = value
		}
	}
	// With these labels set, a changed label that is still unmet would need a second value.
	still, _ := scheduling.Unmet(q.pod.Class, changed)
	for _, r := range still {
		if changed[r.Key] != s.Template.Labels[r.Key] {
			return nil, false, false
		}
	}
	bears := slices.Contains(s.Zones, s.Template.Labels[corev1.LabelTopologyZone]) // the cloud's zone
	for _, r := range unmet {
		zone, inZone := strings.CutPrefix(r.Words, corev1.LabelTopologyZone+"=")
		switch {
		case r.Key == corev1.LabelHostname:
			return nil, false, false
		case cluster.SizeLabel(r.Key) && (s.Size == "" || strings.EqualFold(s.Template.Labels[r.Key], s.Size)):
			size = true
		case inZone && bears && slices.Contains(s.Zones, zone):
			changes = append(changes, "its next machine were in zone "+zone)
		case inZone && bears:
			changes = append(changes, "its machines were in zone "+zone)
		default:
			changes = append(changes, "its machines had the label "+r.Words)
		}
	}
	return changes, size, ok && len(unmet) > 0
}

// sized says whether how much a machine has of the resource is a matter of its size: cores, memory, and devices that some size has.
func (s *standing) sized(resource corev1.ResourceName) bool {
	if resource == corev1.ResourceCPU || resource == corev1.ResourceMemory {
		return true
	}
	if s.Sizes != nil && s.devices == nil {
		s.devices = map[corev1.ResourceName]bool{}
		for i := range s.Sizes.All {
			s.devices[s.Sizes.All[i].Device] = true
		}
	}
	return s.devices[resource]
}

// promised says whether the group's size has such devices, and its machines announce fewer. Another size is no remedy then.
func (s *standing) promised(resource corev1.ResourceName) bool {
	own := s.Sizes.Find(s.Size)
	return own != nil && own.Device == resource && s.offers(resource) < int64(own.Devices)
}

// size says which size would do; "" when none would. The smallest of the group's own family comes first. Else it is the first of all in the
// order of [cluster.Sizes]: the cheapest first, those without a price last.
func (s *standing) size(d *Stuck, q *inquiry) string {
	if s.rooms == nil {
		s.makeRooms(d)
	}
	own := s.Sizes.Find(s.Size)
	instead := ""
	if s.Size != "" {
		instead = " instead of " + s.Size
	}
	if own != nil && own.Family != "" {
		if z := s.first(q, own.Family); z != nil {
			return "its size were " + z.Name + instead + " (the smallest of the family that does)"
		}
	}
	switch z := s.first(q, ""); {
	case z == nil:
		return ""
	case z.USDPerHour > 0:
		return "its size were " + z.Name + instead + " (the cheapest that does)"
	default:
		return "its size were " + z.Name + instead + " (the smallest that does)"
	}
}

// first is the first size that would do, of one family or, with "", of all; nil when none would. largest, the most of each resource that
// any size has, spares the search for pods that no size holds.
func (s *standing) first(q *inquiry, family string) *cluster.Size {
	if !holds(s.largest, q.needs) {
		return nil
	}
	for i := range s.Sizes.All {
		z := &s.Sizes.All[i]
		if (family == "" || z.Family == family) && !strings.EqualFold(z.Name, s.Size) && holds(s.rooms[i], q.needs) && s.welcome(q, z) {
			return z
		}
	}
	return nil
}

func holds(room, needs []int64) bool {
	for dim, need := range needs {
		if need > room[dim] && need > 0 {
			return false
		}
	}
	return true
}

// makeRooms works out what an empty machine of every size would have left, by dimension, in the units of [scheduling.Checker.Needs]:
//
//	resource                 a machine of the size has
//	cores, memory            what the size has, less what is held back, less the daemons
//	the size's device        its devices, less the daemons
//	a device of other sizes  none, less the daemons
//	any other                no bound, since it is no matter of the size
//
// Daemons take what they take of the group's machines. mine is what the group's own size has; where the size is not known it is the
// template's capacity. The group's own machines offer less than that, and other sizes hold back as much, or more in proportion.
func (s *standing) makeRooms(d *Stuck) {
	resources := d.Check.Resources()
	own := s.Sizes.Find(s.Size)
	s.rooms, s.largest = make([][]int64, len(s.Sizes.All)), make([]int64, len(resources))
	for i := range s.rooms {
		s.rooms[i] = make([]int64, len(resources))
	}
	for dim, name := range resources {
		offered := s.offers(name)
		daemons := offered - s.free[dim]
		mine := offered
		switch {
		case own != nil && name == corev1.ResourceCPU:
			mine = int64(own.Cores) * 1000
		case own != nil && name == corev1.ResourceMemory:
			mine = own.MemoryMiB << 20
		case name == corev1.ResourceCPU:
			mine = s.Template.Status.Capacity.Cpu().MilliValue()
		case name == corev1.ResourceMemory:
			mine = s.Template.Status.Capacity.Memory().Value()
		}
		for i := range s.Sizes.All {
			z := &s.Sizes.All[i]
			left := int64(math.MaxInt64)
			switch {
			case name == corev1.ResourceCPU:
				left = int64(z.Cores) * 1000
			case name == corev1.ResourceMemory:
				left = z.MemoryMiB << 20
			case z.Device == name:
				left = int64(z.Devices)
			case s.sized(name):
				left = 0
			}
			if left < math.MaxInt64 {
				left -= heldBack(left, mine, offered) + daemons
			}
			s.rooms[i][dim] = left
			s.largest[dim] = max(s.largest[dim], left)
		}
	}
}

// offers is what an empty machine of the group offers of a resource, daemons included: thousandths of cores, else whole ones.
func (s *standing) offers(name corev1.ResourceName) int64 {
	q := s.Template.Status.Allocatable[name]
	if name == corev1.ResourceCPU {
		return q.MilliValue()
	}
	return q.Value()
}

// heldBack is what a machine holds back for itself of what it has, when a machine that has mine of it offers this much. A larger machine
// holds back more in proportion, rounded up; a smaller one as much. The product takes 128 bits: bytes times bytes do not fit into 64.
func heldBack(has, mine, offered int64) int64 {
	back := mine - offered
	if back <= 0 || mine <= 0 {
		return 0
	}
	if has > mine {
		high, low := bits.Mul64(uint64(back), uint64(has))
		share, rest := bits.Div64(high, low, uint64(mine)) // back is at most mine, so the share is at most has
		if rest > 0 {
			share++
		}
		back = int64(share)
	}
	return back
}

// welcome says whether the pods let their node be of that size, as far as its labels tell.
func (s *standing) welcome(q *inquiry, z *cluster.Size) bool {
	if len(q.pod.Spec.NodeSelector) == 0 && q.pod.Spec.Affinity == nil {
		return true
	}
	labels := maps.Clone(s.Template.Labels)
	labels[corev1.LabelInstanceTypeStable], labels[corev1.LabelInstanceType] = z.Name, z.Name
	unmet, ok := scheduling.Unmet(q.pod.Class, labels)
	return ok && !slices.ContainsFunc(unmet, func(r scheduling.Requirement) bool { return cluster.SizeLabel(r.Key) })
}
