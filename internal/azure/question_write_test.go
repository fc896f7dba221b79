package azure_test

import (
	"context"
	"testing"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azuresim"
)

// TestAHungWriteIsWaitedForAWhile has a growth take effect, and its answer come after twenty seconds or never.
func TestAHungWriteIsWaitedForAWhile(t *testing.T) {
	inBubble(t, func(w waiting) {
		w.begin(w.options("0:9:agents", "0:9:render"))
		w.groups()
		write := func(n int) (time.Duration, error) {
			ctx, cancel := context.WithTimeout(w.life, 30*time.Second)
			defer cancel()
			g, err := w.Group(ctx, "agents")
			w.must(err)
			began := time.Now()
			err = w.SetCapacity(ctx, g, n)
			return time.Since(began), err
		}
		w.sim.Inject(azuresim.Fault{Kind: patchSet, ScaleSet: "agents", Delay: 20 * time.Second, Times: 1})
		took, err := write(3)
		if e := errorOf(t, err); e.Code != "NoAnswerYet" || e.Kind != cloud.Unanswered {
			t.Errorf("the error is %v, want one that there is no answer yet", err)
		}
		w.wantTook(took, 5*time.Second)
		reads := w.askedOf(getSet, "agents")
		groups, took := w.look()
		w.wantTook(took, 0)
		w.wantProblems(groups, "agents: "+notYet)
		if g := groups["agents"]; g.Asked != 3 || g.Capacity != 2 {
			t.Errorf("agents has a capacity of %d and is asked for %d, want 2 and 3", g.Capacity, g.Asked)
		}
		if _, err := w.Group(w.life, "agents"); errorOf(t, err).Code != "NoAnswerYet" {
			t.Errorf("a read beside a write gives %v, want an error that there is no answer yet", err)
		}
		if n := w.askedOf(getSet, "agents") - reads; n != 0 {
			t.Errorf("the group was read %d times beside a write", n)
		}
		if n := len(w.Operations()); n != 0 {
			t.Errorf("%d operations are followed before one was accepted", n)
		}
		time.Sleep(15 * time.Second)
		if !w.triggered() {
			t.Error("nobody is told that the answer has come")
		}
		groups, _ = w.look()
		w.wantProblems(groups)
		if g := groups["agents"]; g.Asked != 0 || g.Failure != nil {
			t.Errorf("agents is asked for %d, failure %v: want neither once the answer has come", g.Asked, g.Failure)
		}
		if ops := w.Operations(); len(ops) != 1 || ops[0].Capacity != 3 || groups["agents"].Capacity != 3 {
			t.Errorf("operations are %v and the capacity is %d, want the growth to 3 followed", ops, groups["agents"].Capacity)
		}

		w.sim.Inject(azuresim.Fault{Kind: patchSet, ScaleSet: "agents", Hang: true})
		for i, want := range []time.Duration{5 * time.Second, 2 * time.Second, 2 * time.Second} {
			took, _ = write(4 + i)
			w.wantTook(took, want)
			time.Sleep(30*time.Second - want)
			if !w.triggered() {
				t.Error("the write was not given up after 30 s, or nobody is told")
			}
			groups, _ = w.look()
			w.wantProblems(groups)
			if groups["agents"].Capacity != 4+i {
				t.Errorf("the capacity is %d, want the %d that Azure says after the write was given up", groups["agents"].Capacity, 4+i)
			}
			if f := groups["agents"].Failure; f != nil {
				t.Errorf("the growth is said to have failed (%v), though a read shows that it was carried out", f)
			}
		}
	}, set("agents", 2), set("render", 2))
}

// TestALateRefusalIsAFailureOfTheGroup is of growths that nobody waits for any more when they are refused, and of one that is never answered.
func TestALateRefusalIsAFailureOfTheGroup(t *testing.T) {
	late := azuresim.Fault{Kind: patchSet, ScaleSet: "agents", Delay: 20 * time.Second}
	cases := map[string]struct {
		fault azuresim.Fault
		want  *cluster.Failure
	}{
		"no machines to give": {azuresim.Fault{Status: 409, Code: "AllocationFailed"}, &cluster.Failure{Kind: "allocation", Code: "AllocationFailed"}},
		"throttled":           {azuresim.Fault{Status: 429, RetryAfter: 40 * time.Second}, &cluster.Failure{Kind: "throttled", Rest: 40 * time.Second}},
		"a lost race":         {azuresim.Fault{Status: 412, Code: "PreconditionFailed"}, nil},
		"no answer at all":    {azuresim.Fault{Status: 500, Delay: time.Hour}, &cluster.Failure{Kind: "transient", Code: "NoAnswerInTime", Rest: 10 * time.Second}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w waiting) {
				w.begin(w.options("0:9:agents"))
				w.groups()
				g, err := w.Group(w.life, "agents")
				w.must(err)
				f := late
				f.Status, f.Code, f.RetryAfter, f.Delay = c.fault.Status, c.fault.Code, c.fault.RetryAfter, max(f.Delay, c.fault.Delay)
				w.sim.Inject(f)
				if e := errorOf(t, w.SetCapacity(w.life, g, 3)); e.Kind != cloud.Unanswered {
					t.Fatalf("the error is %v, want one that there is no answer yet", e)
				}
				reads := w.askedOf(getSet, "agents")
				time.Sleep(25 * time.Second)
				if !w.triggered() {
					t.Error("nobody is told that the answer has come")
				}
				groups, _ := w.look()
				got := groups["agents"]
				if got.Asked != 0 || got.Capacity != 2 || w.askedOf(getSet, "agents") == reads || time.Since(got.Read.At) != 0 {
					t.Errorf("agents is asked for %d and has %d, read %s ago: want it read now, with 2", got.Asked, got.Capacity, time.Since(got.Read.At))
				}
				if (got.Failure == nil) != (c.want == nil) {
					t.Fatalf("failure %+v, want %+v", got.Failure, c.want)
				}
				if f := got.Failure; f != nil && (f.Kind != c.want.Kind || c.want.Code != "" && f.Code != c.want.Code || f.Rest != c.want.Rest || f.At.IsZero() || f.Message == "") {
					t.Errorf("failure %+v, want %+v with its time and a sentence", f, c.want)
				}
			}, set("agents", 2))
		})
	}
}

// TestAWriteEndsAtItsCallersDeadline is of a lease that ends soon: what is waited for no more must not take effect after it.
func TestAWriteEndsAtItsCallersDeadline(t *testing.T) {
	inBubble(t, func(w waiting) {
		w.begin(w.options("0:9:agents"))
		g, err := w.Group(w.life, "agents")
		w.must(err)
		w.sim.Inject(azuresim.Fault{Kind: deleteByID, Hang: true})
		ctx, cancel := context.WithTimeout(w.life, 15*time.Second)
		err = w.DeleteInstances(ctx, g, []cluster.Machine{g.Instances[0].Machine()})
		cancel()
		if e := errorOf(t, err); e.Code != "NoAnswerYet" {
			t.Errorf("the error is %v, want one that there is no answer yet", err)
		}
		if w.triggered() {
			t.Error("the write was given up with the call")
		}
		time.Sleep(10 * time.Second)
		if !w.triggered() {
			t.Error("the write outlives the deadline of who made it")
		}
	}, set("agents", 2))
}
