package azure

import (
	"context"
	"sync"
	"time"

	"sluice.dev/sluice/cloud"
)

// A Runner runs questions to Azure beside those who ask them. A simulation with a clock of its own brings one that goes by that clock.
type Runner interface {
	// Go runs f beside the caller.
	Go(ctx context.Context, f func(context.Context))
	// Await returns when done is closed or the context ends, and after d at the latest.
	Await(ctx context.Context, done <-chan struct{}, d time.Duration)
	// Settle is called at the end of a read, with the questions that it waits for as little as anybody else. A simulation may wait for them, so
	// that its stories are the same each time.
	Settle(running *sync.WaitGroup)
}

// goroutines is the Runner that goes by the machine's clock.
type goroutines struct{}

func (goroutines) Go(ctx context.Context, f func(context.Context)) { go f(ctx) }

func (goroutines) Settle(*sync.WaitGroup) {}

func (goroutines) Await(ctx context.Context, done <-chan struct{}, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, max(0, d))
	defer cancel()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// Nobody waits long for an answer (S-30): a cycle waits for those about a group as long as they may be expected to take, and decides without it
// then. Three times as long as the group's last read took, within these bounds; of a group that did not answer in time the last time, not
// at all.
const (
	firstWait = 5 * time.Second  // for what was never read before
	leastWait = 2 * time.Second  // which is also how long the progress of an operation is waited for
	mostWait  = 15 * time.Second // a list of a thousand machines comes in several pages
)

// askWithin ends a question that nobody waits for any more: each of its requests has [tryTimeout], and a list has pages.
const askWithin = 2 * time.Minute

// unansweredYet is the code of a question whose answer is still on its way.
const unansweredYet = "NoAnswerYet"

// questions are asked beside those who want to know.
type questions struct {
	*state
	life     context.Context // of what is asked while nobody waits for it
	triggers chan struct{}
}

// question is what is being asked of Azure, in one request or several. Its answer is taken in when it comes, whether or not
// anybody still waits for it; whoever asks sees to it that nothing is asked twice at a time. state.mu guards it.
type question struct {
	doing    string        // to what it is about, in words: "read"
	patience time.Duration // how long it is waited for
	asked    time.Time     // zero before it is
	done     chan struct{} // closed when the answer has been taken in
	over     bool          // it has been
	late     bool          // nobody waits for it any more
}

func newQuestion(patience time.Duration) *question {
	return &question{doing: "read", patience: patience, done: make(chan struct{})}
}

// ask runs the question beside the caller: f asks, and what it returns takes the answer in, with state.mu held. The context is the provider's
// own: a question outlives the call that asks it.
func (a *questions) ask(ctx context.Context, q *question, f func(context.Context) (take func())) {
	a.mu.Lock()
	q.asked = a.now()
	a.mu.Unlock()
	a.options.Runner.Go(ctx, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, askWithin)
		defer cancel()
		take := f(ctx)
		a.mu.Lock()
		defer a.mu.Unlock()
		take()
		q.over = true
		close(q.done)
		if q.late {
			select {
			case a.triggers <- struct{}{}:
			default: // it says so already
			}
		}
	})
}

// await waits for an answer and says whether it has come. It is late from then on if it has not.
func (a *questions) await(ctx context.Context, q *question) bool {
	wait := q.asked.Add(q.patience).Sub(a.now()) // asked was written before it was asked
	switch {
	case a.options.Whole:
		wait = askWithin
	case a.tokens.timedOut():
		wait = 0
	}
	a.options.Runner.Await(ctx, q.done, wait)
	a.mu.Lock()
	defer a.mu.Unlock()
	q.late = !q.over
	return q.over
}

// others waits for the answers to other callers' reads of the group, and says whether there is none on its way. It makes nothing late. state.mu
// is held but for the time in between.
func (a *questions) others(ctx context.Context, g *group) bool {
	for g.asking != nil {
		q := g.asking
		if q.late {
			return false
		}
		a.mu.Unlock()
		a.options.Runner.Await(ctx, q.done, q.patience)
		a.mu.Lock()
		if !q.over {
			return false
		}
	}
	return true
}

// askAll asks one question after the other, so many at a time that the next one has to wait for the first of those that are on their way, and waits
// for all.
func (a *questions) askAll(ctx context.Context, questions []*question, ask func(i int)) {
	for i := range questions {
		if i >= parallelReads {
			a.await(ctx, questions[i-parallelReads])
		}
		ask(i)
	}
	for _, q := range questions[max(0, len(questions)-parallelReads):] {
		a.await(ctx, q)
	}
}

// Triggers says that an answer has come which a call of Groups did not wait for: the next one may know more.
func (p *Provider) Triggers() <-chan struct{} { return p.triggers }

// patience is how long an answer about a group is waited for.
func (g *group) patience() time.Duration {
	switch {
	case g.reads.timedOut:
		return 0
	case g.reading == nil:
		return firstWait
	}
	return min(mostWait, max(leastWait, 3*g.reads.took))
}

// unanswered says that a question about the group has no answer yet.
func (a *questions) unanswered(g *group, q *question) *cloud.Error {
	return &cloud.Error{Kind: cloud.Transient, Group: g.id, Code: unansweredYet, Message: q.doing + " " + g.String() + ": " + a.host() + " has not answered yet"}
}

// host is who has not answered.
func (c *client) host() string {
	if c.tokens.timedOut() {
		return c.tokens.source
	}
	return hostOf(c.options.ResourceManagerEndpoint)
}
