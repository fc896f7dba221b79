package kubesim

import (
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault makes matching requests fail. An empty string matches anything.
type Fault struct {
	Verb        string // get list watch create update patch delete deletecollection
	Resource    string // "pods"
	Subresource string // "eviction"; empty matches the resource and every subresource
	Namespace   string
	Name        string
	Agent       string // the User-Agent header, in full

	Times int // how many requests it strikes; 0 means until it is lifted

	Code       int // of the answer; 0 breaks the connection without one
	Reason     metav1.StatusReason
	Message    string
	RetryAfter int // seconds

	// AfterEffect lets the request have its effect before it fails.
	AfterEffect bool
	// Stall makes watches silent, open ones and new ones, instead of failing
	// requests: events wait until the fault is lifted. Verb, Name,
	// Subresource and Times do not count then.
	Stall bool
}

type injected struct {
	Fault
	struck int
}

// Inject adds a fault; of several that match a request the oldest strikes. The
// function it returns lifts the fault, and may be called more than once.
func (c *Cluster) Inject(f Fault) (lift func()) {
	c.lock()
	defer c.mu.Unlock()
	in := &injected{Fault: f}
	c.api.faults.list = append(c.api.faults.list, in)
	c.api.faults.hold(c.store)
	return func() {
		c.lock()
		defer c.mu.Unlock()
		c.api.faults.list = slices.DeleteFunc(c.api.faults.list, func(other *injected) bool { return other == in })
		c.api.faults.hold(c.store)
	}
}

// CutWatches ends the open watches of a resource, of all of them for "", as a
// restarted API server does, and returns how many there were. Events that were
// on their way are still delivered.
func (c *Cluster) CutWatches(resource string) int {
	c.lock()
	defer c.mu.Unlock()
	n := 0
	for name, t := range c.store.tables {
		if resource != "" && resource != name {
			continue
		}
		for _, w := range t.watchers {
			w.end()
			n++
		}
		t.watchers = nil
	}
	return n
}

// faults are those that are injected, oldest first.
type faults struct{ list []*injected }

// strike returns the fault that a request meets, or nil.
func (fs *faults) strike(q *call) *injected {
	for i, f := range fs.list {
		if f.Stall || !f.meets(q) {
			continue
		}
		f.struck++
		if f.struck == f.Times {
			fs.list = slices.Delete(fs.list, i, i+1)
		}
		return f
	}
	return nil
}

func (f *Fault) meets(q *call) bool {
	return matching(f.Verb, q.verb) && matching(f.Resource, q.kind.resource) && matching(f.Subresource, q.subresource) &&
		matching(f.Namespace, q.namespace) && matching(f.Name, q.name) && matching(f.Agent, q.agent)
}

func matching(pattern, s string) bool { return pattern == "" || pattern == s }

func (f *Fault) answer() answer {
	if f.Code == 0 {
		return answer{broken: errBroken}
	}
	message := f.Message
	if message == "" {
		message = http.StatusText(f.Code)
	}
	a := status(metav1.Status{Status: metav1.StatusFailure, Code: int32(f.Code), Reason: f.Reason, Message: message,
		Details: &metav1.StatusDetails{RetryAfterSeconds: int32(f.RetryAfter)}})
	a.retry = f.RetryAfter
	return a
}

func (fs *faults) stalled(w *watcher) bool {
	for _, f := range fs.list {
		if f.Stall && matching(f.Resource, w.kind.resource) && matching(f.Namespace, w.sel.namespace) && matching(f.Agent, w.agent) {
			return true
		}
	}
	return false
}

// hold stops the open watches that are to be silent, and resumes all others.
func (fs *faults) hold(s *store) {
	for _, t := range s.tables {
		for _, w := range t.watchers {
			w.hold(fs.stalled(w))
		}
	}
}
