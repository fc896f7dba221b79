package join

import (
	"context"
	"strings"
	"sync"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/internal/azure"
)

// How Azure is asked about machines. A few are read one by one; when more come, one list answers for all.
const (
	freshFor    = time.Minute // what was read of a machine serves so long; its vmId, name and address stay as long as it lives
	singlesPer  = 4           // machines that are read one by one in
	singlesIn   = 10 * time.Second
	listsEvery  = 5 * time.Second
	mostShelves = 64
)

// machines remembers what Azure said of machines that came.
type machines struct {
	cloud Cloud
	now   func() time.Time

	mu      sync.Mutex
	shelves map[string]*shelf // by resource group and uniform scale set
}

// shelf is what one list answers for.
type shelf struct {
	of      map[string]known // by vmId
	singles []time.Time
	listed  time.Time
	listing chan struct{} // closed when the list under way has ended; nil when none is
}

type known struct {
	machine azure.Arrival
	at      time.Time // when it was asked for
}

func newMachines(c Cloud, now func() time.Time) *machines {
	return &machines{cloud: c, now: now, shelves: map[string]*shelf{}}
}

// known is what was read of a machine a moment ago. Who knows no vmId asks by the resource id alone.
func (s *shelf) known(id, vmID string, now time.Time) (azure.Arrival, bool) {
	fits := func(k known) bool { return now.Sub(k.at) <= freshFor && strings.EqualFold(k.machine.ID, id) }
	if k := s.of[vmID]; vmID != "" {
		return k.machine, fits(k)
	}
	for _, k := range s.of {
		if fits(k) {
			return k.machine, true
		}
	}
	return azure.Arrival{}, false
}

// find reads a machine. It may come from a list that was asked for a moment ago; a machine that is not in it is looked for again.
func (m *machines) find(ctx context.Context, id, vmID string, count *metrics) (azure.Arrival, error) {
	group, set, _ := m.cloud.MachineID(id)
	key := strings.ToLower(group + "/" + set)
	asked := m.now()
	for {
		m.mu.Lock()
		s := m.shelves[key]
		if s == nil {
			if len(m.shelves) >= mostShelves {
				clear(m.shelves)
			}
			s = &shelf{of: map[string]known{}}
			m.shelves[key] = s
		}
		now := m.now()
		one, ok := s.known(id, vmID, now)
		for len(s.singles) > 0 && now.Sub(s.singles[0]) >= singlesIn {
			s.singles = s.singles[1:]
		}
		switch {
		case ok:
			m.mu.Unlock()
			return one, nil
		case len(s.singles) < singlesPer:
			s.singles = append(s.singles, now)
			m.mu.Unlock()
			count.azure.WithLabelValues("machine").Inc()
			one, err := m.cloud.Machine(ctx, id)
			if err == nil {
				m.mu.Lock()
				s.of[one.UID] = known{one, now}
				m.mu.Unlock()
			}
			return one, err
		case s.listing != nil:
			done := s.listing
			m.mu.Unlock()
			select {
			case <-done:
			case <-ctx.Done():
				return azure.Arrival{}, &cloud.Error{Kind: cloud.Transient, Code: "NoAnswerInTime", Message: "list machines: no answer in time"}
			}
		case !s.listed.IsZero() && now.Sub(s.listed) < listsEvery:
			younger := !s.listed.Before(asked)
			m.mu.Unlock()
			if younger {
				return azure.Arrival{}, &cloud.Error{Kind: cloud.NotFound, Code: "NoMachine", Message: "the machine is not listed"}
			}
			return azure.Arrival{}, &cloud.Error{Kind: cloud.Throttled, Code: "ListedJustNow", RetryAfter: listsEvery, Message: "machines were listed a moment ago"}
		default:
			if err := m.list(ctx, s, group, set, now, count); err != nil {
				return azure.Arrival{}, err
			}
		}
	}
}

// list reads a whole shelf. machines.mu is held, and is not afterwards.
func (m *machines) list(ctx context.Context, s *shelf, group, set string, now time.Time, count *metrics) error {
	done := make(chan struct{})
	s.listing, s.listed = done, now
	m.mu.Unlock()
	count.azure.WithLabelValues("list").Inc()
	all, err := m.cloud.Machines(ctx, group, set)
	m.mu.Lock()
	defer m.mu.Unlock()
	s.listing = nil
	close(done)
	if err != nil {
		return err
	}
	clear(s.of)
	for _, one := range all {
		s.of[one.UID] = known{one, now}
	}
	return nil
}
