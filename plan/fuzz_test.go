package plan_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/plan/grow"
)

// FuzzRanking reads any text as the ranking of the expander priority: groups are ranked by it, or a sentence in one line says why not.
func FuzzRanking(f *testing.F) {
	for _, seed := range []string{"", "10:\n- .*", "10: [a, b]\n-1: [c]", "x: [a]", "1: ['(']", "1: null", "{}", "- a", "1: [a]\n1: [b]", "a: &a [*a]", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := grow.ReadRanking(&corev1.ConfigMap{Data: map[string]string{"priorities": text}})
		for _, c := range r.Wrong() {
			if c == '\n' {
				t.Errorf("more than one line: %q", r.Wrong())
			}
		}
		if r.Wrong() != "" && r.Unranked("agents") {
			t.Errorf("a ranking that is not in order keeps a group from growing: %s", r.Wrong())
		}
	})
}
