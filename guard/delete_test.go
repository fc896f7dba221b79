package guard_test

import (
	"slices"

	"sluice.dev/sluice/cluster"
)

// coming deletes one that is still coming and leaves another such beside the group's min.
func coming() *world {
	w := cleaning()
	w.groups[0].Min = 3
	for _, at := range []int{2, 3} {
		w.groups[0].Instances[at].State = cluster.StateCreating
	}
	return w
}

// working deletes one of three and leaves, with the group's min of two, one whose node is Ready though the cloud has it still coming.
func working() *world {
	w := deleting()
	w.groups[0].Min, w.groups[0].Instances[2].State = 2, cluster.StateCreating
	return w
}

// relist lists another machine than is known for this write: the id belongs to one with that unique id by now.
func (w *world) relist(at int, uid string) {
	fresh, other := *w.groups[0], *w.groups[0].Instances[at]
	other.UID = uid
	fresh.Instances = slices.Clone(fresh.Instances)
	fresh.Instances[at] = &other
	w.evidence.Group = &fresh
}

// decided is the same with a ledger of what the write rests on.
func (w *world) decided() *world {
	if err := w.check(); err != nil {
		panic(err)
	}
	return w
}
