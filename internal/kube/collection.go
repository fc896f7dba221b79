package kube

import (
	"slices"
	"strings"
)

// name identifies an object among its kind.
type name struct{ namespace, name string }

func (n name) compare(o name) int {
	if c := strings.Compare(n.namespace, o.namespace); c != 0 {
		return c
	}
	return strings.Compare(n.name, o.name)
}

func nameOf(o object) name { return name{o.GetNamespace(), o.GetName()} }

// collection holds what is kept of the objects of one kind. What is put in again without a difference stays the pointer that it was.
// It is not safe for concurrent use.
type collection[T comparable] struct {
	form    form[T]
	byName  map[name]T
	sorted  []T               // as objects last returned it; never written again
	changed map[name]struct{} // differ between sorted and byName
}

func newCollection[T comparable](f form[T]) *collection[T] {
	return &collection[T]{form: f, byName: map[name]T{}, changed: map[name]struct{}{}}
}

// put stores the object. before is the one it replaces; changed is false if that said the same, which is then kept.
func (c *collection[T]) put(o T) (before T, existed, changed bool) {
	n := c.form.name(o)
	before, existed = c.byName[n]
	if existed && c.form.same(before, o) {
		return before, true, false
	}
	c.byName[n] = o
	c.changed[n] = struct{}{}
	return before, existed, true
}

// remove forgets the object of that name and returns it.
func (c *collection[T]) remove(n name) (before T, existed bool) {
	before, existed = c.byName[n]
	if existed {
		delete(c.byName, n)
		c.changed[n] = struct{}{}
	}
	return before, existed
}

// manyChanges are more than happen from one cycle to the next.
const manyChanges = 1000

// objects is the whole collection sorted by namespace and name. Nothing is allocated when nothing changed; otherwise the
// cost is that of copying pointers, not that of sorting them.
func (c *collection[T]) objects() []T {
	if len(c.changed) == 0 {
		return c.sorted
	}
	names := make([]name, 0, len(c.changed))
	for n := range c.changed {
		names = append(names, n)
	}
	slices.SortFunc(names, name.compare)
	merged, rest := make([]T, 0, len(c.byName)), c.sorted
	for _, n := range names {
		at, found := slices.BinarySearchFunc(rest, n, func(o T, n name) int { return c.form.name(o).compare(n) })
		merged = append(merged, rest[:at]...)
		if rest = rest[at:]; found {
			rest = rest[1:]
		}
		if o, ok := c.byName[n]; ok {
			merged = append(merged, o)
		}
	}
	c.sorted = append(merged, rest...)
	if len(names) > manyChanges {
		c.changed = map[name]struct{}{} // a map never gives back the room of a whole read
	} else {
		clear(c.changed)
	}
	return c.sorted
}
