package azuresim

import (
	"net/http"
	"strings"
	"time"
)

// Every state follows from the store and the time, and most looks at it find what the look before found. What was made of the store is
// therefore kept for as long as nothing can have changed: until something is done, or until the next time at which a state changes by itself.

// still is what was made of the store since it last could have changed.
type still struct {
	change int       // the count of changes then
	from   time.Time // from then on it holds
	until  time.Time // and before then; zero: for ever
	serial int       // tells one from the others; the first is 1

	machines []MachineState      // nil until somebody asks
	bodies   map[string]*encoded // of good answers to reads, by what was asked
}

// holds reports whether nothing can have changed since it was begun.
func (k *still) holds(changes int, now time.Time) bool {
	return k.serial > 0 && k.change == changes && !now.Before(k.from) && (k.until.IsZero() || now.Before(k.until))
}

// still is what holds now. The server has been swept.
func (s *Server) still(now time.Time) *still {
	if !s.kept.holds(s.changes, now) {
		s.kept = still{change: s.changes, from: now, until: s.store.nextChange(s.pending, now), serial: s.kept.serial + 1}
	}
	return &s.kept
}

// list is what is kept of all machines: nobody changes it.
func (k *still) list(st *store, now time.Time) []MachineState {
	if k.machines == nil {
		k.machines = st.lookAtMachines(now)
	}
	return k.machines
}

// nextChange is the earliest time after now at which something changes without a request; zero when nothing is under way.
func (st *store) nextChange(pending agenda, now time.Time) (next time.Time) {
	consider := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for i := range st.everyInstance() {
		for _, t := range i.changes() {
			consider(t)
		}
	}
	for _, d := range st.disks {
		consider(d.clearsAt)
	}
	for _, o := range st.operations.byID {
		consider(o.end())
	}
	if len(pending) > 0 {
		consider(pending[0].at)
	}
	for _, d := range st.deployments {
		consider(d.end(now))
	}
	return next
}

// handle is the resource provider's answer. What reads of scale sets and machines say is kept for the next that ask the same, unless a fault
// has a part in it.
func (q *request) handle() answer {
	switch q.route.kind {
	case "LIST " + setsType, "LIST " + vmsType, "LIST " + machinesType, "GET " + setsType:
	default:
		return q.route.handle(q)
	}
	if q.cause != nil {
		return q.route.handle(q)
	}
	kept, asked := q.server.still(q.now), q.http.Method+" "+q.base+q.http.URL.RequestURI()
	if body, known := kept.bodies[asked]; known {
		return answer{status: http.StatusOK, body: body}
	}
	a := q.route.handle(q)
	if a.status == http.StatusOK && a.header == nil {
		if kept.bodies == nil {
			kept.bodies = map[string]*encoded{}
		}
		body := &encoded{json: a.encode(), more: a.goesOn()}
		if strings.HasSuffix(q.route.kind, " "+setsType) {
			body.capacities = capacitiesIn(body.json)
		}
		kept.bodies[asked], a.body = body, body
	}
	return a
}

// encoded is a body that is kept, with what the log says of it.
type encoded struct {
	json       []byte
	more       bool           // other pages follow
	capacities map[string]int // as [capacitiesIn] finds them; nobody writes to it
}

func (e *encoded) goesOn() bool { return e.more }

// MarshalJSON is the body.
func (e *encoded) MarshalJSON() ([]byte, error) { return e.json, nil }
