package kube

import (
	"fmt"
	"strconv"

	"k8s.io/client-go/tools/cache"
)

// A feed is what its reflector writes into.
var (
	_ cache.TransformingStore      = (*feed[object])(nil)
	_ cache.ReflectorBookmarkStore = (*feed[object])(nil)
)

// change is one object before and after; a version that does not exist is the zero T.
type change[T object] struct {
	before, after      T
	appeared, vanished bool // there is no before, there is no after
}

// Transformer is applied to objects that arrive by a streamed list, so that they are never all in memory untrimmed.
func (f *feed[T]) Transformer() cache.TransformFunc { return Trim }

// Add stores an object that appeared. A reflector also adds what is there already.
func (f *feed[T]) Add(o any) error { return f.Update(o) }

// Update stores the present version of an object.
func (f *feed[T]) Update(o any) error {
	after, version, err := f.trimmed(o)
	if err != nil {
		return err
	}
	f.mu.Lock()
	before, existed, changed := f.held.put(after)
	f.said(version)
	f.mu.Unlock()
	if changed {
		f.tell(changes(before, after, existed))
	}
	return nil
}

// Delete forgets an object; o is its last version, with the resource version of the deletion.
func (f *feed[T]) Delete(o any) error {
	last, ok := o.(T)
	if !ok {
		return fmt.Errorf("delete from %s: unexpected %T", f.of.name, o)
	}
	f.mu.Lock()
	before, existed := f.held.remove(nameOf(last))
	f.said(last.GetResourceVersion())
	f.mu.Unlock()
	if existed {
		f.tell([]change[T]{{before: before, vanished: true}})
	}
	return nil
}

// Replace makes the objects of a whole read the only ones.
func (f *feed[T]) Replace(list []any, version string) error {
	objects := make([]T, 0, len(list))
	for _, o := range list {
		t, _, err := f.trimmed(o)
		if err != nil {
			return err
		}
		objects = append(objects, t)
	}
	var all []change[T]
	present := make(map[name]bool, len(objects))
	f.mu.Lock()
	for _, after := range objects {
		present[nameOf(after)] = true
		if before, existed, changed := f.held.put(after); changed {
			all = append(all, changes(before, after, existed)...)
		}
	}
	for n := range f.held.byName {
		if !present[n] {
			before, _ := f.held.remove(n)
			all = append(all, change[T]{before: before, vanished: true})
		}
	}
	first := !f.listed
	f.listed = true
	f.followed = f.followed || f.watched
	f.said(version)
	f.mu.Unlock()
	if !first {
		f.tell(all)
	}
	f.stirred()
	return nil
}

// Bookmark notes that the API server vouches for everything up to the version.
func (f *feed[T]) Bookmark(version string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.said(version)
	return nil
}

// Resync does nothing: nobody wants to hear again what did not change.
func (f *feed[T]) Resync() error { return nil }

// said notes that everything up to the version is in held and that the API server is alive. The caller holds the lock.
func (f *feed[T]) said(version string) {
	if v, err := strconv.ParseUint(version, 10, 64); err == nil {
		f.version = max(f.version, v)
	}
	f.last = f.now()
	f.expect()
}

func (f *feed[T]) tell(all []change[T]) {
	if f.notice == nil {
		return
	}
	for _, c := range all {
		f.notice(c)
	}
}

// trimmed is the object without what no decision reads, and the version that it had.
func (f *feed[T]) trimmed(o any) (T, string, error) {
	t, ok := o.(T)
	if !ok {
		return t, "", fmt.Errorf("store in %s: unexpected %T", f.of.name, o)
	}
	version := t.GetResourceVersion()
	_, err := Trim(t)
	return t, version, err
}

// changes tells an object that was made again under its name from one that changed.
func changes[T object](before, after T, existed bool) []change[T] {
	switch {
	case !existed:
		return []change[T]{{after: after, appeared: true}}
	case before.GetUID() != after.GetUID():
		return []change[T]{{before: before, vanished: true}, {after: after, appeared: true}}
	}
	return []change[T]{{before: before, after: after}}
}
