package azure_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azuresim"
)

// restart replaces the provider by that of a new process, which knows what the old one saved.
func (w *world) restart(o azure.Options) {
	w.t.Helper()
	saved := w.SaveOperations()
	w.open(o)
	w.must(w.ResumeOperations(saved))
}

func TestAFailureIsHeardByTheProcessThatCameAfter(t *testing.T) {
	discover := azure.Discovery{Tags: map[string]string{"pool": "farm"}}
	for name, options := range map[string]func(*world) azure.Options{
		"of a named group": func(w *world) azure.Options { return w.options("0:9:agents") },
		"of a group found by its tags": func(w *world) azure.Options {
			o := w.options()
			o.Discovery = []azure.Discovery{discover}
			return o
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := set("agents", 1)
			s.Tags = map[string]string{"pool": "farm", "min": "0", "max": "9"}
			w := newWorld(t, s)
			w.open(options(w))
			w.groups()
			w.sim.Inject(azuresim.Fault{Kind: patchSet, MachineError: "ZonalAllocationFailed", Times: 2, After: 12 * time.Second})
			w.grow("agents", 2)
			w.restart(options(w))
			w.pass(30 * time.Second)
			g := w.groups()["agents"]
			if g.Failure == nil || g.Failure.Code != "ZonalAllocationFailed" {
				t.Errorf("failure is %+v, want the allocation failure that the earlier process asked for", g.Failure)
			}
			if ops := w.Operations(); len(ops) != 0 {
				t.Errorf("still follows %+v", ops)
			}
		})
	}
}

func TestADeletionGoesOnInTheProcessThatCameAfter(t *testing.T) {
	w := newWorld(t, set("agents", 3))
	w.open(w.options("0:9:agents"))
	w.remove("agents", "1")
	w.restart(w.options("0:9:agents"))
	w.groups()
	if n := len(w.Operations()); n != 1 {
		t.Fatalf("follows %d operations, want the deletion", n)
	}
	if g := w.groups()["agents"]; g.Capacity != 2 || g.Deleting() != 1 {
		t.Errorf("capacity %d with %d being deleted, want 2 with 1", g.Capacity, g.Deleting())
	}
	w.pass(90 * time.Second)
	if g := w.groups()["agents"]; len(g.Instances) != 2 || !g.Read.Complete || len(w.Operations()) != 0 {
		t.Errorf("%d machines, complete %t, %d operations, want 2 machines and peace", len(g.Instances), g.Read.Complete, len(w.Operations()))
	}
}

func TestWhatCannotBeResumedIsPassedOver(t *testing.T) {
	w := newWorld(t, set("agents", 1))
	for name, tc := range map[string]struct {
		saved string
		err   bool
	}{
		"nothing":                     {"", false},
		"no record":                   {"gibberish", true},
		"a group that is gone":        {`[{"group":"gone","verb":"grow","token":"{}","accepted":"2026-03-02T09:00:00Z"}]`, false},
		"a token that is none":        {`[{"group":"agents","verb":"grow","token":"{}","accepted":"2026-03-02T09:00:00Z"}]`, false},
		"a verb from the future":      {`[{"group":"agents","verb":"dance","token":"{}","accepted":"2026-03-02T09:00:00Z"}]`, false},
		"an operation of last week":   {`[{"group":"agents","verb":"grow","token":"{}","accepted":"2026-02-23T09:00:00Z"}]`, false},
		"an operation without a name": {`[{}]`, false},
	} {
		t.Run(name, func(t *testing.T) {
			w.open(w.options("0:9:agents"))
			if err := w.ResumeOperations([]byte(tc.saved)); (err != nil) != tc.err {
				t.Errorf("error %v, want one: %t", err, tc.err)
			}
			if g := w.groups()["agents"]; !g.Usable() || len(w.Operations()) != 0 {
				t.Errorf("group usable: %t, %d operations, want a usable group and none", g.Usable(), len(w.Operations()))
			}
		})
	}
}

func TestAnOperationIsTakenOverOnce(t *testing.T) {
	w := newWorld(t, set("agents", 1))
	w.open(w.options("0:9:agents"))
	w.grow("agents", 1)
	w.must(w.ResumeOperations(w.SaveOperations()))
	w.groups()
	if n := len(w.Operations()); n != 1 {
		t.Errorf("follows %d operations, want one", n)
	}
}

// TestAGrowthThatIsTakenOverIsToldOnce has a process take over from one that asked for two growths of a group, and lists nothing before it has read the groups.
func TestAGrowthThatIsTakenOverIsToldOnce(t *testing.T) {
	w := newWorld(t, set("agents", 1), set("render", 1))
	w.open(w.options("0:9:agents", "0:9:render"))
	at := w.options().Now().UTC()
	w.grow("agents", 2)
	if got := w.TookOver(); len(got) != 0 {
		t.Errorf("its own growth is told as taken over: %+v", got)
	}
	w.restart(w.options("0:9:agents", "0:9:render"))
	w.groups()
	got, want := w.TookOver(), []cloud.Takeover{{Group: "agents", Capacity: 3, At: at.Truncate(time.Millisecond)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("taken over (-want +got):\n%s", diff)
	}
	w.pass(time.Minute)
	w.groups()
	if got := w.TookOver(); len(got) != 0 {
		t.Errorf("told again: %+v", got)
	}
}

// TestAGroupInAnotherLetterCaseIsTheSame has the process that comes after name the group as Azure's portal does, or find it by tags: to
// Azure that is one name.
func TestAGroupInAnotherLetterCaseIsTheSame(t *testing.T) {
	for name, found := range map[string]bool{"named": false, "found by its tags": true} {
		t.Run(name, func(t *testing.T) {
			s := set("Agents", 3)
			s.Tags = map[string]string{"pool": "farm", "min": "0", "max": "9"}
			w := newWorld(t, s)
			w.open(w.options("0:9:agents"))
			w.groups()
			w.grow("agents", 1)
			w.remove("agents", "1")
			if n := len(w.Operations()); n != 2 {
				t.Fatalf("follows %d operations, want a growth and a deletion", n)
			}
			o := w.options("0:9:Agents")
			if found {
				o = w.options()
				o.Discovery = []azure.Discovery{{Tags: map[string]string{"pool": "farm"}}}
			}
			w.restart(o)
			told := w.TookOver()
			g := w.groups()["Agents"]
			told = append(told, w.TookOver()...)
			if len(told) != 1 || told[0].Group != "Agents" && !found || told[0].Capacity != 4 {
				t.Errorf("the growth that is taken over is told as %+v", told)
			}
			if g == nil || g.Deleting() != 1 {
				t.Fatalf("the group is %+v, want one machine of it that is being deleted", g)
			}
			for _, o := range w.Operations() {
				if o.Group != "Agents" {
					t.Errorf("%s is followed as one of %q", o.Action, o.Group)
				}
				for _, m := range o.Named {
					if m.Group != "Agents" {
						t.Errorf("%s names a machine of %q", o.Action, m.Group)
					}
				}
			}
			if n := len(w.Operations()); n != 2 {
				t.Errorf("follows %d operations, want both", n)
			}
			if diff := cmp.Diff([]fleet.GroupID{"Agents"}, w.book.Ledger().Groups()); diff != "" {
				t.Errorf("groups of the ledger (-want +got):\n%s", diff)
			}
			w.pass(4 * time.Minute)
			if g := w.groups()["Agents"]; len(g.Instances) != 3 || !g.Read.Complete || len(w.Operations()) != 0 {
				t.Errorf("%d machines, complete %t, %d operations, want 3 machines and peace", len(g.Instances), g.Read.Complete, len(w.Operations()))
			}
		})
	}
}
