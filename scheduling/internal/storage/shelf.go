package storage

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/internalinterfaces"
	storageinformers "k8s.io/client-go/informers/storage"
	"k8s.io/client-go/tools/cache"

	"sluice.dev/sluice/scheduling/internal/plugins"
)

// shelf holds a snapshot's objects where plugins look for them: an informer factory that knows no API server. Nothing runs; what is put
// on it is there at once, for handlers too. API groups that are not defined here are nil: none of the plugins that we ask wants them.
//
// VolumeBinder takes informers and nothing less: it keeps caches of its own, which it fills from their events. A fake client would bring
// goroutines, and answers that come when they come.
type shelf struct {
	informers.SharedInformerFactory
	boards map[reflect.Type]*board
}

// newShelf is empty.
func newShelf() *shelf { return &shelf{boards: map[reflect.Type]*board{}} }

// The two groups of the API that plugins about volumes read.
func (s *shelf) Core() core.Interface                { return core.New(s, "", nil) }
func (s *shelf) Storage() storageinformers.Interface { return storageinformers.New(s, "", nil) }
func (s *shelf) InformerName() *cache.InformerName   { return nil }

// InformerFor is the one board of a type. Plugins make informers by the function that is ignored here, each its own.
func (s *shelf) InformerFor(o runtime.Object, _ internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	return s.board(o)
}

// board is the one of the object's type.
func (s *shelf) board(o runtime.Object) *board {
	of := reflect.TypeOf(o)
	b, ok := s.boards[of]
	if !ok {
		b = &board{indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})}
		s.boards[of] = b
	}
	return b
}

// put adds objects of one type.
func put[T runtime.Object](s *shelf, objects ...T) {
	for _, o := range objects {
		plugins.Must("store an object", s.board(o).put(o)) // fails only for an object without metadata
	}
}

// take removes an object by its namespace and name. Those who listen are not told: VolumeBinder goes on knowing a volume that was made for
// a claim. It binds no other claim to it, and this one only on nodes where it would have one made again.
func take[T runtime.Object](s *shelf, o T) {
	plugins.Must("remove an object", s.board(o).indexer.Delete(o))
}

// found is the object of that key, "name" or "namespace/name"; nil when there is none.
func found[T runtime.Object](s *shelf, key string) T {
	var none T
	o, ok, _ := s.board(none).indexer.GetByKey(key)
	if !ok {
		return none
	}
	return o.(T)
}

// board is the informer of one type. What it does not define belongs to watching, which nobody asks for.
type board struct {
	cache.SharedIndexInformer
	indexer cache.Indexer
	readers []cache.ResourceEventHandler
}

// put adds or replaces an object, and tells all who listen.
func (b *board) put(o any) error {
	if err := b.indexer.Add(o); err != nil {
		return err
	}
	for _, r := range b.readers {
		r.OnAdd(o, true)
	}
	return nil
}

// What listers and binders ask an informer for.
func (b *board) GetStore() cache.Store               { return b.indexer }
func (b *board) GetIndexer() cache.Indexer           { return b.indexer }
func (b *board) AddIndexers(by cache.Indexers) error { return b.indexer.AddIndexers(by) }
func (b *board) HasSynced() bool                     { return true }

// AddEventHandler tells the reader at once of all that is there.
func (b *board) AddEventHandler(r cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	b.readers = append(b.readers, r)
	for _, o := range b.indexer.List() {
		r.OnAdd(o, true)
	}
	return read{}, nil
}

// AddEventHandlerWithOptions takes no options.
func (b *board) AddEventHandlerWithOptions(
	r cache.ResourceEventHandler, _ cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	return b.AddEventHandler(r)
}

// read is the registration of a reader that has heard everything.
type read struct {
	cache.ResourceEventHandlerRegistration
}

func (read) HasSynced() bool { return true }
