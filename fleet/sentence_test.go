package fleet_test

import (
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/reason"
)

// TestALossNamesTheCommandThatEndsIt holds what a loss keeps to the one command by which a person ends it.
func TestALossNamesTheCommandThatEndsIt(t *testing.T) {
	until := fleet.At(time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC))
	for _, r := range []fleet.Refusal{
		{Property: "S-43", Code: reason.NodesLostTogether, Until: until},
		{Property: "S-43", Code: reason.MachineLostRecently, UID: "vm-0", Until: until},
		{Property: "S-20", Code: reason.NodeObjectsMissing},
	} {
		if got := r.Reason("agents", reason.Ref{}).String(); !strings.Contains(got, "sluice acknowledge agents") {
			t.Errorf("%s does not name the command: %s", r.Code, got)
		}
	}
}
