package main

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"
)

// proxy stands between sluice and the API server and counts requests. Where the API server cuts or refuses a connection, it cuts sluice's.
type proxy struct {
	url      string
	requests atomic.Int64
	server   *http.Server
}

func newProxy(target string, transport http.RoundTripper) (*proxy, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{url: "http://" + listener.Addr().String()}
	forward := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.requests.Add(1)
		forward.ServeHTTP(w, r)
	})}
	go p.server.Serve(listener) //nolint:errcheck // ends when it is closed
	return p, nil
}

func (p *proxy) close() error { return p.server.Close() }
