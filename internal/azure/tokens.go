package azure

import (
	"context"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"sluice.dev/sluice/cloud"
)

// tokens is one store of tokens for several pipelines, each of which has a store of its own and asks only when that has none, when its token is to be
// renewed, or when Azure refused what it had. One request for a token is under way at a time, and all who want one wait for that.
type tokens struct {
	from   azcore.TokenCredential
	source string // who gives them, in a sentence
	runner Runner
	now    func() time.Time // what requests take; how long a token is good is the wall clock's business, by which the pipelines go as well

	mu     sync.Mutex // never held during a request
	last   azcore.AccessToken
	asking *signIn   // under way; nil when none is
	failed error     // of the last request, when it took long; nil when it did not, or gave a token
	ended  time.Time // when that was
}

// signIn is one request for a token. Both results are there when done is closed.
type signIn struct {
	begun time.Time
	done  chan struct{}
	token azcore.AccessToken
	err   error
}

const (
	// renewWait is how long a token that is good still keeps a request that could renew it: the renewal goes on beside.
	renewWait = time.Second
	// signInPause is how long nobody asks again after a request for a token took long and gave none: whoever has waited for it hears that at once.
	signInPause = 5 * time.Second
	// signInWithin bounds one request for a token: less than the requests that need it have.
	signInWithin = 20 * time.Second
	// goodFor is the least that a token must be good for to be used while it is being renewed.
	goodFor = time.Minute
)

// pipelineTokens is what one pipeline asks.
type pipelineTokens struct {
	*tokens
	given string // the last token it got; guarded by tokens.mu
}

// GetToken gives what another pipeline has got meanwhile, and else asks. Claims are a question of their own. It ends with the context.
func (p *pipelineTokens) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	if o.Claims != "" {
		t, err := p.from.GetToken(ctx, o)
		return p.take(t, err)
	}
	p.mu.Lock()
	renewal := p.last.RefreshOn
	if renewal.IsZero() {
		renewal = p.last.ExpiresOn.Add(-5 * time.Minute)
	}
	wall, last := time.Now(), p.last
	young := wall.Before(renewal)
	if last.Token != "" && last.Token != p.given && young {
		p.given = last.Token
		p.mu.Unlock()
		return last, nil
	}
	serves := last.Token != "" && !young && wall.Add(goodFor).Before(last.ExpiresOn) // a young one was refused
	now, s, failed := p.now(), p.asking, p.failed
	if failed != nil && now.Sub(p.ended) >= signInPause {
		failed = nil
	}
	begins := s == nil && failed == nil
	if begins {
		s = &signIn{begun: now, done: make(chan struct{})}
		p.asking = s
	}
	p.mu.Unlock()
	switch {
	case s == nil && serves:
		return p.take(last, nil)
	case s == nil:
		return azcore.AccessToken{}, failed
	case begins:
		p.runner.Go(context.WithoutCancel(ctx), func(ctx context.Context) { p.signIn(ctx, s, o) }) // it may serve others when this one gives up
	}
	wait := askWithin // more than the request has
	if serves {
		wait = renewWait
	}
	p.runner.Await(ctx, s.done, wait)
	select {
	case <-s.done:
	default:
		if serves {
			return p.take(last, nil)
		}
		return azcore.AccessToken{}, &cloud.Error{Kind: cloud.Transient, Code: noAnswer, Message: p.source + " gave no answer in time"}
	}
	if s.err != nil && serves {
		return p.take(last, nil)
	}
	return p.take(s.token, s.err)
}

// take notes that the pipeline has got a token.
func (p *pipelineTokens) take(t azcore.AccessToken, err error) (azcore.AccessToken, error) {
	if err != nil {
		return azcore.AccessToken{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.given = t.Token
	return t, nil
}

// signIn asks for a token.
func (t *tokens) signIn(ctx context.Context, s *signIn, o policy.TokenRequestOptions) {
	ctx, cancel := context.WithTimeout(ctx, signInWithin)
	defer cancel()
	s.token, s.err = t.from.GetToken(ctx, o)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asking, t.failed, t.ended = nil, nil, t.now()
	switch {
	case s.err == nil:
		t.last = s.token
	case t.ended.Sub(s.begun) >= leastWait:
		t.failed = s.err
	}
	close(s.done)
}

// timedOut says that no request can be made, since whoever gives tokens does not answer: nobody waits for what is asked then.
func (t *tokens) timedOut() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last.Token != "" && time.Now().Before(t.last.ExpiresOn) {
		return false
	}
	return t.failed != nil || t.asking != nil && t.now().Sub(t.asking.begun) >= leastWait
}
