package kube

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// arrived is what is kept of an object on its way from the API server to the feed's store, through a reflector that gathers a whole
// read and wants API objects, of which it asks only the name.
type arrived[K any] struct {
	kept                     K
	namespace, name, version string
}

// GetObjectMeta implements metav1.ObjectMetaAccessor.
func (a *arrived[K]) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: a.namespace, Name: a.name, ResourceVersion: a.version}
}

// GetObjectKind makes it a runtime.Object, of no kind.
func (a *arrived[K]) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject makes it a runtime.Object; what is kept is never changed.
func (a *arrived[K]) DeepCopyObject() runtime.Object {
	own := *a
	return &own
}

// Transformer is applied to objects that arrive by a streamed read, so that they are never all in memory as they came: each
// becomes at once what is kept of it.
func (f *feed[T, K]) Transformer() cache.TransformFunc {
	return func(o any) (any, error) { return f.arrive(o) }
}

// arrivals is a page of a list with what is kept of its objects.
func (f *feed[T, K]) arrivals(page runtime.Object, first bool) (runtime.Object, error) {
	of, err := meta.ListAccessor(page)
	if err != nil {
		return nil, fmt.Errorf("read a page of %s: %w", f.of.name, err)
	}
	if first {
		f.mu.Lock()
		f.first.again()
		f.mu.Unlock()
	}
	kept := &internalversion.List{ListMeta: metav1.ListMeta{ResourceVersion: of.GetResourceVersion(), Continue: of.GetContinue(), RemainingItemCount: of.GetRemainingItemCount()}}
	err = meta.EachListItemWithAlloc(page, func(o runtime.Object) error {
		a, err := f.arrive(o)
		kept.Items = append(kept.Items, a)
		return err
	})
	return kept, err
}

// arrive is what is kept of an object of a whole read.
func (f *feed[T, K]) arrive(o any) (*arrived[K], error) {
	if a, ok := o.(*arrived[K]); ok {
		return a, nil
	}
	kept, version, err := f.trimmed(o)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.first.one()
	f.mu.Unlock()
	n := f.held.form.name(kept)
	return &arrived[K]{kept: kept, namespace: n.namespace, name: n.name, version: version}, nil
}

// advance is how far a first read has come. An attempt that breaks off and begins anew advances again only where it comes further, so
// that one which breaks off for ever does not advance for ever.
type advance struct {
	came, most int       // objects that came in this attempt, in any
	at         time.Time // when most grew
}

// again begins another attempt.
func (a *advance) again() { a.came = 0 }

// one is another object that came.
func (a *advance) one() {
	if a.came++; a.came > a.most {
		a.most, a.at = a.came, time.Now()
	}
}
