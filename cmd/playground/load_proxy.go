package main

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// proxy stands between sluice and the API server: it counts requests, and can be away as an API server is that restarts. It cuts every connection
// then, and refuses new ones.
type proxy struct {
	url      string
	requests atomic.Int64

	server   *http.Server
	handler  http.Handler
	address  string
	mu       sync.Mutex
	listener net.Listener
}

func newProxy(target string, transport http.RoundTripper) (*proxy, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	p := &proxy{}
	forward := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	p.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.requests.Add(1)
		forward.ServeHTTP(w, r)
	})
	p.address = "127.0.0.1:0"
	if err := p.open(); err != nil {
		return nil, err
	}
	p.address = p.listener.Addr().String()
	p.url = "http://" + p.address
	return p, nil
}

// open serves at the address, which is the same every time.
func (p *proxy) open() error {
	listener, err := net.Listen("tcp4", p.address)
	if err != nil {
		return err
	}
	p.listener = listener
	p.server = &http.Server{Handler: p.handler, ReadHeaderTimeout: 10 * time.Second}
	go p.server.Serve(listener) //nolint:errcheck // ends when it is closed
	return nil
}

// away cuts everything, or serves again.
func (p *proxy) away(is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if is {
		_ = p.server.Close()
		return
	}
	for p.open() != nil { // somebody else has the port for a moment
		time.Sleep(100 * time.Millisecond)
	}
}

func (p *proxy) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.server.Close()
}
