package bench

import (
	"fmt"
	"net/http"
	"time"

	"sluice.dev/sluice/internal/bench/workload"
	"sluice.dev/sluice/internal/timeline"
	"sluice.dev/sluice/internal/web"
	"sluice.dev/sluice/journal"
)

// viewers are as many as follow a page at once.
const viewers = 50

// mostSent is how many bytes one viewer is sent for a cycle.
const mostSent = 200_000

// sent counts an answer, and drops it.
type sent struct {
	header http.Header
	status int
	bytes  int
}

func (s *sent) Header() http.Header { return s.header }

func (s *sent) WriteHeader(status int) { s.status = status }

func (s *sent) Write(b []byte) (int, error) { s.bytes += len(b); return len(b), nil }

// pageOf is the page of a cluster's cycle, for browsers that ask for it by one address or by several: the first writes it, and with more than one the
// others alone are timed.
func pageOf(w *workload.World, readers int, addresses ...string) Case {
	t := start(w)
	line := &timeline.Timeline{}
	server := web.New(web.Options{Timeline: line, Now: func() time.Time { return t.at }})
	handler := server.Handler()
	number, last := uint64(0), &sent{}
	ask := func(address string) {
		r, err := http.NewRequest(http.MethodGet, address, nil) //nolint:noctx // no request leaves
		if err != nil {
			panic("bench: " + err.Error())
		}
		r.Header.Set("Accept", "text/html")
		r.Header.Set("Accept-Encoding", "gzip")
		last = &sent{header: http.Header{}, status: http.StatusOK}
		handler.ServeHTTP(last, r)
	}
	turn := func() {
		t.read(10 * time.Second)
		t.cycle()
		number++
		e := journal.Entry{Cycle: number, Seen: t.seen, Policy: t.allowed, Plan: t.made, After: t.kept}
		line.Note(e)
		server.Report(e)
		if readers > 1 {
			for _, address := range addresses {
				ask(address)
			}
		}
	}
	turn()
	c := Case{Pods: len(w.Pods), Fresh: turn, Right: both([]expectation{func(Made) error {
		if last.status != http.StatusOK || last.bytes == 0 || last.bytes > mostSent {
			return fmt.Errorf("a page was answered with %d and %d bytes (limit %d)", last.status, last.bytes, mostSent)
		}
		return nil
	}}), Decide: func() Made {
		for i := range readers {
			ask(addresses[i%len(addresses)])
		}
		return Made{t.seen, t.made}
	}}
	if readers > 1 {
		c.Cycles = readers
	}
	return c
}
