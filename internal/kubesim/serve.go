package kubesim

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// call is one request, understood.
type call struct {
	verb        string // get list watch create update patch delete deletecollection
	kind        *kind
	namespace   string
	name        string
	subresource string
	query       url.Values
	contentType string
	protobuf    bool // is what the client would rather be answered in
	agent       string
	body        []byte
}

// answer is what a call returns: a body, or a stream of watch events.
type answer struct {
	code   int
	body   []byte
	plain  bool // the body is text, not JSON
	stream *watcher
	retry  int             // seconds, for the Retry-After header
	broken error           // the connection fails instead of answering
	hung   <-chan struct{} // the request is answered when it is closed
}

// ServeHTTP answers one request of the Kubernetes API.
func (c *Cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, err := c.await(r)
	if err != nil {
		return // the client has left
	}
	if a.broken != nil {
		panic(http.ErrAbortHandler)
	}
	a.header(w.Header())
	w.WriteHeader(a.code)
	if a.stream == nil {
		_, _ = w.Write(a.body) // a client that left needs no answer
		return
	}
	defer a.stream.Close() //nolint:errcheck // closing a stream in memory cannot fail
	a.stream.ctx = r.Context()
	flusher, _ := w.(http.Flusher)
	buf := make([]byte, 32<<10)
	for {
		if flusher != nil {
			flusher.Flush()
		}
		n, err := a.stream.Read(buf)
		if err != nil {
			return
		}
		if _, err := w.Write(buf[:n]); err != nil {
			return
		}
	}
}

// await is the answer, once there is one.
func (c *Cluster) await(r *http.Request) (answer, error) {
	for {
		a := c.answer(r)
		if a.hung == nil {
			return a, nil
		}
		select {
		case <-a.hung:
		case <-r.Context().Done():
			return a, r.Context().Err()
		}
	}
}

func (a answer) header(h http.Header) {
	switch {
	case a.plain:
		h.Set("Content-Type", "text/plain; charset=utf-8")
	case a.stream != nil && a.stream.message:
		h.Set("Content-Type", runtime.ContentTypeProtobuf+";stream=watch")
	default:
		h.Set("Content-Type", "application/json")
	}
	if a.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(a.retry))
	}
}

func (c *Cluster) answer(r *http.Request) answer {
	q, err := parse(r) // which reads the body: without the lock
	c.lock()
	defer c.mu.Unlock()
	return c.api.answer(r, q, err)
}

// parse understands a request, or says why it cannot.
func parse(r *http.Request) (*call, error) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var group, version string
	switch {
	case len(parts) > 2 && parts[0] == "api":
		version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, version, parts = parts[1], parts[2], parts[3:]
	default:
		return nil, errNoSuchPath
	}
	q := &call{query: r.URL.Query(), agent: r.UserAgent(), contentType: r.Header.Get("Content-Type"), protobuf: accepts(r.Header.Get("Accept"))}
	if len(parts) > 2 && parts[0] == "namespaces" && kindByPath[group+"/"+version+"/"+parts[2]] != nil {
		q.namespace, parts = parts[1], parts[2:]
	}
	q.kind = kindByPath[group+"/"+version+"/"+parts[0]]
	if q.kind == nil || len(parts) > 3 || (q.namespace != "") && !q.kind.namespaced {
		return nil, errNoSuchPath
	}
	if len(parts) > 1 {
		q.name = parts[1]
	}
	if len(parts) > 2 {
		q.subresource = parts[2]
	}
	if q.kind.namespaced && q.namespace == "" && (q.name != "" || r.Method == http.MethodPost) {
		return nil, errNoSuchPath
	}
	if !q.understands(r.Method) {
		return nil, apierrors.NewMethodNotSupported(q.kind.groupResource(), strings.ToLower(r.Method))
	}
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		q.body = body
	}
	return q, nil
}

// understands sets the verb that the method means on this path.
func (q *call) understands(method string) bool {
	watch := q.query.Get("watch")
	switch {
	case method == http.MethodGet && (watch == "1" || watch == "true") && q.name == "":
		q.verb = "watch"
	case method == http.MethodGet && q.name == "":
		q.verb = "list"
	case method == http.MethodGet:
		q.verb = "get"
	case method == http.MethodPost && (q.name == "" || q.subresource != ""):
		q.verb = "create"
	case method == http.MethodPut && q.name != "":
		q.verb = "update"
	case method == http.MethodPatch && q.name != "":
		q.verb = "patch"
	case method == http.MethodDelete && q.name != "":
		q.verb = "delete"
	case method == http.MethodDelete:
		q.verb = "deletecollection"
	default:
		return false
	}
	return true
}

// mutates reports whether the call could change an object.
func (q *call) mutates() bool {
	return q.verb != "get" && q.verb != "list" && q.verb != "watch"
}

// dryRun reports whether the call asks for its answer without its effect.
func (q *call) dryRun() bool { return len(q.query["dryRun"]) > 0 }

var errNoSuchPath = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
	Message: "the server could not find the requested resource", Details: &metav1.StatusDetails{},
}}

// failure answers with the metav1.Status of an error.
func failure(err error) answer {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		known = apierrors.NewInternalError(fmt.Errorf("unexpected: %w", err))
	}
	s := known.Status()
	a := status(s)
	if s.Details != nil {
		a.retry = int(s.Details.RetryAfterSeconds)
	}
	return a
}

// status answers with a metav1.Status under its own code.
func status(s metav1.Status) answer {
	s.Kind, s.APIVersion = "Status", "v1"
	return answer{code: int(s.Code), body: mustEncode(s)}
}

// show answers with an object as kind k shows it.
func show(code int, k *kind, e *entry) answer {
	return answer{code: code, body: e.appendObject(nil, k)}
}
