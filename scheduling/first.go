package scheduling

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
)

// First is the place in the list of the first node, from a place on, that takes a pod of the class as things stand; the list's length when
// none does.
func (c *Checker) First(of *cluster.Class, nodes []Handle, from int) int {
	k := c.kindFor(of)
	for i := from; i < len(nodes); i++ {
		if c.judge(k, nodes[i], nil) == welcome {
			return i
		}
	}
	return len(nodes)
}

// Steady says whether a node that refuses pods of the class goes on to do so until pods leave that very node, whatever comes and goes
// elsewhere: they have no volumes and no devices, and nobody cares who is near them.
func (c *Checker) Steady(of *cluster.Class) bool {
	return !c.Depends(of) && len(of.Spec.ResourceClaims) == 0 && !slices.ContainsFunc(of.Spec.Volumes, func(v corev1.Volume) bool { return restrained(&v) })
}
