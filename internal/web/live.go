package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// streams are those who are told of each cycle. A slow one misses cycles, and is told of the next: what it reads then is the newest.
type streams struct {
	mu  sync.Mutex
	all map[chan struct{}]bool
}

// mostStreams is how many browsers follow at one time: fewer than the connections that a server holds, so that kubelets and Prometheus have theirs.
const mostStreams = 64

// heartbeat is how often a stream that has nothing to tell says so, which shows whether anybody reads still.
const heartbeat = 20 * time.Second

// join is a channel that is told of each cycle; false when too many are there already.
func (s *streams) join() (chan struct{}, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) >= mostStreams {
		return nil, false
	}
	if s.all == nil {
		s.all = map[chan struct{}]bool{}
	}
	c := make(chan struct{}, 1)
	s.all[c] = true
	return c, true
}

func (s *streams) leave(c chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, c)
}

// tell says that a cycle is complete. It waits for nobody.
func (s *streams) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.all {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// events tells of each completed cycle, as server-sent events: its number and this process's clock. What a cycle shows is read from the pages.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	told, ok := s.streams.join()
	if !ok {
		w.Header().Set("Retry-After", fmt.Sprint(int(retryAfter.Seconds())))
		refuse(w, http.StatusServiceUnavailable, fmt.Sprintf("%d browsers follow already (limit %d): reload the page to see the newest cycle", mostStreams, mostStreams))
		return
	}
	defer s.streams.leave(told)
	w.Header().Set("Content-Type", "text/event-stream")
	to := http.NewResponseController(w)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		if err := to.SetWriteDeadline(time.Now().Add(heartbeat)); err != nil && r.Context().Err() != nil {
			return
		}
		if c := s.latest.Load(); c != nil {
			clock, err := json.Marshal(map[string]any{"cycle": c.Cycle, "now": s.options.Now().UTC()})
			if err != nil {
				return
			}
			if _, err := fmt.Fprintf(w, "event: cycle\ndata: %s\n\n", clock); err != nil {
				return
			}
		} else if _, err := fmt.Fprint(w, ": no cycle yet\n\n"); err != nil {
			return
		}
		if to.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-told:
		case <-beat.C:
		}
	}
}
