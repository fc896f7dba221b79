package azuresim

import (
	"context"
	"net/http"
	"strings"
	"time"
)

// perform has the resource provider carry out a request that the front door let
// in, in the way the request's fault will have it.
func (q *request) perform() answer {
	f := q.fault
	if f.stale() {
		defer q.rewind()()
	}
	var a answer
	switch {
	case f.Late > 0:
		a = q.postpone()
	case f.Duplicate:
		q.server.log(q, q.route.handle(q))
		a = q.route.handle(q)
	default:
		a = q.route.handle(q)
	}
	if f.Applied {
		return q.falseError()
	}
	return a
}

// skewed answers with Azure's clock put wrong.
func (q *request) skewed(handle func() answer) answer {
	q.now = q.now.Add(q.fault.Skew)
	defer func() { q.now = q.now.Add(-q.fault.Skew) }()
	return handle()
}

// checkToken is authenticate by a clock that may be wrong.
func (q *request) checkToken() (p *problem) {
	q.skewed(func() answer {
		p = q.authenticate()
		return answer{}
	})
	return p
}

// pending is something that will happen at a time of its own.
type pending struct {
	at time.Time
	do func(now time.Time)
}

// schedule has something done at a time, when somebody looks at that time or
// later. What is due at the same time is done in the order it was scheduled in.
func (s *Server) schedule(at time.Time, do func(now time.Time)) {
	n := len(s.pending)
	for n > 0 && s.pending[n-1].at.After(at) {
		n--
	}
	s.pending = append(s.pending[:n:n], append([]pending{{at, do}}, s.pending[n:]...)...)
}

// catchUp does what is due, deployments' next resources included.
func (s *Server) catchUp(now time.Time) {
	defer s.deploy(now)
	for len(s.pending) > 0 && !s.pending[0].at.After(now) {
		next := s.pending[0]
		s.deploy(next.at)
		s.pending = s.pending[1:]
		s.remember(next.at)
		next.do(next.at)
	}
}

// postpone accepts a write that is carried out later. What it will come to is
// told by an operation that runs until then, and on as the write's own. Writes of
// what is not there, and of what has no operations, are not postponed.
func (q *request) postpone() answer {
	at := q.now.Add(q.fault.Late)
	o, body := q.promise(operation{until: at})
	if o == nil {
		return q.route.handle(q)
	}
	late := *q
	late.fault, late.cause = Fault{}, nil
	q.server.schedule(at, func(now time.Time) {
		late.now = now
		a := late.route.handle(&late)
		late.server.log(&late, a)
		if late.began != nil {
			o.becomes = late.began
			return
		}
		if d, failed := a.body.(errorBody); failed {
			o.errors = append(o.errors, d.Error)
		}
	})
	a := answer{status: http.StatusAccepted}
	if q.http.Method == http.MethodPut || q.http.Method == http.MethodPatch {
		a = answer{status: http.StatusOK, body: body}
	}
	return q.async(a, o)
}

// promise begins an operation on the scale set or the virtual machine in the path,
// and reads it; nil when there is neither.
func (q *request) promise(o operation) (begun *operation, body any) {
	if q.route.set != "" {
		ss, p := q.find()
		if p != nil {
			return nil, nil
		}
		return q.server.begin(ss, q.now, o), ss.wire(q.now, Fault{})
	}
	i := q.server.virtualMachine(q.named().path(machineKind), q.now)
	if i == nil || !strings.Contains(strings.ToLower(q.route.kind), "virtualmachines") {
		return nil, nil
	}
	read := *q
	return q.server.beginOn(i, q.now, o), getMachine(&read).body
}

// wait passes the time that a fault delays an answer by, or keeps the caller
// waiting until it gives up. It reports false when the caller has gone. The
// server is not locked meanwhile.
func (s *Server) wait(ctx context.Context, f Fault) bool {
	s.mu.Unlock()
	defer s.mu.Lock()
	if f.Delay > 0 {
		switch {
		case s.Sleep != nil:
			s.Sleep(ctx, f.Delay)
		case s.Now == nil:
			sleep(ctx, f.Delay)
		}
	}
	if f.Hang {
		<-ctx.Done()
	}
	return ctx.Err() == nil
}

// sleep waits for d, or until the context ends.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
