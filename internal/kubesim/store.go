package kubesim

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// entry is one version of one object. The object is never modified once the
// entry exists, so readers may keep it without a lock.
type entry struct {
	kind *kind
	key  string
	obj  object // TypeMeta is empty
	rv   uint64

	encode sync.Once
	json   []byte // without kind and apiVersion, as items of a list are

	marshal  sync.Once
	protobuf []byte // with kind and apiVersion, as events have it

	selects labels.Selector // of a disruption budget, once it was needed; under the cluster's lock
}

// bare returns the encoded object without kind and apiVersion.
func (e *entry) bare() []byte {
	e.encode.Do(func() { e.json = mustEncode(e.obj) })
	return e.json
}

// appendObject appends the encoded object as kind k shows it.
func (e *entry) appendObject(b []byte, k *kind) []byte {
	body := e.bare()
	if k.stored != nil {
		body = mustEncode(viewAs(k, e.obj))
	}
	return append(append(b, k.head...), body[1:]...)
}

func mustEncode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("kubesim: " + err.Error())
	}
	return b
}

// change is one step in a table's history.
type change struct {
	before, after *entry // before is nil for a creation
	deleted       bool   // after is the last version, with the resource version of its deletion
}

// historyLimit bounds how many changes a table remembers; a watch that starts
// before the oldest is told 410 Expired.
const historyLimit = 4096

// table holds the objects of one resource.
type table struct {
	byKey    map[string]*entry
	sorted   []*entry // by key
	rv       uint64   // of the newest change
	history  []change
	forgot   uint64 // resource version of the newest change no longer in history
	watchers []*watcher
}

func newTable() *table { return &table{byKey: map[string]*entry{}} }

func (t *table) position(key string) (int, bool) {
	return slices.BinarySearchFunc(t.sorted, key, func(e *entry, k string) int { return strings.Compare(e.key, k) })
}

// inNamespace returns the entries of a namespace in order of name; all of them
// for the empty namespace. The slice is the table's own.
func (t *table) inNamespace(namespace string) []*entry {
	if namespace == "" {
		return t.sorted
	}
	from, _ := t.position(namespace + "/")
	to, _ := t.position(namespace + "0") // '0' follows '/'
	return t.sorted[from:to]
}

// store holds the objects of the API. Every write goes through it: it completes and checks an object as the API server would, counts
// resource versions, and tells who watches, then the rest of the cluster.
type store struct {
	seed    uint64
	now     func() time.Time
	observe func(change) // follows a change within the cluster

	rv        uint64
	tables    map[string]*table // by kind.home
	installed map[API]bool      // the optional APIs that are served
	owners    ownership
}

func newStore(seed uint64, now func() time.Time, observe func(change)) *store {
	s := &store{seed: seed, now: now, observe: observe, tables: make(map[string]*table, len(kinds)), installed: map[API]bool{},
		owners: ownership{byUID: map[types.UID]*entry{}, dependents: map[types.UID][]*entry{}}}
	for _, k := range kinds {
		if k.stored == nil {
			s.tables[k.home] = newTable()
		}
	}
	return s
}

func (s *store) table(k *kind) *table { return s.tables[k.storage().home] }

// entryOf finds an object; nil if there is none.
func (s *store) entryOf(resource, key string) *entry { return s.tables[resource].byKey[key] }

// stamp returns now as objects carry it: whole seconds, UTC.
func (s *store) stamp() metav1.Time {
	return metav1.Time{Time: s.now().Truncate(time.Second)}
}

// insert stores a new object under the next resource version.
func (s *store) insert(k *kind, obj object) *entry {
	e := s.version(k, obj)
	t := s.table(k)
	at, _ := t.position(e.key)
	t.sorted = slices.Insert(t.sorted, at, e)
	t.byKey[e.key] = e
	s.commit(t, change{after: e})
	return e
}

// replace stores the next version of an object.
func (s *store) replace(old *entry, obj object) *entry {
	e := s.version(old.kind, obj)
	t := s.table(old.kind)
	at, _ := t.position(e.key)
	t.sorted[at] = e
	t.byKey[e.key] = e
	s.commit(t, change{before: old, after: e})
	return e
}

// remove takes an object out of its table.
func (s *store) remove(old *entry) *entry {
	e := s.version(old.kind, old.obj.DeepCopyObject().(object))
	t := s.table(old.kind)
	at, _ := t.position(e.key)
	t.sorted = slices.Delete(t.sorted, at, at+1)
	delete(t.byKey, e.key)
	s.commit(t, change{before: old, after: e, deleted: true})
	return e
}

func (s *store) version(k *kind, obj object) *entry {
	s.rv++
	obj.SetResourceVersion(strconv.FormatUint(s.rv, 10))
	obj.SetManagedFields(nil)
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return &entry{kind: k, key: keyOf(obj), obj: obj, rv: s.rv}
}

func (s *store) commit(t *table, ch change) {
	t.rv = ch.after.rv
	t.history = append(t.history, ch)
	if len(t.history) >= 2*historyLimit {
		t.forgot = t.history[historyLimit-1].after.rv
		t.history = slices.Clone(t.history[historyLimit:])
	}
	for _, w := range t.watchers {
		w.offer(ch)
	}
	s.observe(ch)
}

// ResourceVersion returns the resource version of the newest change to a
// resource ("pods", for a custom resource "podgroups.scheduling.x-k8s.io"), 0
// if there was none or the resource is unknown. An informer over the whole resource whose LastSyncResourceVersion is not lower
// has seen everything.
func (c *Cluster) ResourceVersion(resource string) uint64 {
	c.lock()
	defer c.mu.Unlock()
	if t := c.store.tables[resource]; t != nil {
		return t.rv
	}
	return 0
}
