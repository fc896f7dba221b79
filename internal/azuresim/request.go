package azuresim

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// request is one request while it is answered.
type request struct {
	server *Server
	store  *store // the server's
	now    time.Time
	http   *http.Request
	base   string // scheme and host as the caller sees them
	query  url.Values
	body   []byte
	lived  []MachineState // when a write arrived, for [Server.Observe]

	repeated bool // nobody sent it now: it is carried out late, or once more

	route      route
	linked     []Linked          // what a write needs elsewhere
	principal  *principal        // who asks; nil until known, and for the authority
	fault      Fault             // what goes wrong; the zero value: nothing
	cause      *injected         // the fault in force that fault is a copy of; nil: none
	deployment *deployment       // the one that makes the request; nil: it came by wire
	makes      *making           // of a deployment that arrives; nil: of no pool
	tags       map[string]string // of the interface or disk that a write is about, before it
	user       string            // the machine that uses it, by its resource id
	began      *operation        // by this request; nil: none
	remaining  [][2]string       // headers that say what is left in the buckets
}

// answer is a status with a body: a wire value, one that is encoded, bytes, or nil for none.
type answer struct {
	status int
	header http.Header
	body   any
}

// with adds a header and returns the answer.
func (a answer) with(key, value string) answer {
	if a.header == nil {
		a.header = http.Header{}
	}
	a.header.Set(key, value)
	return a
}

func (a answer) encode() []byte {
	switch b := a.body.(type) {
	case nil:
		return nil
	case []byte:
		return b
	case *encoded:
		return b.json
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			panic("azuresim: encode answer: " + err.Error()) // wire values are ours and always encode
		}
		return raw
	}
}

func (a answer) errorCode() string {
	switch b := a.body.(type) {
	case errorBody:
		return b.Error.Code
	case errorDetail:
		return b.Code
	}
	return ""
}

const maxBody = 4 << 20 // Resource Manager refuses larger requests

func (q *request) readBody() {
	if q.http.Body == nil {
		return
	}
	q.body, _ = io.ReadAll(io.LimitReader(q.http.Body, maxBody)) // a cut body fails to decode, which is answered
}

// decode reads the body into v; an empty body leaves it alone.
func (q *request) decode(v any) *problem {
	if len(bytes.TrimSpace(q.body)) == 0 {
		return nil
	}
	if err := json.Unmarshal(q.body, v); err != nil {
		return bad("InvalidRequestContent", "The request content was invalid and could not be deserialized: '%v'.", err)
	}
	return nil
}

// baseURL is where the caller reached the server: LRO and next links point back
// to it.
func baseURL(r *http.Request) string {
	scheme := r.URL.Scheme // set when the request came through Server.Transport
	if scheme == "" {
		scheme = "http"
		if r.TLS != nil {
			scheme = "https"
		}
	}
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	return scheme + "://" + host
}

// link is an absolute URL on the caller's host with the caller's api-version.
// Its query starts with api-version and keeps the order of pairs.
func (q *request) link(path string, pairs ...string) string {
	var b strings.Builder
	b.WriteString(q.base)
	b.WriteString((&url.URL{Path: path}).EscapedPath())
	b.WriteString("?api-version=")
	b.WriteString(url.QueryEscape(q.query.Get("api-version")))
	for i := 0; i+1 < len(pairs); i += 2 {
		b.WriteString("&" + pairs[i] + "=" + url.QueryEscape(pairs[i+1]))
	}
	return b.String()
}

// seconds renders a duration as a Retry-After value, rounded up.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
