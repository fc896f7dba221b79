package controlplane

import (
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestStopLeavesNothing(t *testing.T) {
	before := listening(t)
	c, client := started(t, Options{})
	if _, err := client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err) // a watch that is never closed must not hold up Stop
	}
	if during := listening(t); len(during) <= len(before) {
		t.Errorf("listening sockets while it runs: %v, want more than %v", during, before)
	}
	if _, err := Start(t.Context(), Options{}); !errors.Is(err, ErrRunning) {
		t.Errorf("second Start: %v, want %v", err, ErrRunning)
	}

	for range 2 {
		if err := c.Stop(); err != nil {
			t.Errorf("Stop: %v", err)
		}
	}
	if _, err := os.Stat(c.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("temporary directory after Stop: %v, want %v", err, os.ErrNotExist)
	}
	if after := listening(t); len(after) > len(before) {
		t.Errorf("listening sockets after Stop: %v, before Start: %v", after, before)
	}
	address, err := url.Parse(c.Config().Host)
	if err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", address.Host); err == nil {
		conn.Close()
		t.Errorf("kube-apiserver still accepts connections at %s", address.Host)
	}
}

// listening are the local addresses, as the kernel writes them, of the TCP sockets on which this process listens.
func listening(t *testing.T) []string {
	t.Helper()
	own := map[string]bool{}
	descriptors, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range descriptors {
		if to, err := os.Readlink(fd); err == nil {
			if inode, ok := strings.CutPrefix(to, "socket:["); ok {
				own[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	var addresses []string
	for _, file := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		table, err := os.ReadFile(file)
		if err != nil {
			continue // no IPv6
		}
		for line := range strings.Lines(string(table)) {
			const listen, address, state, inode = "0A", 1, 3, 9
			if f := strings.Fields(line); len(f) > inode && f[state] == listen && own[f[inode]] {
				addresses = append(addresses, f[address])
			}
		}
	}
	return addresses
}
