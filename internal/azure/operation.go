package azure

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

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
	Group    cluster.GroupID
	Action   string    // such as "resize agents to 5"
	Accepted time.Time // UTC
	Token    string    // resumes the watch after a restart: the SDK's resume token
}

// operation is an Operation while it is watched. Only the holder of Provider.refreshing polls it.
type operation struct {
	Operation
	deletes bool
	poller  interface {
		Poll(context.Context) (*http.Response, error)
		Done() bool
	}
	// result ends a finished operation: the scale set's model as it is now, nil when the operation does not tell, or the failure.
	result func(context.Context) (*armcompute.VirtualMachineScaleSet, error)
	next   time.Time // not polled before
	polled bool      // at least once
}

// watch begins to follow an accepted write. Provider.mu is held.
func (p *Provider) watch(o *operation, accepted *http.Response) {
	wait := pollEvery
	if accepted != nil {
		wait = max(wait, retryAfter(accepted, p.now(), 0))
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

// NextPoll is when Groups should be called again because an operation is in flight; zero when none is.
func (p *Provider) NextPoll() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	var next time.Time
	for _, o := range p.operations {
		if next.IsZero() || o.next.Before(next) {
			next = o.next
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
		resp, err := o.poller.Poll(ctx)
		switch {
		case err != nil:
			over[o] = p.pollFailed(o, err)
		case o.poller.Done():
			over[o] = true
			p.finish(ctx, o)
		default:
			p.progress(o, resp)
			over[o] = p.now().Sub(o.Accepted) > watchFor
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.operations[:0:0]
	for _, o := range p.operations {
		if !over[o] {
			left = append(left, o)
		} else if g := p.groups[key(string(o.Group))]; g != nil && g.due == nothing {
			g.due = all
		}
	}
	p.operations = left
}

// pollFailed plans the next poll; an operation that Azure does not know any more is over, and never asked for again (S-32).
func (p *Provider) pollFailed(o *operation, err error) (over bool) {
	e := p.wrap(o.Group, o.Action, err)
	p.options.Log.Debug("poll operation", "group", o.Group, "action", o.Action, "err", e)
	p.mu.Lock()
	defer p.mu.Unlock()
	o.next = p.now().Add(max(2*pollEvery, e.RetryAfter))
	return e.Kind == cloud.NotFound
}

// progress plans the next poll. The first one also has the group read again, so that the machines that come or go are seen.
func (p *Provider) progress(o *operation, resp *http.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o.next = p.now().Add(max(pollEvery, retryAfter(resp, p.now(), 0)))
	if g := p.groups[key(string(o.Group))]; g != nil && !o.polled {
		if o.deletes {
			g.due = all
		} else {
			g.due = max(g.due, machines)
		}
	}
	o.polled = true
}

// finish records how an operation ended. Either way the group is read again.
func (p *Provider) finish(ctx context.Context, o *operation) {
	set, err := o.result(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.groups[key(string(o.Group))]
	if g == nil {
		return
	}
	g.due = all
	if err == nil {
		if !o.deletes {
			g.failure = nil
		}
		if set != nil && g.confirm(set) {
			g.due = machines
		}
		return
	}
	var refused *azcore.ResponseError
	if !errors.As(err, &refused) || refused.RawResponse == nil || !o.failed(refused) {
		return // the operation is over, the last question about it was not answered: the read that follows tells
	}
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
	g.failure = worst.failure(at, status)
	g.failure.Message = o.Action + ": " + g.failure.Message
	g.blameID = map[string]*cluster.Failure{}
	for _, l := range told.leaves() {
		if l.Target != "" {
			g.blameID[l.Target] = l.failure(at, status)
		}
	}
	p.options.Log.Info("operation failed", "group", o.Group, "action", o.Action, "code", g.failure.Code, "err", g.failure.Message)
}

// failed tells the operation's own failure from a refusal of the read that follows a success.
func (o *operation) failed(err *azcore.ResponseError) bool {
	return err.StatusCode < 400 || err.StatusCode == http.StatusConflict
}
