package kubesim

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// watcher is one open watch: an unbounded queue of events and the io.Reader
// that a client drains it through. It ends when the client leaves or a fault
// cuts it, never by timeoutSeconds: real time means nothing here.
type watcher struct {
	lock    sync.Locker // of the cluster
	table   *table
	kind    *kind
	sel     selection
	agent   string
	message bool            // events are protobuf
	ctx     context.Context // of the client's request

	mu     sync.Mutex
	queue  []frame
	ended  bool
	held   bool          // by a fault: nothing is delivered
	signal chan struct{} // holds one token while there is something to read

	rest []byte // encoded and not yet read; touched by the reader only
}

// frame is one event on its way: an object, or in the place of one why there will be no more.
type frame struct {
	typ   string
	entry *entry
	gone  *metav1.Status
}

// offer queues a change as this watch sees it: an object that enters its
// selection is ADDED, one that leaves it is DELETED.
func (w *watcher) offer(ch change) {
	was := ch.before != nil && w.sel.matches(ch.before)
	is := !ch.deleted && w.sel.matches(ch.after)
	switch {
	case was && is:
		w.push(frame{typ: "MODIFIED", entry: ch.after})
	case is:
		w.push(frame{typ: "ADDED", entry: ch.after})
	case was && ch.deleted:
		w.push(frame{typ: "DELETED", entry: ch.after})
	case was: // the last version that matched, under the version it left at
		last := ch.before.obj.DeepCopyObject().(object)
		last.SetResourceVersion(ch.after.obj.GetResourceVersion())
		w.push(frame{typ: "DELETED", entry: &entry{kind: ch.after.kind, key: ch.after.key, obj: last, rv: ch.after.rv}})
	}
}

func (w *watcher) push(f frame) {
	w.mu.Lock()
	w.queue = append(w.queue, f)
	w.mu.Unlock()
	w.wake()
}

func (w *watcher) wake() {
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

// hold stops the delivery of events, or resumes it.
func (w *watcher) hold(held bool) {
	w.mu.Lock()
	w.held = held
	waiting := len(w.queue) > 0
	w.mu.Unlock()
	if !held && waiting {
		w.wake()
	}
}

// end lets the reader finish what is queued and then see io.EOF.
func (w *watcher) end() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.wake()
}

// Read blocks until there is an event, the watch ends or the request's context
// is done.
func (w *watcher) Read(p []byte) (int, error) {
	for len(w.rest) == 0 {
		w.mu.Lock()
		var queue []frame
		ended := w.ended
		if !w.held {
			queue, w.queue = w.queue, nil
		}
		w.mu.Unlock()
		w.rest = w.rest[:0]
		for _, f := range queue {
			w.rest = f.append(w.rest, w)
		}
		if len(w.rest) > 0 {
			break
		}
		if ended {
			return 0, io.EOF
		}
		select {
		case <-w.signal:
		case <-w.ctx.Done():
			return 0, w.ctx.Err()
		}
	}
	n := copy(p, w.rest)
	w.rest = w.rest[n:]
	return n, nil
}

// Close forgets the watch.
func (w *watcher) Close() error {
	w.lock.Lock()
	w.table.watchers = slices.DeleteFunc(w.table.watchers, func(other *watcher) bool { return other == w })
	w.lock.Unlock()
	w.end()
	return nil
}

func (f frame) append(b []byte, w *watcher) []byte {
	switch {
	case w.message && f.gone != nil:
		return framed(b, f.typ, message(f.gone.TypeMeta, f.gone))
	case w.message:
		return framed(b, f.typ, f.entry.message(w.kind))
	}
	b = append(b, `{"type":"`+f.typ+`","object":`...)
	if f.gone != nil {
		b = append(b, mustEncode(f.gone)...)
	} else {
		b = f.entry.appendObject(b, w.kind)
	}
	return append(b, '}', '\n')
}

func (s *apiServer) serveWatch(q *call) (answer, error) {
	sel, err := parseSelection(q)
	if err != nil {
		return answer{}, err
	}
	initial := q.query.Get("sendInitialEvents") == "true"
	if initial && q.query.Get("resourceVersionMatch") != string(metav1.ResourceVersionMatchNotOlderThan) {
		return answer{}, apierrors.NewBadRequest("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
	}
	from, err := strconv.ParseUint(orZero(q.query.Get("resourceVersion")), 10, 64)
	if err != nil {
		return answer{}, apierrors.NewBadRequest(fmt.Sprintf("invalid resource version %q: %v", q.query.Get("resourceVersion"), err))
	}
	t := s.store.table(q.kind)
	w := &watcher{lock: s.lock, table: t, kind: q.kind, sel: sel, agent: q.agent, message: q.protobuf && !q.kind.custom(), ctx: context.Background(), signal: make(chan struct{}, 1)}
	switch {
	case initial || from == 0:
		for _, e := range t.inNamespace(q.namespace) {
			if sel.matches(e) {
				w.push(frame{typ: "ADDED", entry: e})
			}
		}
		if initial && q.query.Get("allowWatchBookmarks") == "true" {
			w.push(frame{typ: "BOOKMARK", entry: bookmark(q.kind, s.store.rv)})
		}
	case from < t.forgot:
		gone := apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", from, t.forgot)).Status()
		gone.Kind, gone.APIVersion = "Status", "v1"
		w.push(frame{typ: "ERROR", gone: &gone})
		w.end()
	default:
		for _, ch := range t.history {
			if ch.after.rv > from {
				w.offer(ch)
			}
		}
	}
	w.held = s.faults.stalled(w)
	t.watchers = append(t.watchers, w)
	return answer{code: http.StatusOK, stream: w}, nil
}

// bookmark ends the initial events of a watch.
func bookmark(k *kind, rv uint64) *entry {
	obj := k.storage().empty()
	obj.SetResourceVersion(strconv.FormatUint(rv, 10))
	obj.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	return &entry{kind: k.storage(), obj: obj}
}
