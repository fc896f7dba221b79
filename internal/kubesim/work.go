package kubesim

import (
	"maps"
	"slices"
)

// workQueue holds the keys that controllers are to look at, by resource.
type workQueue map[string]map[string]struct{}

// mark has a controller look at an object in its next turn.
func (w workQueue) mark(resource, key string) {
	m := w[resource]
	if m == nil {
		m = map[string]struct{}{}
		w[resource] = m
	}
	m[key] = struct{}{}
}

// take empties the queue of a resource, in order of key.
func (w workQueue) take(resource string) []string {
	marked := w[resource]
	delete(w, resource)
	return slices.Sorted(maps.Keys(marked))
}
