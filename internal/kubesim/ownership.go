package kubesim

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func priorityClass(e *entry) *schedulingv1.PriorityClass { return e.obj.(*schedulingv1.PriorityClass) }

// observeOwnership keeps the index from owners to owned, and notes the UIDs
// that the garbage collector must look at.
func (c *Cluster) observeOwnership(ch change) {
	uid := ch.after.obj.GetUID()
	if ch.deleted {
		delete(c.byUID, uid)
		for _, ref := range ch.before.obj.GetOwnerReferences() {
			c.disown(ref.UID, ch.before)
		}
		if len(c.dependents[uid]) > 0 {
			c.doomed = append(c.doomed, uid)
		}
		return
	}
	c.byUID[uid] = ch.after
	refs := ch.after.obj.GetOwnerReferences()
	if ch.before != nil {
		for _, old := range ch.before.obj.GetOwnerReferences() {
			if !slices.ContainsFunc(refs, func(r metav1.OwnerReference) bool { return r.UID == old.UID }) {
				c.disown(old.UID, ch.before)
			}
		}
	}
	for _, ref := range refs {
		at, known := slices.BinarySearchFunc(c.dependents[ref.UID], ch.after, byResourceAndKey)
		if known {
			c.dependents[ref.UID][at] = ch.after
		} else {
			c.dependents[ref.UID] = slices.Insert(c.dependents[ref.UID], at, ch.after)
		}
		if c.byUID[ref.UID] == nil && ch.before == nil {
			c.doomed = append(c.doomed, ref.UID)
		}
	}
}

// disown takes an object out of its former owner's list.
func (c *Cluster) disown(owner types.UID, e *entry) {
	at, known := slices.BinarySearchFunc(c.dependents[owner], e, byResourceAndKey)
	if !known {
		return
	}
	c.dependents[owner] = slices.Delete(c.dependents[owner], at, at+1)
	if len(c.dependents[owner]) == 0 {
		delete(c.dependents, owner)
	}
}

func byResourceAndKey(a, b *entry) int {
	if d := strings.Compare(a.kind.home, b.kind.home); d != 0 {
		return d
	}
	return strings.Compare(a.key, b.key)
}

// owned returns a copy of the list of what names the owner, of one resource or
// of all for "", in order of resource and key.
func (c *Cluster) owned(owner types.UID, resource string) []*entry {
	all := c.dependents[owner]
	found := make([]*entry, 0, len(all))
	for _, e := range all {
		if resource == "" || e.kind.home == resource {
			found = append(found, e)
		}
	}
	return found
}

// collectGarbage deletes what the last owner of is gone. A dependent with
// another owner left only loses the reference. Foreground deletion is treated
// as background deletion. Nothing is while
// it stands still.
func (c *Cluster) collectGarbage() {
	for len(c.doomed) > 0 && !c.leavesGarbage {
		gone := c.doomed[0]
		c.doomed = c.doomed[1:]
		for _, e := range c.owned(gone, "") {
			left := slices.DeleteFunc(slices.Clone(e.obj.GetOwnerReferences()), func(r metav1.OwnerReference) bool { return c.byUID[r.UID] == nil })
			if len(left) > 0 {
				revised(c, e, func(o object) { o.SetOwnerReferences(left) })
			} else if e.obj.GetDeletionTimestamp() == nil {
				_, _ = c.delete(e, &metav1.DeleteOptions{}) // no preconditions, so nothing to refuse
			}
		}
	}
}

// HoldGarbage has the garbage collector stand still, as it does while it cannot find out which kinds there are, or go on.
func (c *Cluster) HoldGarbage(held bool) {
	c.lock()
	defer c.mu.Unlock()
	c.leavesGarbage = held
}

// orphan makes the dependents of an object independent of it.
func (c *Cluster) orphan(owner types.UID) {
	for _, e := range c.owned(owner, "") {
		left := slices.DeleteFunc(slices.Clone(e.obj.GetOwnerReferences()), func(r metav1.OwnerReference) bool { return r.UID == owner })
		revised(c, e, func(o object) { o.SetOwnerReferences(left) })
	}
}

// markOwner has the controller of an object look at its owner.
func (c *Cluster) markOwner(obj object) {
	if ref := metav1.GetControllerOf(obj); ref != nil {
		if owner := c.byUID[ref.UID]; owner != nil {
			c.mark(owner.kind.home, owner.key)
		}
	}
}

// reconcileNamespace empties a namespace under deletion, then lets it go.
func (c *Cluster) reconcileNamespace(e *entry) {
	if e.obj.GetDeletionTimestamp() == nil {
		return
	}
	ns := e.obj.GetName()
	empty := true
	for _, k := range kinds {
		if !k.namespaced || k.stored != nil {
			continue
		}
		for _, content := range slices.Clone(c.table(k).inNamespace(ns)) {
			empty = false
			if content.obj.GetDeletionTimestamp() == nil {
				_, _ = c.delete(content, &metav1.DeleteOptions{})
			}
		}
	}
	if !empty {
		c.mark("namespaces", e.key)
		return
	}
	revised(c, e, func(n *corev1.Namespace) { n.Spec.Finalizers = nil })
}
