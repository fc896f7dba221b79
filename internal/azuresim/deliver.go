package azuresim

import (
	"bytes"
	"net/http"
	"regexp"
)

// log records an answered request and gives it its id.
func (q *request) log(a answer) (id string) {
	q.server.journal.answered++
	id = guid(q.server.Seed, "request", q.server.journal.answered)
	record := q.record(a, id)
	q.server.journal.add(record)
	if q.server.Observe != nil {
		q.server.Observe(record, q.lived)
	}
	return id
}

// deliver writes an answer with the headers every service sets, records it, and
// applies what the request's fault does to answers in transit. While a fault keeps
// the caller waiting, the server is not locked.
func (q *request) deliver(w http.ResponseWriter, a answer) {
	id := q.log(a)
	if f := q.fault; f.Delay > 0 || f.Hang {
		pass := q.server.Sleep
		if pass == nil && q.server.Now == nil {
			pass = sleep
		}
		if arrives := f.wait(q.http.Context(), &q.server.mu, pass); !arrives {
			panic(http.ErrAbortHandler)
		}
	}
	if q.fault.LoseRequest || q.fault.LoseAnswer {
		panic(http.ErrAbortHandler)
	}

	body := a.encode()
	h := w.Header()
	for k, v := range a.header {
		h[k] = v
	}
	h.Set("X-Ms-Request-Id", id)
	h.Set("X-Ms-Correlation-Request-Id", id)
	h.Set("Date", q.now.Add(q.fault.Skew).Format(http.TimeFormat))
	if c := q.http.Header.Get("X-Ms-Client-Request-Id"); c != "" {
		h.Set("X-Ms-Client-Request-Id", c)
	}
	if code := a.errorCode(); code != "" {
		h.Set("X-Ms-Error-Code", code)
	}
	if body != nil && h.Get("Content-Type") == "" {
		h.Set("Content-Type", "application/json; charset=utf-8")
	}
	for _, x := range q.fault.Header {
		if h.Del(x.Name); x.Value != "" {
			h.Set(x.Name, x.Value)
		}
	}
	if body == nil {
		w.WriteHeader(a.status)
		return
	}
	if q.server.UpperCaseGroups && q.route.subscription != "" {
		body = groupInID.ReplaceAllFunc(body, bytes.ToUpper)
		body = bytes.ReplaceAll(body, []byte("/RESOURCEGROUPS/"), []byte("/resourceGroups/"))
	}
	if q.fault.Truncate {
		body = body[:len(body)/2]
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(body) // a client that hung up has nobody left to tell
}

// groupInID is the part of a resource id that names the resource group.
var groupInID = regexp.MustCompile(`(?i)/resourceGroups/[^/"?]+`)
