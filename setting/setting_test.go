package setting_test

import (
	"strings"
	"testing"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/setting"
)

// TestTheTableIsInOrder holds what all that is made from the table relies on.
func TestTheTableIsInOrder(t *testing.T) {
	flags, tags := map[string]bool{}, map[string]bool{}
	for r := range setting.All() {
		switch {
		case r.Flag == "" && r.Key == "" && r.Tag == "":
			t.Error("a row is neither a flag nor a key nor a tag")
		case r.Flag != "" && flags[r.Flag], r.Tag != "" && tags[r.Tag]:
			t.Errorf("two rows are --%s or tag %s", r.Flag, r.Tag)
		case (r.Flag == "") != (r.Help == ""):
			t.Errorf("--%s: help %q", r.Flag, r.Help)
		case r.Alias != "" && !flags[r.Alias]:
			t.Errorf("--%s comes before --%s, of which it is another name", r.Flag, r.Alias)
		case r.Alias == "" && r.Yields, r.Alias != "" && r.Key != "":
			t.Errorf("--%s: an alias has no key, and it alone yields", r.Flag)
		case (r.There == "") != (r.Why == ""), r.There != "" && !r.Theirs:
			t.Errorf("--%s: there %q, why %q", r.Flag, r.There, r.Why)
		case r.Such != "" && r.Unit == nil:
			t.Errorf("--%s has an example and no unit", r.Flag)
		case strings.Contains(r.Usage(), "{tag}"):
			t.Errorf("--%s speaks of a tag that it has not", r.Flag)
		}
		flags[r.Flag], tags[r.Tag] = true, true
	}
	if name := setting.Find("status-config-map-name").Default; name != cluster.StatusName {
		t.Errorf("the status ConfigMap is %s, elsewhere %s", name, cluster.StatusName)
	}
}

// TestAUnitSaysWhatMakesSense holds the edges of the units.
func TestAUnitSaysWhatMakesSense(t *testing.T) {
	for _, tc := range []struct {
		flag  string
		value any
		want  string
	}{
		{"busy-threshold", 0.0, ""},
		{"busy-threshold", 1.0, ""},
		{"busy-threshold", 1.01, "--busy-threshold=1.01: give a share between 0 and 1, such as 0.5"},
		{"memory-difference-ratio", -1.0, "--memory-difference-ratio=-1: give a share between 0 and 1, such as 0.05"},
		{"max-drain-parallelism", 0, "--max-drain-parallelism=0: give 1 or more"},
		{"max-nodes-per-scaleup", -1, "--max-nodes-per-scaleup=-1: give 0 or more; 0 is no limit"},
		{"expendable-pods-priority-cutoff", int32(-5), ""},
		{"dry-run", true, ""},
	} {
		got := ""
		if err := setting.Find(tc.flag).Check(tc.value); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s %v: %q, want %q", tc.flag, tc.value, got, tc.want)
		}
	}
}
