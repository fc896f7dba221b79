package world

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// trace is what sluice asked of Azure, in the order in which it did. Questions that nobody waits for are asked beside the others and are
// left out, as are tokens.
type trace struct {
	mu   sync.Mutex
	said strings.Builder
}

// note adds a request with its answer; a nil trace keeps nothing.
func (t *trace) note(at time.Duration, r *http.Request, resp *http.Response, err error) {
	if t == nil || strings.HasSuffix(r.URL.Path, "/token") {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		fmt.Fprintf(&t.said, "%s %s %s: %v\n", at, r.Method, r.URL.RequestURI(), err)
		return
	}
	fmt.Fprintf(&t.said, "%s %s %s: %d\n", at, r.Method, r.URL.RequestURI(), resp.StatusCode)
}

// traced is all that was noted, and behind it the writes to Kubernetes.
func (w *world) traced() string {
	if w.trace == nil {
		return ""
	}
	for _, r := range w.cluster.Log() {
		fmt.Fprintf(&w.trace.said, "%s %s %s %s %s/%s: %d, version %d\n", r.Time.Sub(start), r.Verb, r.Resource, r.Subresource, r.Namespace, r.Name, r.Code, r.ResourceVersion)
	}
	return w.trace.said.String()
}
