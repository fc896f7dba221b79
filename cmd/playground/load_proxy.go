package main

import (
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// proxy stands between sluice and the API server and counts requests by what they are. Where the API server cuts or refuses a connection, it cuts sluice's.
type proxy struct {
	url    string
	server *http.Server

	mu       sync.Mutex
	requests map[string]int64 // so far, as kindOf calls them
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
	p := &proxy{url: "http://" + listener.Addr().String(), requests: map[string]int64{}}
	forward := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.count(kindOf(r))
		forward.ServeHTTP(w, r)
	})}
	go p.server.Serve(listener) //nolint:errcheck // ends when it is closed
	return p, nil
}

func (p *proxy) count(kind string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests[kind]++
}

// counted are the requests so far, by what they were.
func (p *proxy) counted() map[string]int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.requests)
}

// kindOf is what a request asks for: the verb, as the API server's audit has it, and the resource. A watch goes by its verb alone, since there is one of each
// resource; one that asks for what is there, too, is called a streamed list.
func kindOf(r *http.Request) string {
	info, err := requests.NewRequestInfo(r)
	switch {
	case err != nil || !info.IsResourceRequest:
		return strings.ToLower(r.Method) + " " + r.URL.Path
	case info.Verb == "watch" && r.URL.Query().Get("sendInitialEvents") == "true":
		return "streamed list"
	case info.Verb == "watch":
		return "watch"
	case info.Subresource != "":
		return info.Verb + " " + info.Resource + "/" + info.Subresource
	}
	return info.Verb + " " + info.Resource
}

// requests reads what a request is about from its path and query.
var requests = request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

func (p *proxy) close() error { return p.server.Close() }
