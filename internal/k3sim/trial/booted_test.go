//go:build boot

package trial

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"sluice.dev/sluice/internal/azuresim/host"
)

// booted are machines that boot on this Linux, for which root is needed.
type booted struct {
	*testing.T
	*host.Host

	mu   sync.Mutex
	all  map[string]host.Machine // by name; also those that are off
	made int                     // machines so far
}

// gateway is where machines reach this process.
var gateway = netip.MustParseAddr("10.0.0.1")

// firstAddress is the last part of the first machine's address. A machine keeps its own as long as its disk is there.
const firstAddress = 4

func boot(t *testing.T) *booted {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Able(); err != nil {
		t.Fatal(err)
	}
	root, err := host.Root(t.Context(), filepath.Join(cache, "sluice", "boot"), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(host.Config{Dir: t.TempDir(), Image: []string{root}, Say: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return &booted{T: t, Host: h, all: map[string]host.Machine{}}
}

// serve serves machines by HTTP, and returns where.
func (b *booted) serve(h http.Handler) string {
	b.Helper()
	listener, err := b.Listen(netip.AddrPortFrom(gateway, 0))
	if err != nil {
		b.Fatal(err)
	}
	server := &http.Server{Handler: h}
	go func() { _ = server.Serve(listener) }()
	b.Cleanup(func() { _ = server.Close() })
	return "http://" + listener.Addr().String()
}

func (b *booted) machine(name string) host.Machine {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all[name]
}

func (b *booted) PowerOn(_ context.Context, name string, userData []byte) error {
	b.mu.Lock()
	m, ok := b.all[name]
	if !ok {
		n := firstAddress + b.made
		b.made++
		m = host.Machine{
			ID: fmt.Sprintf("/machines/%d", n), VMID: fmt.Sprintf("3f0d1a52-8a7b-4c58-9d0a-%012x", n), Name: name, Data: userData,
			Address: netip.AddrFrom4([4]byte{10, 0, 0, byte(n)}), MAC: fmt.Sprintf("00:0d:3a:00:00:%02x", n),
		}
		b.all[name] = m
	}
	b.mu.Unlock()
	return b.Host.PowerOn(m)
}

func (b *booted) Run(ctx context.Context, name, command string) (string, error) {
	stdout, stderr, err := b.Host.Run(ctx, b.machine(name).ID, []string{command})
	if err != nil {
		return stdout, fmt.Errorf("%w: %s", err, stderr)
	}
	return stdout, nil
}

func (b *booted) PowerOff(ctx context.Context, name string) error {
	return b.Host.PowerOff(ctx, b.machine(name).ID)
}

func (b *booted) Discard(_ context.Context, name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.all[name]
	delete(b.all, name)
	return b.Host.Delete(m.ID)
}

func (b *booted) Address(name string) string { return b.machine(name).Address.String() }

func (b *booted) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return b.Host.Dial(ctx, network, address)
}
