package kubesim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Create stores a copy of obj without a request, completed as the API server
// would complete it. Its status is kept: a pod may be born Running. The object
// returned is the cluster's own and must not be modified.
func (c *Cluster) Create(obj Object) (Object, error) {
	c.lock()
	defer c.mu.Unlock()
	if k := kindOf(obj); !c.store.serves(k) {
		return nil, fmt.Errorf("create %s %s: the cluster does not have %s: install it first", k.resource, keyOf(obj), k.optional)
	}
	e, err := c.store.create(kindOf(obj), obj.DeepCopyObject().(object), true)
	if err != nil {
		return nil, err
	}
	return e.obj, nil
}

// Delete deletes an object without a request, as the API server would with
// these options; nil means none. A UID in obj is a precondition.
func (c *Cluster) Delete(obj Object, opts *metav1.DeleteOptions) error {
	c.lock()
	defer c.mu.Unlock()
	k := kindOf(obj)
	e := c.store.table(k).byKey[keyOf(obj)]
	if e == nil {
		return fmt.Errorf("delete %s %s: not found", k.resource, keyOf(obj))
	}
	if opts == nil {
		opts = &metav1.DeleteOptions{}
	}
	if uid := obj.GetUID(); uid != "" && opts.Preconditions == nil {
		opts = opts.DeepCopy()
		opts.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	_, err := c.store.delete(e, opts)
	return err
}

// Find returns an object, false if there is none. It is the cluster's own and
// must not be modified; later changes make new objects.
func Find[T Object](c *Cluster, namespace, name string) (T, bool) {
	c.lock()
	defer c.mu.Unlock()
	var none T
	e := c.store.table(kindOf(none)).byKey[key(namespace, name)]
	if e == nil {
		return none, false
	}
	return e.obj.(T), true
}

// All returns the objects of a namespace, of every one for "", in order of
// namespace and name. They are the cluster's own and must not be modified.
func All[T Object](c *Cluster, namespace string) []T {
	c.lock()
	defer c.mu.Unlock()
	var none T
	entries := c.store.table(kindOf(none)).inNamespace(namespace)
	all := make([]T, len(entries))
	for i, e := range entries {
		all[i] = e.obj.(T)
	}
	return all
}

// Changed returns what has happened to a kind since a resource version: objects that are there and have changed, in order of namespace and name, and the
// last versions of those that are gone; one that was made and deleted meanwhile is among the latter. Now is the version up to which that is. It is not
// ok when so much has happened that it is not remembered: then [All] tells.
func Changed[T Object](c *Cluster, since uint64) (there, gone []T, now uint64, ok bool) {
	c.lock()
	defer c.mu.Unlock()
	var none T
	t := c.store.table(kindOf(none))
	if t.forgot > since {
		return nil, nil, t.rv, false
	}
	from, _ := slices.BinarySearchFunc(t.history, since+1, func(ch change, rv uint64) int { return cmp.Compare(ch.after.rv, rv) })
	touched := map[string]bool{}
	for _, ch := range t.history[from:] {
		if ch.deleted {
			gone = append(gone, ch.after.obj.(T))
		}
		touched[ch.after.key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(touched)) {
		if e := t.byKey[key]; e != nil {
			there = append(there, e.obj.(T))
		}
	}
	return there, gone, t.rv, true
}

// Edit changes an object without a request: spec, status and metadata alike.
// The function gets a copy. Nothing happens when it changes nothing.
func Edit[T Object](c *Cluster, namespace, name string, change func(T)) error {
	c.lock()
	defer c.mu.Unlock()
	var none T
	k := kindOf(none)
	e := c.store.table(k).byKey[key(namespace, name)]
	if e == nil {
		return fmt.Errorf("edit %s %s: not found", k.resource, key(namespace, name))
	}
	obj := e.obj.DeepCopyObject().(T)
	change(obj)
	if _, err := c.store.update(e, obj, wholeObject); err != nil {
		return fmt.Errorf("edit %s %s: %w", k.resource, key(namespace, name), err)
	}
	return nil
}

// revised stores what change makes of a copy of an object's present version: a
// controller's write, which is neither completed nor validated. Nothing
// happens when it changes nothing.
func revised[T Object](s *store, e *entry, change func(T)) *entry {
	obj := e.obj.DeepCopyObject().(T)
	change(obj)
	if equality.Semantic.DeepEqual(object(obj), e.obj) {
		return e
	}
	if e.kind.generation && specChanged(obj, e.obj) {
		obj.SetGeneration(e.obj.GetGeneration() + 1)
	}
	return s.succeed(e, obj)
}
