package app

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/journal"
)

// refuser is a provider that has left something alone.
type refuser struct{ cloud.Provider }

func (refuser) Refused() []cloud.Refusal {
	return []cloud.Refusal{{At: time.Unix(1, 0), Property: "S-37", Resource: "/disks/data", Why: "machine b uses it"}}
}

func TestWhatTheProviderRefusedIsOnRecord(t *testing.T) {
	want := []journal.Refusal{{At: time.Unix(1, 0), Property: "S-37", Resource: "/disks/data", Why: "machine b uses it"}}
	if diff := cmp.Diff(want, refused(refuser{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := refused(nil); got != nil {
		t.Errorf("refused %v, want nothing of a provider that does nothing of its own accord", got)
	}
}
