package reason

import (
	"testing"
	"time"
)

// TestWordsAreTheSentence holds pieces to the sentence of every code, with facts and without.
func TestWordsAreTheSentence(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range append(Codes(), "NoSuchCode") {
		for _, r := range []Reason{New(c, Node("a")), New(c, Group("g"), "limit", "20m0s", "until", "2026-03-01T13:00:00Z", "nodes", 5000), New(c, Node("b"), "limit", 3).By("S-15")} {
			if got, want := r.Words().String(), r.Sentence(); got != want {
				t.Errorf("%s: pieces %q, sentence %q", c, got, want)
			}
			if got, want := r.RemedyWords().String(), r.Remedy(); got != want {
				t.Errorf("%s: pieces %q, remedy %q", c, got, want)
			}
			if want, _ := r.Ends(now); r.EndsAt(now) != want {
				t.Errorf("%s: ends at %s, not at %s", c, r.EndsAt(now), want)
			}
			if _, want := r.Ends(now); r.EndsWords().String() != want {
				t.Errorf("%s: pieces %q, end %q", c, r.EndsWords(), want)
			}
		}
	}
}
