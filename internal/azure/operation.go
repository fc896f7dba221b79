package azure

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
)

const (
	// pollEvery keeps the polls of one operation below what Azure allows, 15 a minute.
	pollEvery = 5 * time.Second
	// watchFor is how long an operation is watched; Azure ends each within less.
	watchFor = 2 * time.Hour
)

// Operation is an accepted write that Azure has not finished.
type Operation struct {
	Group    cluster.GroupID   `json:"group"`
	Verb     verb              `json:"verb"`
	Action   string            `json:"action"`             // such as "resize agents to 5"
	Capacity int               `json:"capacity,omitempty"` // that a growth asked of Azure; 0 for what names machines
	Machines int               `json:"machines"`           // that it is to make, delete, switch off or start
	Named    []cluster.Machine `json:"named,omitempty"`    // machines that it deletes, switches off or starts
	Accepted time.Time         `json:"accepted"`           // UTC
	Token    string            `json:"token,omitempty"`    // resumes the watch after a restart: the SDK's resume token; "" when it cannot be resumed
	Ended    time.Time         `json:"ended,omitzero"`     // UTC, of what Azure's answers may not show yet; zero for one in flight
}

// operation is an Operation while it is watched. Only the holder of Provider.refreshing polls it.
type operation struct {
	Operation
	done   bool // Azure says that it succeeded
	failed bool // Azure says that it failed
	poller poller
	// result is the outcome of a finished operation that does not say it itself.
	result func(context.Context) error
	next   time.Time // not polled before
	polled bool      // at least once
}

// removes says whether the operation takes machines away.
func (o *operation) removes() bool { return o.Verb == verbDelete || o.Verb == verbPark }

// watch begins to follow an accepted write. Provider.mu is held.
func (p *Provider) watch(o *operation, a *accepted) {
	o.Verb, o.Token, o.poller, o.result = a.verb, a.token, a.poller, a.result
	wait := pollEvery
	if a.response != nil {
		wait = max(wait, retryAfter(a.response, p.now(), 0))
	}
	o.Accepted = p.now().UTC()
	o.next = o.Accepted.Add(wait)
	p.operations = append(p.operations, o)
}

// Operations lists the writes in flight, in the order of their acceptance.
func (p *Provider) Operations() []Operation {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]Operation, len(p.operations))
	for i, o := range p.operations {
		out[i] = o.Operation
	}
	return out
}

// NextPoll is when Groups should be called again because an operation is in flight, or something that came of one; zero when none is.
func (p *Provider) NextPoll() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	var next time.Time
	for _, o := range p.operations {
		if next.IsZero() || o.next.Before(next) {
			next = o.next
		}
	}
	if c, ok := p.source.(chores); ok {
		if at := c.next(); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// busy says whether an operation on the group is in flight. Provider.mu is held.
func (p *Provider) busy(id cluster.GroupID) bool {
	for _, o := range p.operations {
		if o.Group == id {
			return true
		}
	}
	return false
}

// pollOperations asks for the progress of every operation whose time has come, and records what ended.
func (p *Provider) pollOperations(ctx context.Context) {
	p.mu.Lock()
	watched := append([]*operation(nil), p.operations...)
	p.mu.Unlock()
	over := map[*operation]bool{}
	for _, o := range watched {
		if p.now().Before(o.next) {
			continue
		}
		resp, err := o.poller.Poll(ctx) //nolint:bodyclose // the SDK has read and closed it
		switch {
		case err != nil:
			over[o] = p.pollFailed(o, err)
		case o.poller.Done():
			over[o] = true
			p.finish(ctx, o, resp)
		default:
			p.progress(o, resp)
			over[o] = p.overdue(o)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.operations[:0:0]
	for _, o := range p.operations {
		if !over[o] {
			left = append(left, o)
			continue
		}
		g := p.groups[key(string(o.Group))]
		if g == nil {
			continue
		}
		if g.due == nothing {
			g.due = all
		}
		if o.Capacity > 0 && o.failed {
			g.granted.failed = true
		}
		switch {
		case (o.removes() || o.Verb == verbStart) && !o.failed:
			o.Ended = p.now().UTC()
			p.believe(g, o.Operation)
		case !o.done:
			g.unmark(o.Verb) // the read that follows tells what they are
		}
	}
	p.operations = left
}

// pollFailed plans the next poll. An operation that Azure does not know any more, or does not show to this identity, is over: it is not
// asked for again (S-32), and the group's reads tell how it went.
func (p *Provider) pollFailed(o *operation, err error) (over bool) {
	e := p.wrap(o.Group, "follow "+o.Action, err)
	over = e.Kind == cloud.NotFound || e.Kind == cloud.Unauthorized
	if over {
		p.options.Log.Warn("operation is not followed", "group", o.Group, "action", o.Action, "err", e)
	} else {
		p.options.Log.Debug("poll operation", "group", o.Group, "action", o.Action, "err", e)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	o.next = p.now().Add(max(2*pollEvery, e.RetryAfter))
	return over || p.overdue(o)
}

// overdue says whether the operation has been watched for longer than any takes.
func (p *Provider) overdue(o *operation) bool { return p.now().Sub(o.Accepted) > watchFor }

// progress plans the next poll. The first one also has the group read again, so that the machines that come are seen; those that go
// have been read when their deletion was accepted, and are read again only if Azure did not show it then.
func (p *Provider) progress(o *operation, resp *http.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o.next = p.now().Add(max(pollEvery, retryAfter(resp, p.now(), 0)))
	if g := p.groups[key(string(o.Group))]; g != nil && !o.polled {
		switch {
		case !o.removes():
			g.due = max(g.due, machines)
		case g.unseen():
			g.due = all
		}
	}
	o.polled = true
}

// finish records how an operation ended. Either way the group's machines are read again, and its model unless the operation has
// confirmed what the write asked for: the SDK's result would cost one more read of it.
func (p *Provider) finish(ctx context.Context, o *operation, last *http.Response) {
	var err error
	if !succeeded(last) {
		err = o.result(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.groups[key(string(o.Group))]
	if g == nil {
		return
	}
	g.due = all
	if err == nil {
		o.done = true
		if !o.removes() {
			g.failure = nil
			if o.Verb == verbStart || g.settle(o.Capacity) {
				g.due = machines
			}
		}
		return
	}
	var refused *azcore.ResponseError
	if !errors.As(err, &refused) || refused.RawResponse == nil || !tellsFailure(refused) {
		return // the operation is over, the last question about it was not answered: the read that follows tells
	}
	o.failed = true
	status := 0
	if refused.StatusCode >= 400 {
		status = refused.StatusCode
	}
	raw, _ := runtime.Payload(refused.RawResponse)
	told := parseAnswer(raw)
	at := p.now().UTC()
	worst := told.specific(status)
	if worst.Code == "" {
		worst.Code = refused.ErrorCode
	}
	about := g.subject()
	g.failure = worst.failure(at, status, "OperationFailed", about, o.Machines)
	g.failure.Message = o.Action + ": " + g.failure.Message
	g.refuseStart(o, told, at)
	g.blameID = map[string]*cluster.Failure{}
	for _, l := range told.leaves() {
		if l.Target != "" {
			g.blameID[l.Target] = l.failure(at, status, "OperationFailed", about, o.Machines)
		}
	}
	p.options.Log.Info("operation failed", "group", o.Group, "action", o.Action, "code", g.failure.Code, "err", g.failure.Message)
}

// succeeded says whether the answer to a poll is an operation's word that it succeeded.
func succeeded(resp *http.Response) bool {
	raw, err := runtime.Payload(resp)
	var body struct {
		Status string `json:"status"`
	}
	return err == nil && json.Unmarshal(raw, &body) == nil && body.Status == "Succeeded"
}

// tellsFailure tells an operation's own failure from a refusal of the read that follows a success.
func tellsFailure(err *azcore.ResponseError) bool {
	return err.StatusCode < 400 || err.StatusCode == http.StatusConflict
}
