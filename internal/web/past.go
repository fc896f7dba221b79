package web

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"sluice.dev/sluice/internal/web/page"
	"sluice.dev/sluice/journal"
)

// visited are cycles of the past that somebody looked at lately: to read one of a large cluster takes a second.
type visited struct {
	mu      sync.Mutex // one is read at a time
	waiting atomic.Int32
	order   []string // the times that were asked for, the latest asked last
	read    map[string]*cycle
}

// mostWaiting is how many readers wait for a cycle of the past: more would take the places of those who look at now.
const mostWaiting = 4

// remembered is how many cycles of the past are kept.
const remembered = 4

// past is the last cycle at a time.
func (s *Server) past(at string) (*cycle, error) {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return nil, fmt.Errorf("at=%s is not a time: give one such as 2026-03-02T02:13:00Z", at)
	}
	if s.options.Past == nil {
		return nil, errors.New("this process keeps no journal: --journal=FILE has it remember each cycle")
	}
	if s.visited.waiting.Add(1) > mostWaiting {
		s.visited.waiting.Add(-1)
		return nil, fmt.Errorf("%d others look at the past (limit %d): try again in some seconds", mostWaiting, mostWaiting)
	}
	defer s.visited.waiting.Add(-1)
	s.visited.mu.Lock()
	defer s.visited.mu.Unlock()
	if c := s.visited.read[at]; c != nil {
		return c, nil
	}
	entry, err := s.options.Past(t)
	if err != nil {
		return nil, err
	}
	return s.visited.keep(at, entry), nil
}

func (m *visited) keep(at string, entry journal.Entry) *cycle {
	if m.read == nil {
		m.read = map[string]*cycle{}
	}
	if len(m.order) == remembered {
		delete(m.read, m.order[0])
		m.order = m.order[1:]
	}
	c := &cycle{Entry: &entry}
	m.order, m.read[at] = append(m.order, at), c
	return c
}

// inTime says on the page of the past where that is kept in memory alone.
func (s *Server) inTime(t page.Time) page.Time {
	if s.options.Past == nil {
		t.Detail += " A restart forgets all this, and no cycle can be opened, until sluice run has --journal=FILE."
	}
	return t
}
