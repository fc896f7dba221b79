package azure

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
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
	Action   string            `json:"action,omitempty"`   // such as "resize agents to 5"
	Capacity int               `json:"capacity,omitempty"` // that a growth asked of Azure; 0 for what names machines
	Machines int               `json:"machines,omitempty"` // that it is to make, delete, switch off or start
	Named    []cluster.Machine `json:"named,omitempty"`    // machines that it deletes, switches off or starts
	Accepted time.Time         `json:"accepted,omitzero"`  // UTC
	Token    string            `json:"token,omitempty"`    // resumes the watch after a restart: the SDK's resume token; "" when it cannot be resumed
	Asked    fleet.Instant     `json:"asked,omitempty"`    // by which the ledger knows the write
}

// operation is an Operation while it is watched. It is polled by one question at a time. state.mu guards it.
type operation struct {
	Operation
	done   bool // Azure says that it succeeded
	failed bool // Azure says that it failed
	poller poller
	// result is the outcome of a finished operation that does not say it itself.
	result   func(context.Context) error
	next     time.Time // not polled before
	polled   bool      // at least once
	asking   *question // the poll that has no answer yet; nil when there is none
	timedOut bool      // the last poll had no answer in time
}

// watch follows the operations in flight, those of earlier processes included.
type watch struct {
	*state
	*questions

	// state.mu guards what follows.

	earlier   []Operation                        // of an earlier process, or of another one that leads as well, not followed yet
	inherited map[cluster.GroupID]cloud.Takeover // growths of another process that are not told of yet
}

// removes says whether the operation takes machines away.
func (o *operation) removes() bool { return o.Verb == verbDelete || o.Verb == verbPark }

// begun begins to follow an accepted write. state.mu is held.
func (s *state) begun(o *operation, a *accepted) {
	o.Verb, o.Token, o.poller, o.result = a.verb, a.token, a.poller, a.result
	wait := pollEvery
	if a.response != nil {
		wait = max(wait, retryAfter(a.response, s.now(), 0))
	}
	o.Accepted = s.now().UTC()
	o.next = o.Accepted.Add(wait)
	s.operations = append(s.operations, o)
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

// NextPoll is when Groups should be called again because an operation is in flight, or something that came of one, or since a group has ceased to be
// steady; zero when there is no such reason.
func (p *Provider) NextPoll() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hasty {
		return p.now()
	}
	var next time.Time
	for _, o := range p.operations {
		if o.asking == nil && (next.IsZero() || o.next.Before(next)) {
			next = o.next
		}
	}
	if c, ok := p.source.(tasks); ok && p.housekeeping.doing == nil {
		if at := c.next(); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// busy says whether an operation on the group is in flight. state.mu is held.
func (s *state) busy(id cluster.GroupID) bool {
	for _, o := range s.operations {
		if o.Group == id {
			return true
		}
	}
	return false
}

// reported says whether an operation on the group is in flight of which Azure tells how it goes. state.mu is held.
func (s *state) reported(id cluster.GroupID) bool {
	return slices.ContainsFunc(s.operations, func(o *operation) bool { return o.Group == id && !o.timedOut && (o.asking == nil || !o.asking.late) })
}

// pollOperations asks for the progress of every operation whose time has come, and records what ended. A poll that has no answer in time holds up
// nobody (S-30).
func (w *watch) pollOperations(ctx context.Context) {
	w.mu.Lock()
	var due []*operation
	var questions []*question
	for _, o := range w.operations {
		if o.asking != nil || w.now().Before(o.next) {
			continue
		}
		wait := leastWait
		if o.timedOut {
			wait = 0
		}
		o.asking = newQuestion(wait)
		due, questions = append(due, o), append(questions, o.asking)
	}
	w.mu.Unlock()
	w.askAll(ctx, questions, func(i int) { w.ask(w.life, questions[i], w.polls(due[i])) })
}

// polls is the question how an operation goes.
func (w *watch) polls(o *operation) func(context.Context) func() {
	return func(ctx context.Context) func() {
		resp, err := o.poller.Poll(ctx) //nolint:bodyclose // the SDK has read and closed it
		var fault *cloud.Error
		var outcome error
		over := false
		if err != nil {
			fault = w.wrap(o.Group, "follow "+o.Action, err)
		} else if over = o.poller.Done(); over && !succeeded(resp) {
			outcome = o.result(ctx)
		}
		return func() {
			o.asking, o.timedOut = nil, fault != nil && fault.Code == noAnswer
			switch {
			case fault != nil:
				over = w.pollFailed(o, fault)
			case over:
				w.finish(o, outcome)
			default:
				w.progress(o, resp)
				over = w.overdue(o)
			}
			if over {
				w.unwatch(o)
			}
		}
	}
}

// unwatch ends the watch of an operation, of which nothing more is to be heard. state.mu is held.
func (w *watch) unwatch(o *operation) {
	w.operations = slices.DeleteFunc(slices.Clone(w.operations), func(other *operation) bool { return other == o })
	g := w.groups[key(string(o.Group))]
	if g == nil {
		return
	}
	if g.reads.due == nothing {
		g.reads.due = all
	}
	w.outdate(g, g.reads.due)
	if len(o.Named) > 0 {
		w.showAgain(g)
	}
}

// outdate has a group read again, and drops the answer to a read that is under way: it may tell what was so before. state.mu is held.
func (s *state) outdate(g *group, what due) {
	g.reads.due, g.reads.stamp = max(g.reads.due, what), s.stamp()
}

// pollFailed plans the next poll. An operation that Azure does not know any more, or does not show to this identity, is over: it is not
// asked for again (S-32), and the group's reads tell how it went. state.mu is held.
func (w *watch) pollFailed(o *operation, e *cloud.Error) (over bool) {
	over = e.Kind == cloud.NotFound || e.Kind == cloud.Unauthorized
	if over {
		w.options.Log.Warn("operation is not followed", "group", o.Group, "action", o.Action, "err", e)
	} else {
		w.options.Log.Debug("poll operation", "group", o.Group, "action", o.Action, "err", e)
	}
	o.next = w.now().Add(max(2*pollEvery, e.RetryAfter))
	return over || w.overdue(o)
}

// overdue says whether the operation has been watched for longer than any takes.
func (w *watch) overdue(o *operation) bool { return w.now().Sub(o.Accepted) > watchFor }

// progress plans the next poll. The first one also has the group read again, so that the machines that come are seen; those that go
// have been read when their deletion was accepted, and are read again only if Azure did not show it then. state.mu is held.
func (w *watch) progress(o *operation, resp *http.Response) {
	o.next = w.now().Add(max(pollEvery, retryAfter(resp, w.now(), 0)))
	if g := w.groups[key(string(o.Group))]; g != nil && !o.polled {
		switch {
		case !o.removes():
			w.outdate(g, machines)
		case w.unseen(g):
			w.outdate(g, all)
		}
	}
	o.polled = true
}

// finish records how an operation ended. Either way the group's machines are read again, and its model unless the operation has
// confirmed what the write asked for: the SDK's result would cost one more read of it. state.mu is held.
func (w *watch) finish(o *operation, err error) {
	g := w.groups[key(string(o.Group))]
	if g == nil {
		return
	}
	g.reads.due = all
	if err == nil {
		o.done = true
		w.tellAnswer(o.Group, o.Asked, fleet.Done)
		if !o.removes() {
			g.failure = nil
			if o.Verb == verbStart || g.settle(o.Capacity) {
				g.reads.due = machines
			}
		}
		return
	}
	var refused *azcore.ResponseError
	if !errors.As(err, &refused) || refused.RawResponse == nil || !tellsFailure(refused) {
		return // the operation is over, the last question about it was not answered: the read that follows tells
	}
	o.failed = true
	w.tellAnswer(o.Group, o.Asked, fleet.Refused)
	status := 0
	if refused.StatusCode >= 400 {
		status = refused.StatusCode
	}
	raw, _ := runtime.Payload(refused.RawResponse)
	reported := parseAnswer(raw)
	at := w.now().UTC()
	worst := reported.specific(status)
	if worst.Code == "" {
		worst.Code = refused.ErrorCode
	}
	about := g.subject()
	g.failure = worst.failure(at, status, "OperationFailed", about, o.Machines)
	g.failure.Message = o.Action + ": " + g.failure.Message
	g.refuseStart(o, reported, at)
	g.blame.id = map[string]*cluster.Failure{}
	for _, l := range reported.leaves() {
		if l.Target != "" {
			g.blame.id[l.Target] = l.failure(at, status, "OperationFailed", about, o.Machines)
		}
	}
	w.options.Log.Info("operation failed", "group", o.Group, "action", o.Action, "code", g.failure.Code, "err", g.failure.Message)
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
