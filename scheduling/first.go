package scheduling

import "sluice.dev/sluice/cluster"

// First is the place in the list of the first node, from a place on, that takes a pod of the class as things stand; the list's length when
// none does.
func (c *Checker) First(of *cluster.Class, nodes []Handle, from int) int {
	k := c.kindFor(of)
	for i := from; i < len(nodes); i++ {
		if !c.full(k.spec, blockOf(nodes[i])) && c.judge(k, nodes[i], nil) == welcome {
			return i
		}
	}
	return len(nodes)
}
