package azure_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azuresim"
)

// record is what a record says, in words: each verb with its capacity, or with the machines that it names.
func record(t *testing.T, raw []byte) (words []string) {
	t.Helper()
	if raw == nil {
		return nil
	}
	var ops []azure.Operation
	if err := json.Unmarshal(raw, &ops); err != nil {
		t.Fatal(err)
	}
	for _, o := range ops {
		word := string(o.Verb)
		if o.Capacity > 0 {
			word += " " + strconv.Itoa(o.Capacity)
		}
		for range slices.Max([]int{len(o.Named), len(o.UIDs)}) {
			word += " machine"
		}
		words = append(words, word)
	}
	return words
}

// TestAGrowthIsToldBeforeItIsAskedFor has a group grow by a parked machine and a new one: what is asked for is in the record before Azure hears of it, and out
// of it once Azure has said no.
func TestAGrowthIsToldBeforeItIsAskedFor(t *testing.T) {
	for name, c := range map[string]struct {
		kept    error // what comes of keeping the record
		refused bool
		after   []string
	}{
		"accepted": {after: []string{"grow 3", "start machine", "granted 3", "rests machine"}},
		"accepted, and the record could not be kept": {kept: errors.New("the API server is away"), after: []string{"grow 3", "start machine", "granted 3", "rests machine"}},
		"refused": {refused: true, after: []string{"rests machine"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, parking("agents", 2))
			o := w.options("0:9:agents")
			var told []string
			o.Ahead = func(ctx context.Context) error {
				told = record(t, w.SaveOperations())
				if n := w.sim.Counters()["PATCH virtualMachineScaleSets"] + w.sim.Counters()["POST virtualMachineScaleSets/start"]; n != 0 {
					t.Errorf("Azure has had %d requests before the record of them was kept", n)
				}
				if end, ends := ctx.Deadline(); !ends || time.Until(end) > 3*time.Second {
					t.Error("a record that nobody keeps could hold up the growth")
				}
				return c.kept
			}
			w.open(o)
			w.groups()
			w.pass(30 * time.Minute) // machines that may not have joined yet are told of, too
			w.remove("agents", "1")
			w.pass(3 * time.Minute)
			w.groups()
			if c.refused {
				w.sim.Inject(azuresim.Fault{Kind: "PATCH virtualMachineScaleSets", Status: 409, Code: "ScopeLocked", Times: 9})
			}
			if told != nil {
				t.Errorf("a removal has been told ahead: %v", told)
			}
			g := w.groups()["agents"]
			if err := w.SetCapacity(t.Context(), g, g.Capacity+2); (err != nil) != c.refused {
				t.Fatalf("the growth ended with %v", err)
			}
			if d := cmp.Diff([]string{"deallocate machine", "granted 3", "start machine", "rests machine"}, told); d != "" {
				t.Errorf("told ahead (-want +got):\n%s", d)
			}
			got := slices.DeleteFunc(record(t, w.SaveOperations()), func(s string) bool { return s == "deallocate machine" })
			if d := cmp.Diff(c.after, got); d != "" {
				t.Errorf("told afterwards (-want +got):\n%s", d)
			}
		})
	}
}

// TestMachinesThatRestAreHandedOn has two processes follow one another: the second knows the parked machines that its first list lacks, for ten minutes, and
// passes them on before it has read anything.
func TestMachinesThatRestAreHandedOn(t *testing.T) {
	w := newWorld(t, parking("agents", 2))
	o := w.options("0:9:agents")
	w.open(o)
	w.remove("agents", "1")
	w.pass(30 * time.Minute)
	w.groups()
	want := []string{"rests machine"}
	if d := cmp.Diff(want, record(t, w.SaveOperations())); d != "" {
		t.Fatalf("the record of a group at rest (-want +got):\n%s", d)
	}
	w.restart(o)
	w.restart(o)
	if d := cmp.Diff(want, record(t, w.SaveOperations())); d != "" {
		t.Errorf("what a process passes on that has read nothing (-want +got):\n%s", d)
	}
	w.must(w.sim.DeleteMachine("agents_1")) // by another hand
	w.now = w.now.Add(3 * time.Minute)      // and nobody looked
	w.groups()
	if d := cmp.Diff(want, record(t, w.SaveOperations())); d != "" {
		t.Errorf("after a list that lacks it (-want +got):\n%s", d)
	}
	w.pass(11 * time.Minute)
	w.groups()
	if got := w.SaveOperations(); got != nil {
		t.Errorf("eleven minutes later it is still told: %s", got)
	}
}

// TestAStartThatNothingShowsKeepsNoGroupAtItsMin has a process take over from one that was killed before it started the parked machine that it had said it would
// start: the two that run are the group's min.
func TestAStartThatNothingShowsKeepsNoGroupAtItsMin(t *testing.T) {
	w := newWorld(t, parking("agents", 3))
	o := w.options("2:9:agents")
	var told []byte
	o.Ahead = func(context.Context) error {
		told = w.SaveOperations()
		return nil
	}
	w.open(o)
	w.remove("agents", "1")
	w.pass(15 * time.Minute)
	g := w.groups()["agents"]
	w.sim.Inject(azuresim.Fault{Kind: "POST virtualMachineScaleSets/start", Status: 500, Times: 9})
	if err := w.SetCapacity(t.Context(), g, 3); err == nil {
		t.Fatal("the start was accepted")
	}
	w.open(w.options("2:9:agents"))
	w.must(w.ResumeOperations(told))
	g = w.groups()["agents"]
	if got := shape(g); got != "0=running 1=creating 2=running" {
		t.Fatalf("the machines are %s, want one that is coming by the word of the process before", got)
	}
	err := w.DeleteInstances(t.Context(), g, []cluster.Machine{g.Instance("2").Machine()})
	var refused *cloud.Error
	if !errors.As(err, &refused) || refused.Code != "StartNotShown" {
		t.Fatalf("the removal ended with %v, want StartNotShown", err)
	}
	w.pass(11 * time.Minute)
	if got := shape(w.groups()["agents"]); got != "0=running 2=running (1)" {
		t.Errorf("eleven minutes later the machines are %s", got)
	}
}

// TestAGrowthHeedsWhatAnotherProcessHasAskedFor has two processes that both lead grow one group: the second refuses the growth that it decided on without what the
// first one has asked for, once, and then asks for nothing below it, whatever Azure's answers say.
func TestAGrowthHeedsWhatAnotherProcessHasAskedFor(t *testing.T) {
	w := newWorld(t, set("agents", 0))
	var there []byte // what both write in turn
	o := w.options("0:9:agents")
	o.Ahead = func(context.Context) error {
		if err := w.HeedOperations(there); err != nil {
			return err
		}
		there = w.SaveOperations()
		return nil
	}
	w.open(o)
	second := w.groups()["agents"]
	late := w.Provider

	w.open(o)
	if err := w.SetCapacity(t.Context(), w.groups()["agents"], 3); err != nil {
		t.Fatal(err)
	}

	w.Provider = late
	w.sim.Inject(azuresim.Fault{ScaleSet: "agents", FalseCapacity: new(int), Times: 99})
	w.sim.Inject(azuresim.Fault{ScaleSet: "agents", Omit: -1, Times: 99})
	var refused *cloud.Error
	if err := w.SetCapacity(t.Context(), second, 1); !errors.As(err, &refused) || refused.Code != "Accompanied" || refused.Kind != cloud.Conflict {
		t.Fatalf("a growth that was decided on without the other one ended with %v, want Accompanied", err)
	}
	if err := w.HeedOperations(there); err != nil {
		t.Errorf("what has been heeded is news again: %v", err)
	}
	if d := cmp.Diff([]string{"granted 3"}, record(t, w.SaveOperations())); d != "" {
		t.Errorf("what the second one passes on (-want +got):\n%s", d)
	}
	w.now = w.now.Add(time.Minute)
	if err := w.SetCapacity(t.Context(), w.groups()["agents"], 1); !errors.As(err, &refused) || refused.Code != "GrowthNotShown" {
		t.Errorf("a growth on a lie ended with %v, want GrowthNotShown", err)
	}
	if err := w.HeedOperations([]byte("a person's own words")); err != nil {
		t.Errorf("a record that cannot be read: %v", err)
	}
}
