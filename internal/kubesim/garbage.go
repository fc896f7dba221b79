package kubesim

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// garbage is the garbage collector: it owns the list of owners that it has yet to look at.
type garbage struct {
	store  *store
	doomed []types.UID // owners that are gone and had, or were given, dependents
	held   bool        // it stands still
}

// collect deletes what the last owner of is gone. A dependent with
// another owner left only loses the reference. Foreground deletion is treated
// as background deletion. Nothing is while
// it stands still.
func (g *garbage) collect() {
	for len(g.doomed) > 0 && !g.held {
		gone := g.doomed[0]
		g.doomed = g.doomed[1:]
		owners := &g.store.owners
		for _, e := range owners.owned(gone, "") {
			left := slices.DeleteFunc(slices.Clone(e.obj.GetOwnerReferences()), func(r metav1.OwnerReference) bool { return owners.byUID[r.UID] == nil })
			if len(left) > 0 {
				revised(g.store, e, func(o object) { o.SetOwnerReferences(left) })
			} else if e.obj.GetDeletionTimestamp() == nil {
				_, _ = g.store.delete(e, &metav1.DeleteOptions{}) // no preconditions, so nothing to refuse
			}
		}
	}
}

// HoldGarbage has the garbage collector stand still, as it does while it cannot find out which kinds there are, or go on.
func (c *Cluster) HoldGarbage(held bool) {
	c.lock()
	defer c.mu.Unlock()
	c.controllers.garbage.held = held
}
