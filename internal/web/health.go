package web

import (
	"fmt"
	"io"
	"net/http"
	"time"
)

// health answers 200 while the process does what it should: begin cycles and complete them when it leads, wait when it does not. A cycle succeeds that read
// the cluster and, of the node groups that there are, any. A kubelet that is told otherwise starts the process anew.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	since := s.leading.Load()
	if since == nil {
		text(w, http.StatusOK, "OK\n")
		return
	}
	now := s.options.Now()
	fail := func(format string, idle, limit time.Duration) {
		text(w, http.StatusInternalServerError, fmt.Sprintf("Error: "+format+" (limit %s)\n", whole(idle), limit))
	}
	began, good := s.began.Load(), s.good.Load()
	switch {
	case good == nil && now.Sub(*since) > s.options.Startup:
		fail("no cycle has succeeded for %s since the start", now.Sub(*since), s.options.Startup)
	case good != nil && began != nil && now.Sub(*began) > s.options.MaxInactivity:
		fail("the last cycle began %s ago", now.Sub(*began), s.options.MaxInactivity)
	case good != nil && now.Sub(*good) > s.options.MaxFailing:
		fail("the last cycle that succeeded ended %s ago", now.Sub(*good), s.options.MaxFailing)
	default:
		text(w, http.StatusOK, "OK\n")
	}
}

// ready answers 200 to a leader that has read anything of the cloud, and to a replica that waits for its turn. It answers 503 while the lease cannot be
// had. Anybody may ask: it names no cause that only the log may name.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	lease := s.lease()
	switch {
	case lease != nil:
		text(w, http.StatusServiceUnavailable, lease.Error()+"\n")
	case s.leading.Load() == nil:
		text(w, http.StatusOK, "OK: another replica leads\n")
	case s.read.Load():
		text(w, http.StatusOK, "OK\n")
	case s.latest.Load() != nil:
		text(w, http.StatusServiceUnavailable, "no node group could be read from Azure yet; the log says why\n")
	default:
		text(w, http.StatusServiceUnavailable, "no cycle has been completed yet; the log says why when that lasts\n")
	}
}

// lease is why the lease cannot be had, nil when it can, or where none is used.
func (s *Server) lease() error {
	if s.options.Lease == nil {
		return nil
	}
	return s.options.Lease()
}

func whole(d time.Duration) time.Duration { return d.Truncate(time.Second) }

func text(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	io.WriteString(w, body) //nolint:errcheck // nobody is left to tell
}
