package world_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/internal/world"
)

func TestDiffShowsWhatChangedAndALittleAround(t *testing.T) {
	for name, c := range map[string]struct{ want, got, diff string }{
		"nothing":                     {"a\nb\n", "a\nb\n", ""},
		"another line":                {"a\nb\nc\n", "a\nx\nc\n", "  a\n- b\n+ x\n  c\n"},
		"a line more":                 {"a\nc\n", "a\nb\nc\n", "  a\n+ b\n  c\n"},
		"a line less, far from start": {"1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\n6\n", "  ...\n  3\n  4\n- 5\n  6\n"},
		"two places":                  {"a\n1\n2\n3\n4\n5\nb\n", "x\n1\n2\n3\n4\n5\ny\n", "- a\n+ x\n  1\n  2\n  ...\n  4\n  5\n- b\n+ y\n"},
		"everything":                  {"", "a\n", "+ a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.diff, world.Diff(c.want, c.got)); diff != "" {
				t.Errorf("diff (-want +got):\n%s", diff)
			}
		})
	}
}
