package azure_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/ledger"
)

// recorded is what the next process would know of machines by a record.
func (w *world) recorded(raw []byte) *ledger.Book {
	w.t.Helper()
	o := w.options("0:9:agents")
	o.Ledger = ledger.New(fleet.Usual(), o.Now)
	p, err := azure.New(w.t.Context(), o)
	w.must(err)
	w.must(p.ResumeOperations(raw))
	return o.Ledger
}

// grown is the largest capacity of agents that was asked for, and that lists may not show.
func grown(b *ledger.Book) int {
	n, _ := b.Ledger().Grown("agents")
	return n
}

// TestAWriteIsToldBeforeItIsAskedFor has a group grow by a parked machine and a new one, and a machine deleted: what is asked for is in the record before Azure
// hears of it. A removal that nobody could record waits; a growth does not.
func TestAWriteIsToldBeforeItIsAskedFor(t *testing.T) {
	for name, c := range map[string]struct {
		kept   error // what comes of keeping the record
		growth string
		delete string
	}{
		"kept":                        {},
		"not kept":                    {kept: errors.New("the API server is away"), delete: "NotRecorded"},
		"another process has written": {kept: azure.ErrAccompanied, growth: "Accompanied", delete: "Accompanied"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, parking("agents", 2))
			o := w.options("0:9:agents")
			var kept error
			var reported *ledger.Book // what the record said when a write was about to be sent
			sent := func() int {
				all := w.sim.Counters()
				return all["PATCH virtualMachineScaleSets"] + all["POST virtualMachineScaleSets/start"] + all["POST virtualMachineScaleSets/deallocate"]
			}
			may := func(m cluster.Machine) fleet.Set { return reported.View().May("agents", fleet.UID(m.UID)) }
			before := 0
			o.Ahead = func(ctx context.Context) error {
				if reported = w.recorded(w.SaveOperations()); sent() != before {
					t.Errorf("Azure has had %d requests more before the record of them was kept", sent()-before)
				}
				if end, ends := ctx.Deadline(); !ends || time.Until(end) > 3*time.Second {
					t.Error("a record that nobody keeps could hold up the write")
				}
				return kept
			}
			w.open(o)
			w.remove("agents", "1")
			w.pass(3 * time.Minute)
			g := w.groups()["agents"]
			kept, before = c.kept, sent()
			code := func(err error) string {
				var fault *cloud.Error
				if !errors.As(err, &fault) {
					return ""
				}
				if fault.Kind != cloud.Conflict {
					t.Errorf("%s is of kind %s, want a conflict", fault.Code, fault.Kind)
				}
				return fault.Code
			}
			if got := code(w.SetCapacity(t.Context(), g, g.Capacity+2)); got != c.growth {
				t.Errorf("the growth ended with %q, want %q", got, c.growth)
			}
			if started := may(g.Parked[0].Machine()); grown(reported) != 3 || !started.Has(fleet.Here) {
				t.Errorf("told ahead is a capacity of %d, and that the parked machine may be %04b; want 3, and that it may be there", grown(reported), started)
			}
			if (sent() > before) != (c.growth == "") {
				t.Errorf("Azure has had %d requests", sent()-before)
			}
			if after := grown(w.recorded(w.SaveOperations())); (after == 3) != (c.growth == "") {
				t.Errorf("told afterwards is a capacity of %d", after)
			}
			w.pass(5 * time.Minute)
			g, before = w.groups()["agents"], sent()
			victim := g.Instance("0").Machine()
			if got := code(w.DeleteInstances(t.Context(), g, []cluster.Machine{victim})); got != c.delete {
				t.Errorf("the removal ended with %q, want %q", got, c.delete)
			}
			if gone := may(victim); !gone.Has(fleet.IsOff) {
				t.Errorf("told ahead is that the machine may be %04b, want that it may be off", gone)
			}
			if (sent() > before) != (c.delete == "") {
				t.Errorf("Azure has had %d requests for the removal", sent()-before)
			}
		})
	}
}

// TestAGrowthHeedsWhatAnotherProcessHasAskedFor has two processes that both lead grow one group: the second refuses the growth that it decided on without what the
// first one has asked for, once, and passes that on.
func TestAGrowthHeedsWhatAnotherProcessHasAskedFor(t *testing.T) {
	w := newWorld(t, set("agents", 0))
	var there []byte // what both write in turn
	o := w.options("0:9:agents")
	o.Ahead = func(context.Context) error {
		if err := w.MergeOperations(there); err != nil {
			return err
		}
		there = w.SaveOperations()
		return nil
	}
	w.open(o)
	second := w.groups()["agents"]
	late := w.Provider
	w.now = w.now.Add(time.Second)

	w.open(o)
	if err := w.SetCapacity(t.Context(), w.groups()["agents"], 3); err != nil {
		t.Fatal(err)
	}

	w.Provider = late
	w.now = w.now.Add(time.Second)
	var refused *cloud.Error
	if err := w.SetCapacity(t.Context(), second, 1); !errors.As(err, &refused) || refused.Code != "Accompanied" || refused.Kind != cloud.Conflict {
		t.Fatalf("a growth that was decided on without the other one ended with %v, want Accompanied", err)
	}
	if err := w.MergeOperations(there); err != nil {
		t.Errorf("what has been heeded is news again: %v", err)
	}
	if got := grown(w.recorded(w.SaveOperations())); got != 3 {
		t.Errorf("the second one passes on a capacity of %d, want 3", got)
	}
	if err := w.MergeOperations([]byte("a person's own words")); err != nil {
		t.Errorf("a record that cannot be read: %v", err)
	}
}
