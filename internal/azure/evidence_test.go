package azure_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azuresim"
)

// remove deletes machines of a group by id, from a fresh read.
func (w *world) remove(id cluster.GroupID, machines ...cluster.InstanceID) {
	w.t.Helper()
	g, err := w.Group(context.Background(), id)
	w.must(err)
	var victims []cluster.Machine
	for _, m := range machines {
		victims = append(victims, g.Instance(m).Machine())
	}
	w.must(w.DeleteInstances(context.Background(), g, victims))
}

func TestAShortListIsNeverEvidence(t *testing.T) {
	w := newWorld(t, set("agents", 5))
	w.open(w.options("0:9:agents"))
	at := w.groups()["agents"].Read.At
	w.sim.Inject(azuresim.Fault{Kind: listMachines, Omit: 2})
	for range 5 {
		w.pass(time.Minute)
		_, err := w.Group(context.Background(), "agents")
		if e := errorOf(t, err); e.Kind != cloud.Transient || e.Code != "ListIncomplete" {
			t.Errorf("a short list gives %+v, want a transient ListIncomplete", e)
		}
		if g := w.groups()["agents"]; g.Read.Complete || len(g.Instances) != 5 || !g.Read.At.Equal(at) {
			t.Errorf("%d machines read at %s, complete %t: want the 5 of %s, and no complete read", len(g.Instances), g.Read.At, g.Read.Complete, at)
		}
	}
}

func TestAShortListIsNoEvidenceWhileTheScaleSetChanges(t *testing.T) {
	w := newWorld(t, set("agents", 3))
	w.open(w.options("0:9:agents"))
	w.grow("agents", 1)
	w.sim.Inject(azuresim.Fault{Kind: listMachines, Omit: 2})
	for range 10 {
		w.now = w.now.Add(15 * time.Second)
		if g := w.groups()["agents"]; len(g.Instances) < 3 || g.Read.Complete && g.Read.At.Equal(w.now) {
			t.Errorf("%d machines, read %+v: want none of the 3 gone, and no complete read", len(g.Instances), g.Read)
		}
	}
}

func TestAnotherHandsDeletionTakesTwoReads(t *testing.T) {
	w := newWorld(t, set("agents", 5))
	w.open(w.options("0:9:agents"))
	w.groups()
	w.must(w.sim.SetCapacity("agents", 3))
	w.now = w.now.Add(5 * time.Minute) // they are gone before sluice sees them go
	if g := w.groups()["agents"]; g.Read.Complete || g.Capacity != 3 || len(g.Instances) != 5 {
		t.Errorf("capacity %d with %d machines, complete %t: want the 5 still shown, and no complete read", g.Capacity, len(g.Instances), g.Read.Complete)
	}
	w.pass(10 * time.Second)
	if g := w.groups()["agents"]; !g.Usable() || len(g.Instances) != 3 {
		t.Errorf("after a second read %d machines, %+v: want the 3 believed", len(g.Instances), g.Read)
	}
}

func TestAnIncompleteReadIsRepeatedSoonAndThenLessOften(t *testing.T) {
	for name, fault := range map[string]azuresim.Fault{
		"the capacity is null":          {NullCapacity: true},
		"the capacity is negative":      {FalseCapacity: new(-1)},
		"the capacity is of none":       {FalseCapacity: new(0)},
		"the list of machines is short": {Kind: listMachines, Omit: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, set("agents", 3))
			w.open(w.options("0:9:agents"))
			w.groups()
			w.sim.Inject(fault)
			w.pass(time.Minute)
			if g := w.groups()["agents"]; g.Usable() {
				t.Fatalf("decisions may rest on %+v", g)
			}
			count := func() int { return w.sim.Counters()[listMachines] }
			before := count()
			w.pass(10 * time.Second)
			if n := count() - before; n != 1 {
				t.Errorf("%d machine lists in the next cycle, want 1", n)
			}
			before = count()
			w.pass(10 * time.Minute)
			if n := count() - before; n < 9 || n > 13 {
				t.Errorf("%d machine lists in the ten minutes after, want some soon and then one a minute", n)
			}
			w.sim.ClearFaults()
			w.pass(time.Minute)
			if g := w.groups()["agents"]; !g.Usable() || len(g.Instances) != 3 {
				t.Errorf("a minute after the fault: %+v, want it usable", g)
			}
			before = count()
			w.pass(5 * time.Minute)
			if n := count() - before; n > 5 {
				t.Errorf("%d machine lists in five quiet minutes after, want one a minute", n)
			}
		})
	}
}

func TestAnAcceptedDeletionShowsInTheNextAnswer(t *testing.T) {
	w := newWorld(t, set("agents", 4))
	w.open(w.options("0:9:agents"))
	w.groups()
	w.remove("agents", "1")
	before := w.sim.Counters()
	for range 2 {
		w.now = w.now.Add(2 * time.Second)
		if g := w.groups()["agents"]; g.Capacity != 3 || g.Instance("1").State != cluster.StateDeleting || !g.Usable() {
			t.Errorf("capacity %d and machine 1 %s, want 3 and deleting", g.Capacity, g.Instance("1").State)
		}
	}
	w.pass(30 * time.Second)
	if reads, _ := spent(before, w.sim.Counters()); reads != 2 {
		t.Errorf("%d reads while the machine goes, want the model and the list once", reads)
	}
	w.pass(30 * time.Second)
	if g := w.groups()["agents"]; g.Instance("1") != nil || !g.Usable() {
		t.Errorf("after the operation: %+v, want the machine gone at once", g)
	}
}

func TestAnAcceptedDeletionShowsThoughNothingCanBeRead(t *testing.T) {
	w := newWorld(t, set("agents", 4))
	w.open(w.options("0:9:agents"))
	w.groups()
	w.remove("agents", "1")
	w.sim.Inject(azuresim.Fault{Kind: getSet, Status: http.StatusInternalServerError})
	w.sim.Inject(azuresim.Fault{Kind: listMachines, Status: http.StatusInternalServerError})
	if g := w.groups()["agents"]; len(g.Instances) != 4 || g.Instance("1").State != cluster.StateDeleting {
		t.Errorf("machine 1 is %s, want deleting", g.Instance("1").State)
	}
}

func TestAFailedDeletionIsNotShownAnyLonger(t *testing.T) {
	w := newWorld(t, set("agents", 4))
	w.open(w.options("0:9:agents"))
	w.groups()
	w.sim.Inject(azuresim.Fault{Kind: deleteByID, MachineError: "InternalExecutionError", After: 20 * time.Second})
	w.remove("agents", "1")
	g := w.groups()["agents"]
	for !w.NextPoll().IsZero() {
		w.now = w.NextPoll()
		g = w.groups()["agents"]
	}
	if in := g.Instance("1"); in == nil || in.State == cluster.StateDeleting || g.Failure == nil {
		t.Errorf("machine 1 is %+v, failure %+v: want it shown as Azure shows it after the failure", in, g.Failure)
	}
}

func TestAModelWithoutACapacityIsNotKeptWhileAnOperationIsFollowed(t *testing.T) {
	w := newWorld(t, set("agents", 2))
	w.open(w.options("0:9:agents"))
	w.grow("agents", 1)
	w.now = w.NextPoll().Add(-time.Second)
	w.sim.Inject(azuresim.Fault{Kind: getSet, NullCapacity: true, Times: 2})
	if _, err := w.Group(context.Background(), "agents"); err == nil {
		t.Fatal("a null capacity is believed")
	}
	w.now = w.NextPoll()
	if g := w.groups()["agents"]; g.Capacity != 3 || !g.Usable() {
		t.Errorf("capacity %d, read %+v after the first poll: want the model read again", g.Capacity, g.Read)
	}
}

func TestMovementIsSeenSoonAfterARestart(t *testing.T) {
	w := newWorld(t, set("agents", 2))
	w.open(w.options("0:9:agents"))
	w.grow("agents", 1)
	w.pass(30 * time.Second)
	w.open(w.options("0:9:agents")) // it knows of no operation
	w.groups()
	w.now = w.now.Add(110 * time.Second) // 140 s of 150
	w.groups()
	w.pass(30 * time.Second)
	if g := w.groups()["agents"]; g.Live() != 3 || g.Instance("2").State != cluster.StateRunning {
		t.Errorf("20 s after it has booted machine 2 is %s, want running", g.Instance("2").State)
	}

	w.remove("agents", "0")
	w.open(w.options("0:9:agents"))
	w.groups()
	w.pass(70 * time.Second)
	if g := w.groups()["agents"]; g.Instance("0") != nil || !g.Usable() {
		t.Errorf("25 s after it has gone the group is %+v, want machine 0 out of it", g)
	}
}

func TestAMachineThatIsCreatedForEverCostsNoMoreThanAQuietOne(t *testing.T) {
	w := newWorld(t, set("agents", 1))
	w.sim.Inject(azuresim.Fault{Kind: patchSet, NeverBoots: true})
	w.open(w.options("0:9:agents"))
	w.grow("agents", 1)
	w.open(w.options("0:9:agents"))
	w.groups()
	for minute := range 20 {
		before := w.sim.Counters()
		w.pass(time.Minute)
		after := w.sim.Counters()
		reads, _ := spent(before, after)
		if lists := after[listMachines] - before[listMachines]; lists > 4 || minute > 5 && reads > 2 {
			t.Errorf("minute %d cost %d lists of machines and %d reads in all, want at most 4 lists, and 2 reads after five minutes", minute, lists, reads)
		}
		if minute == 0 && reads < 4 {
			t.Errorf("the first minute cost %d reads: the movement is not followed", reads)
		}
	}
}

func TestEveryErrorHasACode(t *testing.T) {
	ctx := context.Background()
	read := func(w *world) error {
		_, err := w.Group(ctx, "agents")
		return err
	}
	grow := func(w *world) error {
		g, err := w.Group(ctx, "agents")
		w.must(err)
		return w.SetCapacity(ctx, g, g.Capacity+1)
	}
	for name, tc := range map[string]struct {
		fault azuresim.Fault
		call  func(*world) error
		want  string
	}{
		"no capacity":               {azuresim.Fault{Kind: getSet, NullCapacity: true}, read, "CapacityUnknown"},
		"a short list":              {azuresim.Fault{Kind: listMachines, Omit: 1}, read, "ListIncomplete"},
		"half a list":               {azuresim.Fault{Kind: listMachines, Truncate: true}, read, "UnreadableAnswer"},
		"a lost request":            {azuresim.Fault{Kind: getSet, LoseRequest: true}, read, "ConnectionLost"},
		"a lost answer to a write":  {azuresim.Fault{Kind: patchSet, LoseAnswer: true}, grow, "ConnectionLost"},
		"a throttled class":         {azuresim.Fault{Kind: getSet, Status: 429}, func(w *world) error { _ = read(w); return read(w) }, "NotBeforeRetryAfter"},
		"a group nobody knows":      {azuresim.Fault{}, func(w *world) error { _, err := w.Group(ctx, "x"); return err }, "GroupUnknown"},
		"a scale set that is gone":  {azuresim.Fault{Kind: getSet, Status: 404}, read, "ResourceNotFound"},
		"a growth that shrinks":     {azuresim.Fault{}, func(w *world) error { return w.SetCapacity(ctx, &cluster.Group{ID: "agents", Capacity: 3}, 2) }, "NoGrowth"},
		"growing without a size":    {azuresim.Fault{}, func(w *world) error { return w.SetCapacity(ctx, &cluster.Group{ID: "agents", Capacity: -1}, 2) }, "CapacityUnknown"},
		"growing without a version": {azuresim.Fault{}, func(w *world) error { return w.SetCapacity(ctx, &cluster.Group{ID: "agents", Capacity: 1}, 2) }, "EntityTagMissing"},
		"deleting nothing":          {azuresim.Fault{}, func(w *world) error { return w.DeleteInstances(ctx, &cluster.Group{ID: "agents"}, nil) }, "NoMachineNamed"},
		"a second deletion":         {azuresim.Fault{}, func(w *world) error { w.remove("agents", "0"); return w.delete("1") }, "DeletionUnderWay"},
		"a machine that is going":   {azuresim.Fault{}, func(w *world) error { w.remove("agents", "0"); return w.delete("0") }, "MachineDeleting"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, set("agents", 3))
			w.open(w.options("0:9:agents"))
			w.groups()
			if tc.fault.Kind != "" {
				w.sim.Inject(tc.fault)
			}
			if e := errorOf(t, tc.call(w)); e.Code != tc.want {
				t.Errorf("the error is %+v, want code %s", e, tc.want)
			}
		})
	}
}

// delete asks for the deletion of one machine of agents.
func (w *world) delete(id cluster.InstanceID) error {
	g, err := w.Group(context.Background(), "agents")
	w.must(err)
	return w.DeleteInstances(context.Background(), g, []cluster.Machine{g.Instance(id).Machine()})
}

func TestAWriteNeedsAReadOfThisProcess(t *testing.T) {
	w := newWorld(t, set("agents", 2))
	read := w.open(w.options("0:9:agents")).groups()["agents"]
	w.open(w.options("0:9:agents")) // as after a restart
	ctx := context.Background()
	for doing, err := range map[string]error{
		"growth":   w.SetCapacity(ctx, read, 3),
		"deletion": w.DeleteInstances(ctx, read, []cluster.Machine{read.Instances[0].Machine()}),
	} {
		if e := errorOf(t, err); e.Kind != cloud.Conflict || e.Code != "NotRead" {
			t.Errorf("%s of a group that was never read gives %+v, want a conflict", doing, e)
		}
	}
}
