package grow

import (
	"sluice.dev/sluice/cluster"
)

// passRefused leaves out groups on whose nodes pods of these classes were not bound, where another group would do.
func (d *Growth) passRefused(c *Candidates) {
	if len(d.Memory.Unbound) == 0 {
		return
	}
	for _, w := range c.wanted {
		refused := map[cluster.GroupID]bool{}
		for _, at := range w.Pods[w.Served:] {
			for _, g := range d.Memory.Unbound[string(d.Waiting[at].UID)].Refused {
				refused[g] = true
			}
		}
		if len(refused) > 0 && w.Claim == nil {
			w.leave(func(i int) bool { return !refused[c.sites[i].ID] })
		}
	}
}
