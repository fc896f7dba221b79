package world

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestTheLongestNameIsTranslated holds translations against the standard library's, which tries what it is given in order.
func TestTheLongestNameIsTranslated(t *testing.T) {
	translated := 0
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`a{1,8}b?`)
		n := newNames()
		var actual []string
		for range rapid.IntRange(0, 6).Draw(t, "names") {
			actual = append(actual, name.Draw(t, "actual"))
			n.add(actual[len(actual)-1], name.Draw(t, "said"))
		}
		slices.SortFunc(actual, func(a, b string) int { return len(b) - len(a) })
		var pairs []string
		for _, a := range actual {
			pairs = append(pairs, a, n.said[a])
		}
		text := rapid.StringMatching(`(a{0,12}b? ?){1,3}`).Draw(t, "text")
		got, want := n.in(text), strings.NewReplacer(pairs...).Replace(text)
		if got != want {
			t.Fatalf("%q is %q, want %q with %q", text, got, want, pairs)
		}
		if got != text {
			translated++
		}
	})
	if translated < 8 {
		t.Errorf("%d texts had a name: too few", translated)
	}
}
