package kubesim

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// reserve has a pod wait on its node for volumes that are still to be made, or
// binds it when there are none.
func (s *scheduler) reserve(key string, f *fit, node *corev1.Node) {
	s.devices.giveDevices(f, node)
	waiting := false
	for _, m := range f.mounts {
		if m.volume != nil {
			continue
		}
		claim := s.store.entryOf("persistentvolumeclaims", keyOf(m.claim))
		if v := s.volumes.volumeFor(m, node); v != nil {
			s.volumes.tie(claim, s.store.entryOf("persistentvolumes", v.Name))
			continue
		}
		waiting = true
		revised(s.store, claim, func(claim *corev1.PersistentVolumeClaim) {
			if claim.Annotations == nil {
				claim.Annotations = map[string]string{}
			}
			claim.Annotations[selectedNode] = node.Name
		})
	}
	if waiting {
		s.reserved[key] = node.Name
		return
	}
	bind(s.store, s.store.entryOf("pods", key), node.Name)
}

// bindReserved binds the pods whose volumes have come, and has the scheduler
// look again at those whose node has gone or whose claims were taken away.
func (s *scheduler) bindReserved() {
	for _, k := range slices.Sorted(maps.Keys(s.reserved)) {
		node := s.store.entryOf("nodes", s.reserved[k])
		mounts, why := s.volumes.mountsOf(s.pods.byKey[k])
		if node == nil || why != "" {
			delete(s.reserved, k)
			for _, m := range mounts {
				if m.volume == nil {
					s.volumes.unselect(s.store.entryOf("persistentvolumeclaims", keyOf(m.claim)))
				}
			}
			s.trying[k] = struct{}{}
			continue
		}
		open := false
		for _, m := range mounts {
			if m.volume == nil {
				open = true
				if m.claim.Annotations[selectedNode] == "" { // the provisioner gave it back
					delete(s.reserved, k)
					s.trying[k] = struct{}{}
				}
			}
		}
		if !open {
			delete(s.reserved, k)
			bind(s.store, s.store.entryOf("pods", k), node.obj.GetName())
		}
	}
}
