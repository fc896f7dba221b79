package scheduling

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// What other volumes on a node have to do with a pod's is asked of NodeVolumeLimits and VolumeRestrictions. Where no pod with volumes runs,
// and where nobody counts them, the answer is the same for all nodes whose drivers say the same.

// overloads says whether the volumes of the pods on the node leave no room for further ones, or are in conflict with them.
func (c *Checker) overloads(v *volumes, h Handle) bool {
	drivers, count := c.drivers(h)
	if (count || !v.skips[c.storage.restrictions.Name()]) && slices.ContainsFunc(c.slots[h].pods, func(e entry) bool { return c.classes[e.class].restrained }) ||
		count && c.storage.attached {
		return c.tooMany(v, h, drivers)
	}
	for len(v.empty) <= int(drivers) {
		v.empty = append(v.empty, 0)
	}
	if v.empty[drivers] == 0 {
		v.empty[drivers] = verdictAsked
		if len(c.crammed(v, h)) == 0 {
			v.empty[drivers] |= verdictSelected
		}
	}
	return v.empty[drivers]&verdictSelected == 0
}

// mostLoads is how many answers of [Checker.tooMany] are kept.
const mostLoads = 4096

// tooMany says whether [Checker.crammed] says anything. The answer is the same for nodes whose drivers say the same and that carry the same
// classes of pods with volumes, as long as no claim takes another volume.
func (c *Checker) tooMany(v *volumes, h Handle, drivers int32) bool {
	if c.storage.attached {
		return len(c.crammed(v, h)) > 0
	}
	sum := mix(uint64(drivers), c.storage.bound)
	for i := range c.slots[h].pods {
		e := &c.slots[h].pods[i]
		if !c.classes[e.class].restrained {
			continue
		}
		if e.pod != nil && e.pod.Node != "" {
			sum = mixString(sum, string(e.pod.UID)+e.pod.String()) // what was made for it has its name
		} else {
			sum = mixEntry(sum, e)
		}
	}
	full, known := v.full[sum]
	if !known {
		full = len(c.crammed(v, h)) > 0
		if v.full == nil || len(v.full) == mostLoads {
			v.full = map[uint64]bool{}
		}
		v.full[sum] = full
	}
	return full
}

// drivers is the kind of the node by what its kubelet says of drivers, and whether one of these attaches no more than so many volumes.
func (c *Checker) drivers(h Handle) (kind int32, count bool) {
	s, slot := c.storage, &c.slots[h]
	if t := slot.template; t != nil && t.attaches > 0 {
		return s.driverKind(fmt.Sprintf("%d each", t.attaches)), true
	}
	kind = s.driversOf[slot.name]
	return kind, s.counting[kind]
}

// driverKind numbers what kubelets say of drivers, from 1 on: 0 is to say nothing.
func (s *storage) driverKind(words string) int32 {
	k, ok := s.driverKinds[words]
	if !ok {
		k = int32(len(s.driverKinds)) + 1
		s.driverKinds[words] = k
	}
	return k
}

// tell takes note of what a kubelet says of its drivers.
func (s *storage) tell(n *storagev1.CSINode) {
	words, count := n.Annotations[corev1.MigratedPluginsAnnotationKey], false
	for _, d := range n.Spec.Drivers {
		words += " " + d.Name
		if d.Allocatable != nil && d.Allocatable.Count != nil {
			words += fmt.Sprintf("=%d", *d.Allocatable.Count)
			count = true
		}
	}
	k := s.driverKind(words)
	s.driversOf[n.Name] = k
	s.counting[k] = count
}

// crammed is what the plugins say that look at the volumes of the pods on the node.
func (c *Checker) crammed(v *volumes, h Handle) []said {
	info := c.bare(h)
	var units map[int32]int
	for _, e := range c.slots[h].pods {
		cl := c.classes[e.class]
		if !cl.restrained {
			continue
		}
		if !slices.ContainsFunc(cl.of.Spec.Volumes, func(v corev1.Volume) bool { return v.Ephemeral != nil }) {
			if cl.body == nil {
				cl.body = &framework.PodInfo{Pod: cl.of.Object()}
			}
			info.Pods = append(info.Pods, cl.body) // pods of one class share their volumes
			continue
		}
		if e.pod != nil && e.pod.Node != "" {
			info.Pods = append(info.Pods, &framework.PodInfo{Pod: e.pod.Object()})
			continue
		}
		if units == nil {
			units = map[int32]int{}
		}
		for range e.n {
			units[e.class]++
			info.Pods = append(info.Pods, &framework.PodInfo{Pod: c.storage.unit(cl.of, units[e.class])})
		}
	}
	all := c.ask(v, info, c.storage.restrictions)
	if t := c.slots[h].template; t != nil && t.attaches > 0 {
		c.storage.here = c.storage.attaching(c.slots[h].name, t.attaches)
		defer func() { c.storage.here = nil }()
	}
	if status := c.storage.limits.Filter(c.ctx, nil, v.pod, info); !status.IsSuccess() {
		all = append(all, said{c.storage.limits.Name(), status.Message()})
	}
	return all
}
