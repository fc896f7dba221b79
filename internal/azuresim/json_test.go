package azuresim

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMergesLeaveTheirArgumentsAlone(t *testing.T) {
	object := map[string]any{"a": map[string]any{"b": "old", "c": "kept"}, "d": []any{"old"}}
	for name, tc := range map[string]struct{ into, from, want map[string]any }{
		"into nothing":       {nil, map[string]any{"a": "new"}, map[string]any{"a": "new"}},
		"from nothing":       {object, nil, object},
		"null says nothing":  {object, map[string]any{"d": nil}, object},
		"lists are replaced": {object, map[string]any{"d": []any{}}, map[string]any{"a": object["a"], "d": []any{}}},
		"objects are merged": {object, map[string]any{"a": map[string]any{"b": "new"}}, map[string]any{"a": map[string]any{"b": "new", "c": "kept"}, "d": []any{"old"}}},
	} {
		before := cloneObject(tc.into)
		if diff := cmp.Diff(tc.want, merge(tc.into, tc.from)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(before, tc.into); diff != "" {
			t.Errorf("%s changed what it merged into:\n%s", name, diff)
		}
	}
}
