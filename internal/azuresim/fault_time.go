package azuresim

import (
	"context"
	"net/http"
	"strings"
	"sync"
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
		q.log(q.route.handle(q))
		q.repeated = true
		a = q.route.handle(q)
	default:
		a = q.handle()
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

// agenda is what is still to happen, by time.
type agenda []pending

// schedule has something done at a time, when somebody looks at that time or
// later. What is due at the same time is done in the order it was scheduled in.
func (a *agenda) schedule(at time.Time, do func(now time.Time)) {
	all := *a
	n := len(all)
	for n > 0 && all[n-1].at.After(at) {
		n--
	}
	*a = append(all[:n:n], append(agenda{{at, do}}, all[n:]...)...)
}

// postpone accepts a write that is carried out later. What it will come to is
// told by an operation that runs until then, and on as the write's own. Actions on
// what is not there, and writes of what has no operations, are not postponed.
func (q *request) postpone() answer {
	path, method := q.http.URL.Path, q.http.Method
	if method == http.MethodPost {
		path = strings.TrimSuffix(strings.TrimRight(path, "/"), "/"+lastSegment(path))
	}
	there := q.read(path)
	if there.status != http.StatusOK && method != http.MethodPut {
		return q.route.handle(q)
	}
	at := q.now.Add(q.fault.Late)
	o := q.promise(there.body, operation{until: at})
	if o == nil {
		return q.route.handle(q)
	}
	late := *q
	late.fault, late.cause = Fault{}, nil
	q.server.pending.schedule(at, func(now time.Time) {
		late.now = now
		a := late.route.handle(&late)
		late.repeated = true
		late.log(a)
		if late.began != nil {
			o.becomes = late.began
			return
		}
		if d, failed := a.body.(errorBody); failed {
			o.errors = append(o.errors, d.Error)
		}
	})
	switch {
	case method == http.MethodPost || method == http.MethodDelete:
		return q.async(answer{status: http.StatusAccepted}, o)
	case there.status != http.StatusOK:
		return q.async(answer{status: http.StatusCreated, body: q.draft()}, o)
	}
	return q.async(q.read(path), o)
}

// lastSegment of a path, in its case.
func lastSegment(path string) string {
	path = strings.TrimRight(path, "/")
	return path[strings.LastIndexByte(path, '/')+1:]
}

// promise begins an operation on the resource in the path, which reads as it says;
// nil when resources of its type have no operations.
func (q *request) promise(there any, o operation) *operation {
	_, kind, _ := strings.Cut(q.route.kind, " ")
	switch {
	case strings.HasPrefix(kind, machinesType):
		if i, p := q.store.machineAt(q.route, q.now); p == nil {
			return q.store.operations.beginOn(q.server.Seed, i, q.now, o)
		}
	case strings.HasPrefix(kind, setsType):
		if ss, p := q.store.scaleSetAt(q.route); p == nil {
			return q.store.operations.begin(q.server.Seed, ss, q.now, o)
		}
	}
	namespace, _, _ := strings.Cut(q.route.action, "/")
	location := either(text(there, "location"), text(q.draft(), "location"))
	if location == "" || namespace != "Microsoft.Compute" && namespace != "Microsoft.Network" {
		return nil
	}
	return q.store.operations.launch(q.server.Seed, namespace, location, q.now, o)
}

// draft is what a resource that is being created reads as until it is there.
func (q *request) draft() map[string]any {
	var body map[string]any
	if q.decode(&body) != nil || body == nil {
		return nil // the write itself will say so
	}
	body["id"], body["name"] = q.http.URL.Path, lastSegment(q.http.URL.Path)
	body["properties"] = merge(withoutSecrets(asMap(body["properties"])).(map[string]any), map[string]any{"provisioningState": "Creating"})
	return body
}

// wait passes the time that a fault delays an answer by, or keeps the caller
// waiting until it gives up. It reports false when the caller has gone. The
// server is not locked meanwhile. Without a sleep no time passes.
func (f *Fault) wait(ctx context.Context, locked sync.Locker, sleep func(context.Context, time.Duration)) bool {
	locked.Unlock()
	defer locked.Lock()
	if f.Delay > 0 && sleep != nil {
		sleep(ctx, f.Delay)
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
