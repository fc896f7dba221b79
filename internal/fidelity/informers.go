package fidelity

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/apps"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/informers/policy"
	"k8s.io/client-go/informers/resource"
	"k8s.io/client-go/informers/scheduling"
	"k8s.io/client-go/informers/storage"
	"k8s.io/client-go/tools/cache"
)

// shelf is an informer factory without an API server: what is put on it is there at once, for listers and for handlers,
// those that were added before and those that will be. Nothing runs in the background, so a world is judged the same way
// every time. A group of the API that it does not name is nil: no plugin of the default profile asks for it.
type shelf struct {
	informers.SharedInformerFactory
	stores map[reflect.Type]*stock
}

func newShelf() *shelf { return &shelf{stores: map[reflect.Type]*stock{}} }

func (s *shelf) Core() core.Interface              { return core.New(s, "", nil) }
func (s *shelf) Apps() apps.Interface              { return apps.New(s, "", nil) }
func (s *shelf) Policy() policy.Interface          { return policy.New(s, "", nil) }
func (s *shelf) Storage() storage.Interface        { return storage.New(s, "", nil) }
func (s *shelf) Resource() resource.Interface      { return resource.New(s, "", nil) }
func (s *shelf) Scheduling() scheduling.Interface  { return scheduling.New(s, "", nil) }
func (s *shelf) InformerName() *cache.InformerName { return nil }

// InformerFor is the only informer of that type.
func (s *shelf) InformerFor(o runtime.Object, _ internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	return s.stock(o)
}

func (s *shelf) stock(o runtime.Object) *stock {
	of := reflect.TypeOf(o)
	if s.stores[of] == nil {
		byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
		s.stores[of] = &stock{indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, byNamespace)}
	}
	return s.stores[of]
}

// put adds an object or replaces the one of its name.
func (s *shelf) put(o runtime.Object) {
	if err := s.stock(o).put(o); err != nil {
		panic(fmt.Sprintf("fidelity: %T: %v", o, err)) // an object without metadata
	}
}

// find is the object of that type and name, nil when there is none.
func (s *shelf) find(o runtime.Object) runtime.Object {
	is, there, err := s.stock(o).indexer.Get(o)
	if err != nil || !there {
		return nil
	}
	return is.(runtime.Object)
}

// take removes the object of that type and name and returns it. It must be there.
func (s *shelf) take(o runtime.Object) runtime.Object {
	was, err := s.stock(o).take(o)
	if err != nil || was == nil {
		panic(fmt.Sprintf("fidelity: %T is not there: %v", o, err))
	}
	return was.(runtime.Object)
}

// stock is the informer of one type. Every method that is not defined here belongs to watching; nobody calls it.
type stock struct {
	cache.SharedIndexInformer
	indexer  cache.Indexer
	handlers []cache.ResourceEventHandler
}

func (s *stock) put(o any) error {
	was, there, err := s.indexer.Get(o)
	if err != nil {
		return err
	}
	if err := s.indexer.Add(o); err != nil {
		return err
	}
	for _, h := range s.handlers {
		if there {
			h.OnUpdate(was, o)
		} else {
			h.OnAdd(o, false)
		}
	}
	return nil
}

func (s *stock) take(o any) (any, error) {
	was, there, err := s.indexer.Get(o)
	if err != nil || !there {
		return nil, err
	}
	if err := s.indexer.Delete(was); err != nil {
		return nil, err
	}
	for _, h := range s.handlers {
		h.OnDelete(was)
	}
	return was, nil
}

func (s *stock) GetStore() cache.Store               { return s.indexer }
func (s *stock) GetIndexer() cache.Indexer           { return s.indexer }
func (s *stock) AddIndexers(by cache.Indexers) error { return s.indexer.AddIndexers(by) }
func (s *stock) HasSynced() bool                     { return true }
func (s *stock) LastSyncResourceVersion() string     { return "" }
func (s *stock) IsStopped() bool                     { return false }

// AddEventHandler tells the handler at once of all that is there.
func (s *stock) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	s.handlers = append(s.handlers, h)
	for _, o := range s.indexer.List() {
		h.OnAdd(o, true)
	}
	return synced{}, nil
}

// AddEventHandlerWithOptions takes no options.
func (s *stock) AddEventHandlerWithOptions(h cache.ResourceEventHandler, _ cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandler(h)
}

// synced is the registration of a handler that has heard everything.
type synced struct {
	cache.ResourceEventHandlerRegistration
}

func (synced) HasSynced() bool { return true }
