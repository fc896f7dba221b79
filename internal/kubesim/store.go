package kubesim

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

func (c *Cluster) table(k *kind) *table { return c.tables[k.storage().home] }

// entryOf finds an object; nil if there is none.
func (c *Cluster) entryOf(resource, key string) *entry { return c.tables[resource].byKey[key] }

// insert stores a new object under the next resource version.
func (c *Cluster) insert(k *kind, obj object) *entry {
	e := c.version(k, obj)
	t := c.table(k)
	at, _ := t.position(e.key)
	t.sorted = slices.Insert(t.sorted, at, e)
	t.byKey[e.key] = e
	c.commit(t, change{after: e})
	return e
}

// replace stores the next version of an object.
func (c *Cluster) replace(old *entry, obj object) *entry {
	e := c.version(old.kind, obj)
	t := c.table(old.kind)
	at, _ := t.position(e.key)
	t.sorted[at] = e
	t.byKey[e.key] = e
	c.commit(t, change{before: old, after: e})
	return e
}

// remove takes an object out of its table.
func (c *Cluster) remove(old *entry) *entry {
	e := c.version(old.kind, old.obj.DeepCopyObject().(object))
	t := c.table(old.kind)
	at, _ := t.position(e.key)
	t.sorted = slices.Delete(t.sorted, at, at+1)
	delete(t.byKey, e.key)
	c.commit(t, change{before: old, after: e, deleted: true})
	return e
}

func (c *Cluster) version(k *kind, obj object) *entry {
	c.rv++
	obj.SetResourceVersion(strconv.FormatUint(c.rv, 10))
	obj.SetManagedFields(nil)
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return &entry{kind: k, key: keyOf(obj), obj: obj, rv: c.rv}
}

func (c *Cluster) commit(t *table, ch change) {
	t.rv = ch.after.rv
	t.history = append(t.history, ch)
	if len(t.history) >= 2*historyLimit {
		t.forgot = t.history[historyLimit-1].after.rv
		t.history = slices.Clone(t.history[historyLimit:])
	}
	for _, w := range t.watchers {
		w.offer(ch)
	}
	c.observe(ch)
}

// observe keeps the indexes and the controllers' lists of work up to date.
func (c *Cluster) observe(ch change) {
	c.observeOwnership(ch)
	switch obj := ch.after.obj.(type) {
	case *corev1.Pod:
		c.observePod(ch, obj)
	case *corev1.Node:
		c.observeNode(ch, obj)
	default:
		c.observeWorkload(ch)
	}
}

// ResourceVersion returns the resource version of the newest change to a
// resource ("pods", for a custom resource "podgroups.scheduling.x-k8s.io"), 0
// if there was none or the resource is unknown. An informer over the whole resource whose LastSyncResourceVersion is not lower
// has seen everything.
func (c *Cluster) ResourceVersion(resource string) uint64 {
	c.lock()
	defer c.mu.Unlock()
	if t := c.tables[resource]; t != nil {
		return t.rv
	}
	return 0
}
