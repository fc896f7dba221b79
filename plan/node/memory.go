package node

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
)

// Remember puts a group's memory in the place of what was remembered of it. The memory that the cycle began with stays as it was.
func (d *View) Remember(id cluster.GroupID, g memory.GroupMemory) {
	d.Memory.Groups = memory.With(d.Memory.Groups, id, g)
}
