package kubesim

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// reserve has a pod wait on its node for volumes that are still to be made, or
// binds it when there are none.
func (c *Cluster) reserve(key string, f *fit, node *corev1.Node) {
	c.giveDevices(f, node)
	waiting := false
	for _, m := range f.mounts {
		if m.volume != nil {
			continue
		}
		claim := c.store.entryOf("persistentvolumeclaims", keyOf(m.claim))
		if v := c.volumeFor(m, node); v != nil {
			c.tie(claim, c.store.entryOf("persistentvolumes", v.Name))
			continue
		}
		waiting = true
		revised(c.store, claim, func(claim *corev1.PersistentVolumeClaim) {
			if claim.Annotations == nil {
				claim.Annotations = map[string]string{}
			}
			claim.Annotations[selectedNode] = node.Name
		})
	}
	if waiting {
		c.reserved[key] = node.Name
		return
	}
	c.bind(c.store.entryOf("pods", key), node.Name)
}

// bindReserved binds the pods whose volumes have come, and has the scheduler
// look again at those whose node has gone or whose claims were taken away.
func (c *Cluster) bindReserved() {
	for _, k := range slices.Sorted(maps.Keys(c.reserved)) {
		node := c.store.entryOf("nodes", c.reserved[k])
		mounts, why := c.mountsOf(c.pods[k])
		if node == nil || why != "" {
			delete(c.reserved, k)
			for _, m := range mounts {
				if m.volume == nil {
					c.unselect(c.store.entryOf("persistentvolumeclaims", keyOf(m.claim)))
				}
			}
			c.trying[k] = struct{}{}
			continue
		}
		open := false
		for _, m := range mounts {
			if m.volume == nil {
				open = true
				if m.claim.Annotations[selectedNode] == "" { // the provisioner gave it back
					delete(c.reserved, k)
					c.trying[k] = struct{}{}
				}
			}
		}
		if !open {
			delete(c.reserved, k)
			c.bind(c.store.entryOf("pods", k), node.obj.GetName())
		}
	}
}
