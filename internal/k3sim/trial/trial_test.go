package trial

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

// launch starts machines that boot, and says at which address they reach this one. It is nil as long as nothing here can.
var launch func(*testing.T) (Machines, string)

// TestOnARealK3s tries the K3s binary of the environment variable SLUICE_K3S. Without one nothing here was ever tried on K3s, and that is said.
func TestOnARealK3s(t *testing.T) {
	binary := os.Getenv("SLUICE_K3S")
	if binary == "" {
		t.Skip("NOT TRIED ON K3S: SLUICE_K3S names no binary. Only the stand-in of package k3sim was met.")
	}
	if info, err := os.Stat(binary); err != nil || info.IsDir() {
		t.Fatalf("SLUICE_K3S=%s: name a file, the k3s binary of a release (%v)", binary, err)
	}
	if launch == nil {
		t.Fatal("SLUICE_K3S is set, and nothing in this build starts machines to try it on")
	}
	machines, address := launch(t)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, binary) }))
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	s.Listener = listener
	s.Start()
	defer s.Close()
	Try(t, Trial{Machines: machines, From: s.URL + "/k3s"})
}
