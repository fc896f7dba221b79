package fleet_test

import (
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/fleet"
)

// TestALossNamesTheCommandThatEndsIt holds what a loss keeps to the one command by which a person ends it, in a sentence that is short enough.
func TestALossNamesTheCommandThatEndsIt(t *testing.T) {
	until := fleet.At(time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC))
	for _, r := range []fleet.Refusal{
		{Property: "S-43", Code: fleet.LostTogether, Have: 15, Limit: 1, Until: until},
		{Property: "S-43", Code: fleet.NotLostYet, UID: "vm-0", Until: until},
		{Property: "S-20", Code: fleet.NodesHidden, Have: 15, Limit: 20},
	} {
		got := r.Sentence("agents")
		if !strings.Contains(got, "sluice acknowledge agents") || len(strings.Fields(got)) > 20 {
			t.Errorf("%s has %d words (limit 20): %s", r.Code, len(strings.Fields(got)), got)
		}
	}
}
