package controlplanetest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
)

// StartThrough is [Start] with an API server that reaches pods through dial, as it does on a control plane apart from its nodes. It
// proxies to no address of loopback, which may be all that a machine has.
func StartThrough(t testing.TB, dial func(address string) (net.Conn, error)) *rest.Config {
	t.Helper()
	folder, err := os.MkdirTemp("", "egress") // not the test's own: a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	socket, file := filepath.Join(folder, "socket"), filepath.Join(folder, "egress.yaml")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &http.Server{Handler: tunnel(dial)} // #nosec G112 -- the API server alone asks it
	go func() { _ = proxy.Serve(l) }()
	t.Cleanup(func() { _ = proxy.Close() })
	config := fmt.Sprintf(`apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection: {proxyProtocol: HTTPConnect, transport: {uds: {udsName: %s}}}
`, socket)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return start(t, file)
}

// tunnel answers CONNECT.
func tunnel(dial func(address string) (net.Conn, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		there, err := dial(r.URL.Host)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer there.Close()
		here, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer here.Close()
		if _, err := io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
			return
		}
		go func() {
			_, _ = io.Copy(there, here)
			_ = there.Close()
		}()
		_, _ = io.Copy(here, there)
	}
}
