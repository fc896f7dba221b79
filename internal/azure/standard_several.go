package azure

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
)

// several are writes to single machines that are followed as one. They go on side by side at Azure, so that asking for one after the other
// costs no time and few requests.
type several struct {
	of     []*accepted
	done   int
	failed *http.Response // that told of the first failure; nil: none so far
}

// Poll asks for the first that has not ended, and on while they have. When Azure knows none of those that it asked for any more, the answer is that.
func (s *several) Poll(ctx context.Context) (*http.Response, error) {
	var last *http.Response
	var forgotten error
	for ; !s.Done(); s.done++ {
		p := s.of[s.done].poller
		resp, err := p.Poll(ctx)
		switch {
		case missing(err):
			forgotten = err
		case err != nil:
			return nil, err
		case !p.Done():
			return resp, nil
		default:
			last = resp
			if !succeeded(resp) && s.failed == nil {
				s.failed = resp
			}
		}
	}
	switch {
	case s.failed != nil:
		return s.failed, nil
	case last == nil:
		return nil, forgotten
	}
	return last, nil
}

func (s *several) Done() bool { return s.done == len(s.of) }

// outcome is the first failure.
func (s *several) outcome(ctx context.Context) error {
	for _, a := range s.of {
		if !a.poller.Done() {
			continue
		}
		if err := a.result(ctx); err != nil {
			return err
		}
	}
	return nil
}

// follow makes one write of several. When a removal has ended the sweeper's time has come.
func (s *standard) follow(v verb, begun []*accepted) *accepted {
	all := &several{of: begun}
	over := func() {
		if v == verbDelete {
			s.sweepAt(s.now())
		}
	}
	a := accept(v, &lasting{poller: all, result: all.outcome, ended: func(bool) { over() }, lost: over}, nil)
	var tokens []string
	for _, b := range begun {
		if b.token != "" {
			tokens = append(tokens, b.token)
		}
	}
	if len(tokens) > 0 {
		raw, _ := json.Marshal(tokens) // strings always encode
		a.token = string(raw)
	}
	return a
}

// refollow goes on following several writes of an earlier process. It sends nothing.
func (s *standard) refollow(ctx context.Context, v verb, token string) (*accepted, error) {
	var tokens []string
	if err := json.Unmarshal([]byte(token), &tokens); err != nil {
		return nil, err
	}
	var begun []*accepted
	for _, t := range tokens {
		a, err := s.again(ctx, v, t)
		if err != nil {
			return nil, err
		}
		begun = append(begun, a)
	}
	return s.follow(v, begun), nil
}

func (s *standard) again(ctx context.Context, v verb, token string) (*accepted, error) {
	switch v {
	case verbDelete:
		p, err := s.vms.BeginDelete(ctx, "-", "-", &armcompute.VirtualMachinesClientBeginDeleteOptions{ResumeToken: token})
		if err != nil {
			return nil, err
		}
		return accept(v, p, nil), nil
	case verbPark:
		p, err := s.vms.BeginDeallocate(ctx, "-", "-", &armcompute.VirtualMachinesClientBeginDeallocateOptions{ResumeToken: token})
		if err != nil {
			return nil, err
		}
		return accept(v, p, nil), nil
	}
	p, err := s.vms.BeginStart(ctx, "-", "-", &armcompute.VirtualMachinesClientBeginStartOptions{ResumeToken: token})
	if err != nil {
		return nil, err
	}
	return accept(v, p, nil), nil
}
