package azure_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"sluice.dev/sluice/internal/azure"
)

// endless is a JSON document that never comes to its end.
type endless struct{ begun bool }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	if !e.begun {
		e.begun = true
		return copy(p, `{"value":[`), nil
	}
	return len(p), nil
}

func (e *endless) Close() error { return nil }

// TestAnAnswerWithoutEndIsCutAndSaid has a list of machines never end, or claim a length that no answer has: the group waits, and the sentence says who
// answers so.
func TestAnAnswerWithoutEndIsCutAndSaid(t *testing.T) {
	for what, bend := range map[string]func(*http.Response){
		"a body without end":     func(r *http.Response) { r.Body, r.ContentLength = &endless{}, -1 },
		"a length beyond reason": func(r *http.Response) { r.ContentLength = 1 << 40 },
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, set("agents", 2))
			o := w.options("0:9:agents")
			honest := o.Transport
			o.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
				resp, err := honest.RoundTrip(r)
				if err == nil && strings.HasSuffix(strings.ToLower(r.URL.Path), "/virtualmachines") {
					_, _ = io.Copy(io.Discard, resp.Body)
					bend(resp)
				}
				return resp, err
			})
			p, err := azure.New(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.Group(t.Context(), "agents")
			if want := "management.azure.com answers with more than 64 MB"; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("read: %v, want a sentence with %q", err, want)
			}
		})
	}
}
