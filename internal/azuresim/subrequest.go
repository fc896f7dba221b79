package azuresim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sluice.dev/sluice/internal/azuresim/template"
)

// subrequest is a request that a deployment makes in its caller's name.
func (d *deployment) subrequest(s *Server, method, id, version string, body any, at time.Time) (*request, *problem) {
	r := &http.Request{Method: method, URL: &url.URL{Path: id}, Header: http.Header{}}
	q := &request{
		server: s, store: &s.store, now: at, http: r, base: d.base, query: url.Values{"api-version": {version}},
		principal: d.caller, deployment: d,
	}
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, bad("InvalidTemplate", "The body of '%s' is not JSON: %v", id, err)
		}
		q.body = raw
	}
	var p *problem
	q.route, p = match(r)
	return q, p
}

// dispatch answers a request of a deployment. Its caller has passed the front
// door; locks, faults and rights hold for every resource.
func (q *request) dispatch() answer {
	q.route.set = q.concerns()
	q.strike()
	if a, ok := q.faulted(); ok {
		return a
	}
	for _, check := range []func() *problem{q.checkVersion, q.authorize, q.checkScope, q.checkLocks} {
		if p := check(); p != nil {
			return p.answer()
		}
	}
	return q.perform()
}

// reference answers reference() by reading the resource.
func (d *deployment) reference(s *Server, at time.Time) template.Reference {
	return func(id string, full bool) (map[string]any, error) {
		q, p := d.subrequest(s, http.MethodGet, id, providerVersions[0], nil, at)
		var a answer
		if p == nil {
			a = q.route.handle(q)
		} else {
			a = p.answer()
		}
		if e, ok := a.body.(errorBody); ok {
			return nil, fmt.Errorf("%s", strings.TrimSuffix(e.Error.Message, "."))
		}
		raw, err := json.Marshal(a.body)
		if err != nil {
			return nil, err
		}
		var body map[string]any
		if err := json.Unmarshal(raw, &body); err != nil {
			return nil, err
		}
		if full {
			return body, nil
		}
		return asMap(body["properties"]), nil
	}
}
