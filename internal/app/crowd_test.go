package app

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/web"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// crowded is a cycle in which so many pods wait, none of which any of five groups holds.
func crowded(pods int) journal.Entry {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	e := journal.Entry{Cycle: 1, Seen: cluster.New(now, cluster.Objects{}, nil), Plan: action.Plan{Time: now}}
	for i := range pods {
		v := action.Verdict{Subject: reason.Pod("render", fmt.Sprintf("frame-%06d", i)), Outcome: action.PodStuck, Because: []reason.Reason{reason.New(reason.NoGroupFits, reason.Ref{})}}
		for g := range 5 {
			v.Because = append(v.Because, reason.New(reason.InsufficientResource, reason.Group(fmt.Sprintf("group-%d", g)), "resource", "cpu", "needs", "64", "free", fmt.Sprint(i)))
		}
		e.Plan.Verdicts = append(e.Plan.Verdicts, v)
	}
	return e
}

// heap is what lives, in MiB.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc >> 20)
}

// serve answers on a loopback address until the test ends.
func serve(t *testing.T, handler http.Handler) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, fail := context.WithCancelCause(t.Context())
	stop, err := Serve(Options{Listener: listener}, handler, fail)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return listener.Addr().String()
}

// reader asks for a page, and reads no more of the answer than its status.
type reader struct {
	net.Conn
	status string
}

func ask(t *testing.T, address, page string) reader {
	t.Helper()
	conn := dial(t, address)
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: sluice\r\n\r\n", page); err != nil {
		t.Fatal(err)
	}
	status, err := bufio.NewReaderSize(conn, 16).ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	return reader{conn, strings.TrimSpace(status)}
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// TestSlowReadersHoldLittleMemory has 50 readers ask for everything about 30,000 pods, and then read nothing.
func TestSlowReadersHoldLittleMemory(t *testing.T) {
	server := web.New(web.Options{})
	server.Report(crowded(30000))
	address := serve(t, server.Handler())
	before := heap()
	by := map[string]int{}
	var readers []reader
	for _, page := range []string{"/api/v1/verdicts", "/api/v1/entry"} {
		for range 25 {
			r := ask(t, address, page)
			readers = append(readers, r)
			by[r.status]++
		}
	}
	held := heap() - before
	t.Logf("%v; they hold %d MiB", by, held)
	if by["HTTP/1.1 200 OK"] != 16 || by["HTTP/1.1 503 Service Unavailable"] != 34 {
		t.Errorf("50 readers got %v, want 16 times 200 and 34 times 503", by)
	}
	if held > 64 {
		t.Errorf("they hold %d MiB (limit 64)", held)
	}
	for _, page := range []string{"/healthz", "/readyz"} {
		if r := ask(t, address, page); r.status != "HTTP/1.1 200 OK" {
			t.Errorf("%s meanwhile: %s", page, r.status)
		}
	}
	for _, r := range readers {
		_ = r.Close()
	}
	for ask(t, address, "/api/v1/verdicts").status != "HTTP/1.1 200 OK" { // until the server has seen that they went
		if t.Context().Err() != nil {
			t.Fatal("nobody is answered after they have gone")
		}
	}
}

// TestConnectionsThatAskNothingKeepNobodyOut opens more than a server holds, three times over.
func TestConnectionsThatAskNothingKeepNobodyOut(t *testing.T) {
	address := serve(t, web.New(web.Options{}).Handler())
	var silent []net.Conn
	for range 3 * connections {
		silent = append(silent, dial(t, address))
	}
	if r := ask(t, address, "/healthz"); r.status != "HTTP/1.1 200 OK" {
		t.Errorf("/healthz: %s", r.status)
	}
	for i, conn := range silent[:2*connections] {
		if _, err := conn.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "EOF") && !strings.Contains(err.Error(), "reset") {
			t.Fatalf("connection %d of %d is held: %v", i, len(silent), err)
		}
	}
}

// TestWhoAsksNothingGoesFirst lets connections come to a server that holds three.
func TestWhoAsksNothingGoesFirst(t *testing.T) {
	c := &crowd{most: 3}
	all := map[string]net.Conn{}
	is := func(name string, state http.ConnState) {
		if all[name] == nil {
			all[name], _ = net.Pipe()
		}
		c.note(all[name], state)
	}
	want := func(names ...string) {
		t.Helper()
		for _, name := range names {
			if _, held := c.held[all[name]]; !held {
				t.Errorf("%s is not held", name)
			}
		}
		if len(c.held) != len(names) {
			t.Errorf("%d are held, want %d", len(c.held), len(names))
		}
	}
	is("a", http.StateNew)
	is("b", http.StateNew)
	is("c", http.StateNew)
	is("a", http.StateActive)
	is("d", http.StateNew)
	want("a", "c", "d") // b was silent for longest
	is("b", http.StateClosed)
	is("c", http.StateActive)
	is("c", http.StateIdle)
	is("e", http.StateNew)
	want("a", "c", "e") // d asked nothing, and c has just had its answer
	is("d", http.StateActive)
	want("a", "c", "e") // d was dismissed, whatever it says now
	is("c", http.StateActive)
	is("e", http.StateActive)
	is("f", http.StateNew)
	want("c", "e", "f") // all ask: a for longest
	is("f", http.StateClosed)
	is("g", http.StateNew)
	want("c", "e", "g")
}
