package fleet_test

import (
	"testing"

	"sluice.dev/sluice/fleet"
)

// TestSinceWhenAMachineIsWaitedFor tells of a machine of instance id 0 and one that has always been a Ready node; the stories begin after
// an hour.
func TestSinceWhenAMachineIsWaitedFor(t *testing.T) {
	const next = fleet.UID("m-next")
	list := func(s *story, at float64, uid fleet.UID, state fleet.State, created float64) {
		s.see(at, fleet.Listed{Group: pool, Asked: minute(at), Counted: true, Capacity: 2, Whole: true, Machines: []fleet.Sighted{
			{UID: uid, ID: "0", State: state, Created: minute(created)}, {UID: "m001", ID: "1", State: fleet.Running, Created: minute(0.05)},
		}})
	}
	gone := func(s *story, at float64) { s.see(at, fleet.NodeGone{Group: pool, UID: uid(0), At: minute(at)}) }
	replaced := func(s *story) {
		list(s, 61, uid(0), fleet.Deleting, 0.05)
		s.node(62, 0, false, false)
		list(s, 63, next, fleet.Creating, 62.5)
	}
	for name, c := range map[string]struct {
		tell  func(*story)
		of    fleet.UID
		at    float64
		since float64 // 0 for never
		again bool
	}{
		"nobody knows it":                   {of: "m-other", at: 61},
		"a list has shown it":               {tell: func(s *story) { list(s, 62, next, fleet.Creating, 61); list(s, 63, next, fleet.Running, 61) }, of: next, at: 64, since: 62},
		"it was taken before it was a node": {tell: func(s *story) { list(s, 62, next, fleet.Running, 61); list(s, 65, next, fleet.Off, 61) }, of: next, at: 66, since: 61},
		"its node fell silent":              {tell: func(s *story) { s.node(65, 0, false, true) }, of: uid(0), at: 66, since: 65},
		"its Node object went after that":   {tell: func(s *story) { s.node(65, 0, false, true); gone(s, 68) }, of: uid(0), at: 69, since: 68},
		"it was off, and runs": {tell: func(s *story) {
			s.node(65, 0, false, true)
			list(s, 66, uid(0), fleet.Off, 0.05)
			list(s, 67, uid(0), fleet.Running, 0.05)
		}, of: uid(0), at: 68, since: 67, again: true},
		"it was made anew, and runs": {tell: func(s *story) {
			s.node(65, 0, false, true)
			list(s, 66, uid(0), fleet.Creating, 0.05)
			list(s, 67, uid(0), fleet.Running, 0.05)
		}, of: uid(0), at: 68, since: 67, again: true},
		"its name is taken, and it has time": {tell: replaced, of: next, at: 76, since: 63},
		"its name has been taken for long":   {tell: replaced, of: next, at: 80, since: 66},
		"its name is free":                   {tell: func(s *story) { replaced(s); gone(s, 80) }, of: next, at: 90, since: 66},
		"another process knew of it": {tell: func(s *story) {
			list(s, 62, next, fleet.Creating, 61)
			then, _, err := fleet.New(fleet.Usual(), minute(64)).Merge(s.Record(minute(63)), minute(64))
			if err != nil {
				t.Fatal(err)
			}
			s.Ledger = then
			list(s, 65, next, fleet.Running, 61)
		}, of: next, at: 66, since: 62},
	} {
		s := farm(2)
		if c.tell != nil {
			c.tell(s)
		}
		var want fleet.Instant
		if c.since != 0 {
			want = minute(c.since)
		}
		if since, again := s.At(minute(c.at)).Waits(pool, c.of); since != want || again != c.again {
			t.Errorf("%s: since %s, again %t; want %s, %t", name, since.Time(), again, want.Time(), c.again)
		}
	}
}
