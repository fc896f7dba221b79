package fleet_test

import (
	"encoding/json"
	"testing"

	"sluice.dev/sluice/fleet"
)

// TestChangesTellAllOfALedger follows histories by what changes from step to step, through JSON as a journal does.
func TestChangesTellAllOfALedger(t *testing.T) {
	text := func(c fleet.Change) string {
		raw, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for seed := range uint64(10) {
		w := newModel(t, seed)
		var was, copied fleet.Ledger
		for step := range 200 {
			is := w.ledgers[0]
			var c fleet.Change
			if err := json.Unmarshal([]byte(text(is.Change(was))), &c); err != nil {
				t.Fatal(err)
			}
			copied = copied.Apply(c)
			if want, got := text(is.Change(fleet.Ledger{})), text(copied.Change(fleet.Ledger{})); want != got {
				t.Fatalf("history %d, step %d: the ledger is\n%s\nand followed by changes\n%s", seed, step, want, got)
			}
			was = is
			w.step()
		}
	}
}
