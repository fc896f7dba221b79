package memory_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// ago is that long before the start.
func ago(d time.Duration) time.Time { return start.Add(-d) }

func TestRemovalsCoolDown(t *testing.T) {
	const m = time.Minute
	set := func(change func(a *memory.GroupMemory)) map[cluster.GroupID]memory.GroupMemory {
		var a memory.GroupMemory
		change(&a)
		return map[cluster.GroupID]memory.GroupMemory{"a": a}
	}
	grown := set(func(a *memory.GroupMemory) { a.Requested = ago(4 * m) })
	deleted := set(func(a *memory.GroupMemory) { a.Deleted = ago(m) })
	failed := set(func(a *memory.GroupMemory) { a.Uncordoned = ago(m) })
	for name, c := range map[string]struct {
		groups map[cluster.GroupID]memory.GroupMemory
		last   time.Time // growth of any group
		local  bool
		asked  cluster.GroupID
		after  string // "" for no pause
		ends   time.Duration
	}{
		"nothing has happened":                               {},
		"the last growth of any group counts":                {last: ago(4 * m), asked: "b", after: "the last growth", ends: 6 * m},
		"a growth counts until the delay is over":            {last: ago(10 * m), asked: "b"},
		"a deletion of another group counts":                 {groups: deleted, asked: "b", after: "the last deletion", ends: m},
		"so does a failure":                                  {groups: failed, asked: "b", after: "a node could not be tainted", ends: 2 * m},
		"of several the growth is told":                      {groups: failed, last: ago(m), asked: "b", after: "the last growth", ends: 9 * m},
		"its own growth counts where delays are the group's": {groups: grown, local: true, asked: "a", after: "the last growth", ends: 6 * m},
		"its own deletion does":                              {groups: deleted, local: true, asked: "a", after: "the last deletion", ends: m},
		"its own failure does": {
			groups: failed, local: true, asked: "a", after: "a node could not be tainted", ends: 2 * m,
		},
		"what happens to others does not count there": {groups: deleted, last: ago(m), local: true, asked: "b"},
	} {
		t.Run(name, func(t *testing.T) {
			mem := memory.Memory{Growing: memory.Growing{LastGrowth: c.last}, Groups: c.groups}
			var r policy.Removal
			r.Delay.AfterAdd, r.Delay.AfterDelete, r.Delay.AfterFailure, r.Delay.Local = 10*m, 2*m, 3*m, c.local
			got, on := mem.Cooldown(r, c.asked, start)
			if on != (c.after != "") || on && (got.After != c.after || !got.Until().Equal(start.Add(c.ends))) {
				t.Errorf("pauses %t after %q until %s", on, got.After, got.Until())
			}
			if all := mem.CoolsDown(r, start); all != (on && !c.local) {
				t.Errorf("all removals pause: %t", all)
			}
		})
	}
}

func TestUsageLeavesItsWindow(t *testing.T) {
	const m = time.Minute // the window is 48 of them, and a slice at most one
	type added struct {
		at     time.Duration // from the start
		amount float64
	}
	for name, c := range map[string]struct {
		added  []added
		at     time.Duration // it is asked
		slices int
		within float64
		eases  time.Duration // from the start; 0 for never
	}{
		"nothing counts for nothing":                      {at: m},
		"an amount of nothing leaves no slice":            {added: []added{{0, 0}}, at: m},
		"what was added counts":                           {added: []added{{0, 2}}, at: m, slices: 1, within: 2, eases: 48 * m},
		"what is close together is one slice":             {added: []added{{0, 2}, {m - 1, 3}}, at: m, slices: 1, within: 5, eases: 49*m - 1},
		"a slice is no longer than its share of a window": {added: []added{{0, 2}, {m, 3}}, at: m, slices: 2, within: 5, eases: 48 * m},
		"what comes late does not take a slice back":      {added: []added{{0, 2}, {-m, 3}}, at: m, slices: 1, within: 5, eases: 48 * m},
		"a slice counts whole until its end has left": {
			added: []added{{0, 2}, {m - 1, 3}}, at: 48 * m, slices: 1, within: 5, eases: 49*m - 1,
		},
		"the oldest leaves first":    {added: []added{{0, 2}, {2 * m, 3}}, at: 48 * m, slices: 2, within: 3, eases: 50 * m},
		"in the end nothing is left": {added: []added{{0, 2}, {2 * m, 3}}, at: 50 * m, slices: 2},
	} {
		t.Run(name, func(t *testing.T) {
			var u memory.Usage
			for _, a := range c.added {
				was := u
				before := slices.Clone(was)
				u = u.Plus(start.Add(a.at), 48*m, a.amount)
				if d := cmp.Diff(before, was); d != "" {
					t.Errorf("an older value has changed (-was +is):\n%s", d)
				}
			}
			now := start.Add(c.at)
			if len(u) != c.slices || u.Within(now, 48*m) != c.within {
				t.Errorf("%v: %g within the window, want %g of %d slices", u, u.Within(now, 48*m), c.within, c.slices)
			}
			if eases := u.Eases(now, 48*m); eases.IsZero() != (c.eases == 0) || c.eases != 0 && !eases.Equal(start.Add(c.eases)) {
				t.Errorf("eases at %s", eases)
			}
		})
	}
}

func TestTroubleIsHandedOn(t *testing.T) {
	type zones = map[string]memory.Backoff
	rests := memory.Backoff{Until: start.Add(time.Minute), Length: 5 * time.Minute, Last: ago(4 * time.Minute), Code: "C", Ceiling: 3}
	old := memory.Backoff{Until: ago(4 * time.Hour), Length: 5 * time.Minute, Last: ago(5 * time.Hour)}
	ahead := memory.Backoff{Until: start.Add(15 * time.Minute), Length: 5 * time.Minute, Last: start.Add(10 * time.Minute)}
	here := memory.Backoff{Until: start.Add(5 * time.Minute), Length: 5 * time.Minute, Last: start}
	one := memory.Breaker{Machines: 1}
	open := memory.Breaker{Machines: 2, Last: ago(time.Hour), Kept: "vm-1", Until: start.Add(time.Hour)}
	for name, c := range map[string]struct {
		was, is memory.GroupMemory
		nothing bool // is handed on
	}{
		"what only this process needs is not": {was: memory.GroupMemory{Requested: start, Asks: 3, Noticed: start}, nothing: true},
		"a back-off is, with the failure that it began with": {
			was: memory.GroupMemory{Backoff: rests, Noticed: start, Asks: 3}, is: memory.GroupMemory{Backoff: rests, Noticed: start},
		},
		"a back-off that is forgotten is not": {
			was: memory.GroupMemory{Backoff: old, Rest: old, AbortedDrain: old, Astray: zones{"x": old}}, nothing: true,
		},
		"rests from deletions and drains are": {
			was: memory.GroupMemory{Rest: rests, AbortedDrain: rests}, is: memory.GroupMemory{Rest: rests, AbortedDrain: rests},
		},
		"zones that are passed over are": {
			was: memory.GroupMemory{Astray: zones{"x": rests, "y": old}}, is: memory.GroupMemory{Astray: zones{"x": rests}},
		},
		"a machine that never joined is": {was: memory.GroupMemory{Breaker: one}, is: memory.GroupMemory{Breaker: one}},
		"machines that never joined are": {was: memory.GroupMemory{Breaker: open}, is: memory.GroupMemory{Breaker: open}},
		"what began by a clock that is ahead lasts no longer here": {
			was: memory.GroupMemory{Backoff: ahead, Rest: ahead, AbortedDrain: ahead, Astray: zones{"x": ahead}},
			is:  memory.GroupMemory{Backoff: here, Rest: here, AbortedDrain: here, Astray: zones{"x": here}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := memory.Memory{Groups: map[cluster.GroupID]memory.GroupMemory{"a": c.was}}.Breakers(start, allowed())
			if b.IsZero() != c.nothing {
				t.Errorf("nothing is handed on: %t", b.IsZero())
			}
			var want map[cluster.GroupID]memory.GroupMemory
			if !c.nothing {
				want = map[cluster.GroupID]memory.GroupMemory{"a": c.is}
			}
			if d := cmp.Diff(want, b.Memory(start).Groups); d != "" {
				t.Errorf("the next process knows (-want +got):\n%s", d)
			}
		})
	}
}

// TestAClockThatIsPutForwardKeepsThePauseAfterACordon has it jump by an hour.
func TestAClockThatIsPutForwardKeepsThePauseAfterACordon(t *testing.T) {
	cordoned := map[string]memory.Cordoned{"a-0": {Said: start, By: start}}
	for name, c := range map[string]struct {
		by   time.Duration
		want time.Time
	}{
		"forward":             {time.Hour, start.Add(time.Hour)},
		"not at all":          {0, start},
		"backward is no jump": {-time.Hour, start},
	} {
		m := memory.Memory{Removing: memory.Removing{Cordoned: cordoned}}.Jumped(c.by)
		if got := m.Cordoned["a-0"]; !got.By.Equal(c.want) || !got.Said.Equal(start) {
			t.Errorf("%s: %+v", name, got)
		}
		if !cordoned["a-0"].By.Equal(start) {
			t.Errorf("%s: the memory before has changed", name)
		}
	}
}

func TestWhatEndsLeavesItsShareOfTheDay(t *testing.T) {
	spent := memory.Usage{{From: start, To: start, Amount: 2}}
	c := memory.Consolidation{Node: "a-0", Since: start, Group: "b", Asked: start, Stepped: true, Saving: 1, Spent: spent}
	if d := cmp.Diff(memory.Consolidation{Spent: spent}, c.Over()); d != "" {
		t.Errorf("a consolidation leaves (-want +got):\n%s", d)
	}
}
