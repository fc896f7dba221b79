package fleet_test

import (
	"testing"

	"sluice.dev/sluice/fleet"
)

// noMachines is a story of a group that has no machines.
func noMachines() *story {
	s := &story{Ledger: fleet.New(fleet.Usual(), minute(0))}
	s.listed(0.1, 0)
	s.see(0.2, fleet.Nodes{Group: pool, At: minute(0.2)})
	return s
}

// next ends the process, and has the next one take up its record and list the nodes, of which there are none.
func (s *story) next(at float64) {
	s.killed(at, s.Record(s.now))
	s.see(at, fleet.Nodes{Group: pool, At: minute(at)})
}

// TestListsThatLieAboutMachines has lists and the group's capacity agree, from the ninth minute on, that machines are not there which somebody knows
// of: a growth that asks for fewer would delete them (S-01). It is refused until they are listed again, or lists have lacked them for long enough.
func TestListsThatLieAboutMachines(t *testing.T) {
	for name, c := range map[string]struct {
		story    func(s *story)
		machines int  // that there are
		ready    bool // their nodes prove it for as long as they are Ready
	}{
		"they were listed, and are no nodes yet": {machines: 2, story: func(s *story) {
			s.listed(8, 2, running, running)
		}},
		"the process before listed them": {machines: 3, story: func(s *story) {
			s.listed(8, 3, running, running, running)
			s.next(8.5)
		}},
		"they were listed switched off, by the process before": {machines: 2, story: func(s *story) {
			s.listed(8, 0, off, off)
			s.next(8.5)
		}},
		"the cloud has accepted them": {machines: 3, story: func(s *story) {
			s.grows(8, 0, 3, "t")
			s.answered(8.1, 8, fleet.Accepted)
		}},
		"the cloud has accepted them from the process before": {machines: 3, story: func(s *story) {
			s.grows(8, 0, 3, "t")
			s.answered(8.1, 8, fleet.Accepted)
			s.next(8.5)
		}},
		"the process before was killed before it heard that the cloud accepts them": {machines: 3, story: func(s *story) {
			s.grows(8, 0, 3, "t")
			s.next(8.5)
		}},
		"their nodes are Ready": {machines: 2, ready: true, story: func(s *story) {
			s.listed(8, 2, running, running)
			s.node(8.1, 0, true, true)
			s.node(8.1, 1, true, true)
		}},
		"a process without a record sees that their nodes are Ready": {machines: 2, ready: true, story: func(s *story) {
			s.killed(8, nil)
			s.see(8.1, fleet.Nodes{Group: pool, At: minute(8.1), Seen: []fleet.NodeSeen{
				{Group: pool, UID: uid(0), At: minute(8.1), Since: minute(7), Ready: true}, {Group: pool, UID: uid(1), At: minute(8.1), Since: minute(7), Ready: true},
			}})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := noMachines()
			c.story(s)
			for _, at := range []float64{9, 12, 15} {
				s.listed(at, 0)
				expect(t, s.mayGrow(c.machines-1), "S-01")
			}
			if c.ready {
				return
			}
			for at := 18.0; at < 60; at += 3 {
				s.listed(at, 0)
			}
			expect(t, s.mayGrow(c.machines-1), "")
		})
	}
}

// TestAListThatLacksARefusedDeletionProvesNothing has the cloud refuse a deletion, and then say that the group has neither machines nor capacity.
func TestAListThatLacksARefusedDeletionProvesNothing(t *testing.T) {
	s := idle(2)
	s.asked(61, fleet.Delete, 0)
	s.answered(61.1, 61, fleet.Refused)
	s.listed(62, 0)
	s.listed(63, 0)
	expect(t, s.At(s.now).MayDeleteNode(pool, uid(0)), "S-14")
}

// TestAStartKeepsTheMax has a machine that is off, and a growth that lists do not show yet: a start beside it would take the group above its max,
// and no entity tag stops a start.
func TestAStartKeepsTheMax(t *testing.T) {
	for name, c := range map[string]struct {
		story func(s *story)
		want  string
	}{
		"no growth is under way": {func(*story) {}, ""},
		"the cloud has accepted a growth": {func(s *story) {
			s.grows(62.1, 0, 1, "t")
			s.answered(62.2, 62.1, fleet.Accepted)
		}, "S-06"},
		"the cloud has not answered": {func(s *story) { s.grows(62.1, 0, 1, "t") }, "S-06"},
		"the process was killed before the answer": {func(s *story) {
			s.grows(62.1, 0, 1, "t")
			s.next(62.3)
		}, "S-06"},
	} {
		t.Run(name, func(t *testing.T) {
			s := idle(1)
			s.node(61.5, 0, false, false)
			s.listed(62, 0, off)
			c.story(s)
			s.listed(62.5, 0, off)
			expect(t, s.At(s.now).MayStart(pool, []fleet.UID{uid(0)}, fleet.Limits{Max: 1, Owned: true}), c.want)
		})
	}
}
