package kubesim

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// RESTConfig returns a configuration for client-go that reaches the cluster
// without a socket: requests run on the caller's goroutine, watches are read
// straight from their queue. Watches are protobuf and all else is JSON. There is
// no client-side rate limit.
func (c *Cluster) RESTConfig() *rest.Config {
	return &rest.Config{
		Host:          "http://kubesim.invalid",
		Transport:     transport{c},
		QPS:           -1,
		ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON, AcceptContentTypes: runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON},
	}
}

// transport is an http.RoundTripper that asks a cluster directly.
type transport struct{ cluster *Cluster }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	a, err := t.cluster.await(r)
	if err != nil {
		return nil, err
	}
	if a.broken != nil {
		return nil, a.broken
	}
	resp := &http.Response{
		Status:        fmt.Sprintf("%d %s", a.code, http.StatusText(a.code)),
		StatusCode:    a.code,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{},
		ContentLength: int64(len(a.body)),
		Request:       r,
	}
	a.header(resp.Header)
	if a.stream != nil {
		a.stream.ctx = r.Context()
		resp.ContentLength = -1
		resp.Body = a.stream
		return resp, nil
	}
	resp.Header.Set("Content-Length", strconv.Itoa(len(a.body)))
	resp.Body = io.NopCloser(bytes.NewReader(a.body))
	return resp, nil
}
