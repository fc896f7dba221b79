package azuresim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Transport carries requests to the server inside the process: no sockets, so
// that a whole world fits in one. Any host reaches Resource Manager and the token
// authority, by http or https; the metadata address reaches the metadata service
// of one machine.
type Transport struct {
	Server  *Server
	Machine string // the machine the client runs on, by resource id or name; "": on none, its metadata service is out of reach
}

// MetadataHost is the address of the metadata service.
const MetadataHost = "169.254.169.254"

// errBroken is what a client sees of a broken connection.
var errBroken = fmt.Errorf("azuresim: connection closed: %w", io.ErrUnexpectedEOF)

// RoundTrip implements [http.RoundTripper]. It does not wait, but for faults that
// hang or delay an answer, and honours the request's context.
func (t *Transport) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	defer func() {
		if e := recover(); e != nil {
			if e, ok := e.(error); !ok || !errors.Is(e, http.ErrAbortHandler) {
				panic(e)
			}
			if resp, err = nil, r.Context().Err(); err == nil {
				err = errBroken
			}
		}
	}()
	served := r.Clone(r.Context())
	if served.Body == nil {
		served.Body = http.NoBody
	}
	if served.Method == "" {
		served.Method = http.MethodGet
	}
	served.RequestURI = r.URL.RequestURI()

	var handler http.Handler = t.Server
	if r.URL.Hostname() == MetadataHost {
		if t.Machine == "" {
			return nil, fmt.Errorf("azuresim: dial %s: no route to host", MetadataHost)
		}
		handler = t.Server.Metadata(t.Machine)
	}
	w := &recorder{header: http.Header{}, status: http.StatusOK}
	handler.ServeHTTP(w, served)
	return &http.Response{
		Status: fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)), StatusCode: w.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()),
		Request: r,
	}, nil
}

// recorder keeps an answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header         { return w.header }
func (w *recorder) WriteHeader(status int)      { w.status = status }
func (w *recorder) Write(b []byte) (int, error) { return w.body.Write(b) }

// Client is an HTTP client on a machine, by resource id or name, or on none ("").
func (s *Server) Client(machine string) *http.Client {
	return &http.Client{Transport: &Transport{Server: s, Machine: machine}}
}
