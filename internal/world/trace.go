package world

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"sluice.dev/sluice/internal/kubesim"
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

// all is what was noted, and behind it the writes to Kubernetes.
func (t *trace) all(c *kubesim.Cluster) string {
	if t == nil {
		return ""
	}
	for _, r := range c.Log() {
		fmt.Fprintf(&t.said, "%s %s %s %s %s/%s: %d, version %d\n", r.Time.Sub(start), r.Verb, r.Resource, r.Subresource, r.Namespace, r.Name, r.Code, r.ResourceVersion)
	}
	return t.said.String()
}
