package kube

import (
	"fmt"
	"strconv"

	"k8s.io/client-go/tools/cache"
)

// A feed is what its reflector writes into.
var (
	_ cache.TransformingStore      = (*feed[object, object])(nil)
	_ cache.ReflectorBookmarkStore = (*feed[object, object])(nil)
)

// change is one object before and after; a version that does not exist is the zero T.
type change[T comparable] struct {
	before, after      T
	appeared, vanished bool // there is no before, there is no after
}

// Add stores an object that appeared. A reflector also adds what is there already.
func (f *feed[T, K]) Add(o any) error { return f.Update(o) }

// Update stores the present version of an object.
func (f *feed[T, K]) Update(o any) error {
	after, version, err := f.trimmed(o)
	if err != nil {
		return err
	}
	f.mu.Lock()
	before, existed, changed := f.put(after)
	f.said(version)
	if f.tidy != nil && changed {
		f.tidy(f.held.byName)
	}
	f.mu.Unlock()
	if changed {
		f.tell(f.changes(before, after, existed))
	}
	return nil
}

// Delete forgets an object; o is its last version, with the resource version of the deletion.
func (f *feed[T, K]) Delete(o any) error {
	last, ok := o.(T)
	if !ok {
		return fmt.Errorf("delete from %s: unexpected %T", f.of.name, o)
	}
	f.mu.Lock()
	before, existed := f.held.remove(nameOf(last))
	f.said(last.GetResourceVersion())
	f.mu.Unlock()
	if existed {
		f.tell([]change[K]{{before: before, vanished: true}})
	}
	return nil
}

// Replace makes the objects of a whole read the only ones.
func (f *feed[T, K]) Replace(list []any, version string) error {
	objects := make([]K, 0, len(list))
	for _, o := range list {
		t, _, err := f.trimmed(o)
		if err != nil {
			return err
		}
		objects = append(objects, t)
	}
	var all []change[K]
	present := make(map[name]bool, len(objects))
	f.mu.Lock()
	for _, after := range objects {
		present[f.held.form.name(after)] = true
		if before, existed, changed := f.put(after); changed {
			all = append(all, f.changes(before, after, existed)...)
		}
	}
	for n := range f.held.byName {
		if !present[n] {
			before, _ := f.held.remove(n)
			all = append(all, change[K]{before: before, vanished: true})
		}
	}
	if f.tidy != nil {
		f.tidy(f.held.byName)
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

// put stores an object that was heard of now. The caller holds the lock.
func (f *feed[T, K]) put(after K) (before K, existed, changed bool) {
	if note := f.held.form.note; note != nil {
		note(f.held.byName[f.held.form.name(after)], after, f.now())
	}
	return f.held.put(after)
}

// Bookmark notes that the API server vouches for everything up to the version.
func (f *feed[T, K]) Bookmark(version string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.said(version)
	return nil
}

// Resync does nothing: nobody wants to hear again what did not change.
func (f *feed[T, K]) Resync() error { return nil }

// said notes that everything up to the version is in held and that the API server is alive. The caller holds the lock.
func (f *feed[T, K]) said(version string) {
	if v, err := strconv.ParseUint(version, 10, 64); err == nil {
		f.version = max(f.version, v)
	}
	f.last = f.now()
	f.expect()
}

func (f *feed[T, K]) tell(all []change[K]) {
	if f.notice == nil {
		return
	}
	for _, c := range all {
		f.notice(c)
	}
}

// trimmed is what is kept of the object, and the version that it had.
func (f *feed[T, K]) trimmed(o any) (K, string, error) {
	var none K
	if a, ok := o.(*arrived[K]); ok {
		return a.kept, a.version, nil
	}
	t, ok := o.(T)
	if !ok {
		return none, "", fmt.Errorf("store in %s: unexpected %T", f.of.name, o)
	}
	version := t.GetResourceVersion()
	if _, err := Trim(t); err != nil {
		return none, "", err
	}
	return f.keep(t), version, nil
}

// changes tells an object that was made again under its name from one that changed.
func (f *feed[T, K]) changes(before, after K, existed bool) []change[K] {
	switch {
	case !existed:
		return []change[K]{{after: after, appeared: true}}
	case f.held.form.uid(before) != f.held.form.uid(after):
		return []change[K]{{before: before, vanished: true}, {after: after, appeared: true}}
	}
	return []change[K]{{before: before, after: after}}
}
