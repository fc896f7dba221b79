package azure

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"pgregory.net/rapid"
)

// items is a page of a list.
type items struct {
	Value    []string `json:"value,omitempty"`
	NextLink *string  `json:"nextLink,omitempty"`
}

// TestAKnownPageIsTakenAsItWas holds lists of pages that change or stay against what was sent, and counts what is translated anew.
func TestAKnownPageIsTakenAsItWas(t *testing.T) {
	known, anew := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var sent []items
		w := &wire{answer: func(r *http.Request) *http.Response {
			var at int
			_, _ = fmt.Sscan(r.URL.Query().Get("page"), &at)
			body, _ := json.Marshal(sent[at])
			return reply(200, string(body))
		}}
		pipe := runtime.NewPipeline("t", "v1", runtime.PipelineOptions{}, &policy.ClientOptions{Transport: w, PerCallPolicies: []policy.Policy{hears{}}})
		pager := func() *runtime.Pager[items] {
			return runtime.NewPager(runtime.PagingHandler[items]{
				More: func(p items) bool { return val(p.NextLink) != "" },
				Fetcher: func(ctx context.Context, p *items) (next items, err error) {
					address := "https://host.example/?page=0"
					if p != nil {
						address = *p.NextLink
					}
					req, err := runtime.NewRequest(ctx, http.MethodGet, address)
					if err != nil {
						return next, err
					}
					resp, err := pipe.Do(req)
					if err != nil {
						return next, err
					}
					err = runtime.UnmarshalAsJSON(resp, &next)
					return next, err
				},
			})
		}
		var a answers[string]
		var before []items
		for range rapid.IntRange(1, 9).Draw(t, "lists") {
			sent = make([]items, rapid.IntRange(2, 4).Draw(t, "pages"))
			var want []string
			for i := range sent {
				sent[i].Value = rapid.SampledFrom([][]string{nil, {"a"}, {"a"}, {"a", "b"}}).Draw(t, "page")
				if i+1 < len(sent) {
					sent[i].NextLink = new(fmt.Sprint("https://host.example/?page=", i+1))
				}
				want = append(want, sent[i].Value...)
			}
			translated := 0
			got, err := listPages(context.Background(), &a, "what", pager(), func(p items) ([]string, *string, error) {
				translated++
				return p.Value, p.NextLink, nil
			})
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("got %q, want %q: %v", got, want, err)
			}
			changed := 0
			for i := range sent {
				if i >= len(before) || !slices.Equal(before[i].Value, sent[i].Value) || val(before[i].NextLink) != val(sent[i].NextLink) {
					changed++
				}
			}
			if translated != changed {
				t.Fatalf("%d pages were translated, %d had changed", translated, changed)
			}
			known, anew, before = known+len(sent)-changed, anew+changed, sent
		}
	})
	if known < 20 || anew < 20 {
		t.Errorf("%d pages were known and %d changed: too few", known, anew)
	}
}
