package azure

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"net/http"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// Most lists say byte for byte what they said the last time, and decoding them is most of what a quiet cluster costs. A page that is known is
// therefore not decoded again: what was made of it then is what would be made of it now. Each is asked for all the same.

// answers are what was made of the last answer to each question. It is safe for concurrent use.
type answers[T any] struct {
	mu sync.Mutex
	of map[string][]answered[T]
}

// answered is one page of an answer and what was made of it, which nobody changes.
type answered[T any] struct {
	sum  [sha256.Size]byte
	next string // where the next page is, "" after the last one
	made []T
}

// last is what is known of a question, nil for nothing.
func (a *answers[T]) last(question string) []answered[T] {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.of[question]
}

// keep remembers what was made of an answer.
func (a *answers[T]) keep(question string, pages []answered[T]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[string][]answered[T]{}
	}
	a.of[question] = pages
}

// listPages asks page by page. take translates a page and says where the next one is; for one that stands where it stood in the last answer to the
// question, what was made of it then is taken.
func listPages[T, P any](ctx context.Context, a *answers[T], question string, pager *runtime.Pager[P], take func(P) (made []T, next *string, err error)) ([]T, error) {
	var all []T
	var pages []answered[T]
	known, links := a.last(question), links{}
	for pager.More() {
		heard := &hearing{}
		if len(pages) < len(known) {
			heard.known, heard.next = &known[len(pages)].sum, known[len(pages)].next
		}
		page, err := pager.NextPage(context.WithValue(ctx, hearingKey{}, heard))
		if err != nil {
			return nil, err
		}
		if heard.unchanged {
			pages = append(pages, known[len(pages)])
		} else {
			made, next, err := take(page)
			if err != nil {
				return nil, err
			}
			pages = append(pages, answered[T]{heard.sum, val(next), made})
		}
		if err := links.follow(pages[len(pages)-1].next); err != nil {
			return nil, err
		}
		all = append(all, pages[len(pages)-1].made...)
	}
	a.keep(question, pages)
	return all, nil
}

// hearing is what the request for a page carries with it.
type hearing struct {
	known     *[sha256.Size]byte // the sum of the page that would say nothing new; nil for none
	next      string             // where the page after that is
	unchanged bool
	sum       [sha256.Size]byte // of the last good answer
}

type hearingKey struct{}

// hears compares pages with what is known; in the place of one that says nothing new stands an empty one. It stands before every other policy, so
// that to those an answer is an answer.
type hears struct{}

func (hears) Do(req *policy.Request) (*http.Response, error) {
	resp, err := req.Next()
	h, asked := req.Raw().Context().Value(hearingKey{}).(*hearing)
	if err != nil || !asked || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	body, err := runtime.Payload(resp)
	if err != nil {
		return resp, nil //nolint:nilerr // who decodes it meets the same error and tells
	}
	h.sum = sha256.Sum256(body)
	if h.unchanged = h.known != nil && h.sum == *h.known; !h.unchanged {
		return resp, nil
	}
	empty, err := json.Marshal(map[string]string{"nextLink": h.next})
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(empty))
	return resp, nil
}

// copies are machines of the caller's own: failures are dated by who reads them.
func copies(all []machine) []*machine {
	own := make([]*machine, len(all))
	for i := range all {
		own[i] = new(all[i])
		if f := all[i].failure; f != nil {
			own[i].failure = new(*f)
		}
	}
	return own
}
