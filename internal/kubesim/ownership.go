package kubesim

import (
	"slices"
	"strings"

	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func priorityClass(e *entry) *schedulingv1.PriorityClass { return e.obj.(*schedulingv1.PriorityClass) }

// ownership is the index from owners to what names them.
type ownership struct {
	byUID      map[types.UID]*entry
	dependents map[types.UID][]*entry // present versions of what names an owner, by resource and key
}

// follow keeps the index up to date. It returns the owners that are gone and have dependents: the garbage collector must look at them.
func (o *ownership) follow(ch change) (doomed []types.UID) {
	uid := ch.after.obj.GetUID()
	if ch.deleted {
		delete(o.byUID, uid)
		for _, ref := range ch.before.obj.GetOwnerReferences() {
			o.disown(ref.UID, ch.before)
		}
		if len(o.dependents[uid]) > 0 {
			return []types.UID{uid}
		}
		return nil
	}
	o.byUID[uid] = ch.after
	refs := ch.after.obj.GetOwnerReferences()
	if ch.before != nil {
		for _, old := range ch.before.obj.GetOwnerReferences() {
			if !slices.ContainsFunc(refs, func(r metav1.OwnerReference) bool { return r.UID == old.UID }) {
				o.disown(old.UID, ch.before)
			}
		}
	}
	for _, ref := range refs {
		at, known := slices.BinarySearchFunc(o.dependents[ref.UID], ch.after, byResourceAndKey)
		if known {
			o.dependents[ref.UID][at] = ch.after
		} else {
			o.dependents[ref.UID] = slices.Insert(o.dependents[ref.UID], at, ch.after)
		}
		if o.byUID[ref.UID] == nil && ch.before == nil {
			doomed = append(doomed, ref.UID)
		}
	}
	return doomed
}

// disown takes an object out of its former owner's list.
func (o *ownership) disown(owner types.UID, e *entry) {
	at, known := slices.BinarySearchFunc(o.dependents[owner], e, byResourceAndKey)
	if !known {
		return
	}
	o.dependents[owner] = slices.Delete(o.dependents[owner], at, at+1)
	if len(o.dependents[owner]) == 0 {
		delete(o.dependents, owner)
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
func (o *ownership) owned(owner types.UID, resource string) []*entry {
	all := o.dependents[owner]
	found := make([]*entry, 0, len(all))
	for _, e := range all {
		if resource == "" || e.kind.home == resource {
			found = append(found, e)
		}
	}
	return found
}

// orphan makes the dependents of an object independent of it.
func (s *store) orphan(owner types.UID) {
	for _, e := range s.owners.owned(owner, "") {
		left := slices.DeleteFunc(slices.Clone(e.obj.GetOwnerReferences()), func(r metav1.OwnerReference) bool { return r.UID == owner })
		revised(s, e, func(o object) { o.SetOwnerReferences(left) })
	}
}
