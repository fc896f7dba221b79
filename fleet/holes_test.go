package fleet_test

import (
	"testing"

	"sluice.dev/sluice/fleet"
)

// Each of these is the shortest history of a hole that a search of all orders of events found.

// TestTheHourOfALossBeginsWithIt has two nodes of three fall silent: within the first hour nothing of them goes, and the removal of one
// that the cloud refuses does not count for the next.
func TestTheHourOfALossBeginsWithIt(t *testing.T) {
	s := idle(3)
	s.node(61.1, 0, false, false)
	s.node(61.1, 1, false, false)
	s.list(101, 3)
	expect(t, s.remove(0), "S-43")
	s.list(122, 3)
	expect(t, s.remove(0), "")
	s.asked(122.1, fleet.Delete, 0)
	s.answered(122.2, 122.1, fleet.Refused)
	s.list(123, 3)
	expect(t, s.remove(1), "")
}

// TestAGrowthIsSettledByListsAlone has a growth accepted, a horizon without lists, and then a list and a capacity that know of nothing.
func TestAGrowthIsSettledByListsAlone(t *testing.T) {
	for _, between := range [][]float64{nil, {61.6}} {
		s := idle(1)
		s.grows(61.5, 1, 2, "")
		s.answered(61.5, 61.5, fleet.Accepted)
		for _, at := range between {
			s.list(at, 1)
		}
		s.listed(90, 0, unlisted, unlisted)
		expect(t, s.mayGrow(1), "S-01")
		for at := 91.0; at < 102; at++ {
			s.list(at, 1)
		}
		expect(t, s.mayGrow(2), "")
		if stay := s.At(s.now).Bounds(pool).Stay; stay != 1 {
			t.Errorf("floor %d once lists have told, want 1", stay)
		}
	}
}

// TestWhatIsRecordedAsIdleMayWorkSince has a deletion asked for while the node was idle; it is refused, work begins, the Node object goes,
// and the process is killed.
func TestWhatIsRecordedAsIdleMayWorkSince(t *testing.T) {
	s := idle(3)
	s.asked(61.5, fleet.Delete, 0)
	record := s.Record(minute(61.5))
	s.killed(62, record)
	s.list(62.1, 3)
	s.see(62.2, fleet.Nodes{Group: pool, At: minute(62.2), Seen: []fleet.NodeSeen{
		{Group: pool, UID: uid(1), At: minute(62.2), Since: minute(0.2), Ready: true}, {Group: pool, UID: uid(2), At: minute(62.2), Since: minute(0.2), Ready: true},
	}})
	for at := 66.0; at < 110; at += 4 {
		s.list(at, 3)
	}
	expect(t, s.remove(0), "S-43")
	s.list(123, 3)
	expect(t, s.remove(0), "")
}

// TestALossThatNobodyObservedIsOne has two nodes of three fall silent a minute apart, and nobody look for an hour.
func TestALossThatNobodyObservedIsOne(t *testing.T) {
	s := idle(3)
	s.see(125, fleet.NodeSeen{Group: pool, UID: uid(0), At: minute(125), Since: minute(62), Idle: minute(60.5)})
	s.see(125, fleet.NodeSeen{Group: pool, UID: uid(1), At: minute(125), Since: minute(63), Idle: minute(60.5)})
	if _, lost, _, holds := s.At(s.now).Latched(pool); !holds || lost != 2 {
		t.Errorf("the latch holds %v for %d", holds, lost)
	}
}

// TestTheBusiestHourIsTheEvent has one node lost, and two others within an hour of each other long after it.
func TestTheBusiestHourIsTheEvent(t *testing.T) {
	s := farm(4)
	s.node(61, 0, false, false)
	s.node(150, 1, false, false)
	s.node(151, 2, false, false)
	if from, lost, _, holds := s.At(s.now).Latched(pool); !holds || lost != 2 || from != minute(150) {
		t.Errorf("the latch holds %v for %d since %s", holds, lost, from.Time())
	}
}

// TestAnOlderListTurnsNoMachineOff has a start accepted, a list that shows it, and then a staler one.
func TestAnOlderListTurnsNoMachineOff(t *testing.T) {
	s := idle(2)
	s.listed(70, 2, off, running)
	s.node(70.1, 0, false, false)
	s.listed(82, 2, off, running)
	s.asked(82.1, fleet.Start, 0)
	s.answered(82.2, 82.1, fleet.Accepted)
	s.listed(83, 2, running, running)
	if may := s.may(0); !may.Has(fleet.Here) {
		t.Errorf("listed after its start: %04b", may)
	}
	s.listed(84, 2, off, running)
	if may := s.may(0); !may.Has(fleet.Here) {
		t.Errorf("an older list has it off: %04b", may)
	}
}

// TestAnOldAnswerCarriesNoWrite has somebody else delete a node, and nobody look for 40 minutes.
func TestAnOldAnswerCarriesNoWrite(t *testing.T) {
	s := idle(2)
	s.see(101)
	expect(t, s.remove(0), "S-02")
}

// TestAListThatLacksAMachineSaysThatItMayBeLeaving has a whole list lack a machine that is being deleted: it may be gone, or not yet.
func TestAListThatLacksAMachineSaysThatItMayBeLeaving(t *testing.T) {
	s := idle(2)
	s.list(62, 2, 0)
	if may := s.may(0); may != fleet.Here|fleet.Leaving {
		t.Errorf("a Ready node's machine that a list lacks: %04b", may)
	}
	s.node(62.1, 0, false, false)
	if may := s.may(0); may != fleet.Here|fleet.Leaving|fleet.Gone {
		t.Errorf("a silent one: %04b", may)
	}
	for at := 63.0; at < 74; at++ {
		s.list(at, 2, 0)
	}
	expect(t, s.At(s.now).MayDeleteNode(pool, uid(0)), "")
}

// TestAReadyNodeIsNotGone has lists lack its machine for longer than they may.
func TestAReadyNodeIsNotGone(t *testing.T) {
	s := idle(2)
	for at := 62.0; at < 80; at++ {
		s.list(at, 2, 0)
	}
	expect(t, s.At(s.now).MayDeleteNode(pool, uid(0)), "S-14")
	s.node(80.1, 0, false, false)
	s.list(80.2, 2, 0)
	expect(t, s.At(s.now).MayDeleteNode(pool, uid(0)), "S-14")
}

// TestADeletionThatFailsUnheard has a deletion accepted that fails and nobody hears of it, and then a list that lacks the machine: it
// counts as gone until a list that was asked for a horizon after the word has it running.
func TestADeletionThatFailsUnheard(t *testing.T) {
	s := idle(2)
	s.asked(61.5, fleet.Delete, 0)
	s.answered(61.6, 61.5, fleet.Accepted)
	s.node(61.7, 0, false, false)
	s.list(90, 2, 0)
	expect(t, s.At(s.now).MayDeleteNode(pool, uid(0)), "")
	s.list(90.1, 2)
	if may := s.may(0); !may.Has(fleet.Here) {
		t.Errorf("listed: %04b", may)
	}
	expect(t, s.At(s.now).MayDeleteNode(pool, uid(0)), "S-14")
}

// TestWhatIsSeenForTheFirstTimeIsRecorded has somebody make a machine, and a process end that has recorded it: the next one counts it
// though a list lacks it.
func TestWhatIsSeenForTheFirstTimeIsRecorded(t *testing.T) {
	s := idle(1)
	s.list(62, 2)
	s.killed(63, s.Record(minute(62)))
	s.listed(63.1, 0, unlisted, unlisted)
	s.see(63.2, fleet.Nodes{Group: pool, At: minute(63.2)})
	if stay := s.At(s.now).Bounds(pool).Stay; stay < 1 {
		t.Errorf("floor %d", stay)
	}
}

// TestALossIsOneThoughItsMachineIsDeletedLater has a machine lost, another one silent that nobody has noticed, and the cloud delete the
// first.
func TestALossIsOneThoughItsMachineIsDeletedLater(t *testing.T) {
	s := idle(3)
	s.node(61.5, 0, false, false)
	s.listed(62, 2, deleting, running, running)
	s.see(62.5, fleet.NodeSeen{Group: pool, UID: uid(1), At: minute(62.5), Since: minute(61.6), Idle: minute(60.5)})
	if _, lost, _, holds := s.At(s.now).Latched(pool); !holds || lost != 2 {
		t.Errorf("the latch holds %v for %d", holds, lost)
	}
}

// TestOwnRemovalsAreNoLosses scales down by three nodes, which then fall silent.
func TestOwnRemovalsAreNoLosses(t *testing.T) {
	s := idle(4)
	s.asked(61.5, fleet.Delete, 0, 1, 2)
	s.answered(61.6, 61.5, fleet.Accepted)
	for i := range 3 {
		s.node(62, i, false, false)
	}
	s.listed(62.5, 1, deleting, deleting, deleting, running)
	if _, lost, _, holds := s.At(s.now).Latched(pool); holds {
		t.Errorf("the latch holds for %d", lost)
	}
}

// TestALossOutlivesItsProcess kills the process after two of three nodes were lost.
func TestALossOutlivesItsProcess(t *testing.T) {
	s := idle(3)
	s.node(61.5, 0, false, false)
	s.node(61.5, 1, false, false)
	s.killed(64, s.Record(minute(64)))
	s.list(64.1, 3)
	s.see(64.2, fleet.Nodes{Group: pool, At: minute(64.2), Seen: []fleet.NodeSeen{
		{Group: pool, UID: uid(0), At: minute(64.2), Since: minute(61.5), Idle: minute(60)}, {Group: pool, UID: uid(1), At: minute(64.2), Since: minute(61.5), Idle: minute(60)},
		{Group: pool, UID: uid(2), At: minute(64.2), Since: minute(0.2), Ready: true, Idle: minute(60)},
	}})
	if from, lost, of, holds := s.At(s.now).Latched(pool); !holds || lost != 2 || of != 3 || from != minute(61.5) {
		t.Errorf("the latch holds %v for %d of %d since %s", holds, lost, of, from.Time())
	}
}

// TestNoOlderWordComesBack has a deletion fail, and the record of another process that knows of its word alone come in.
func TestNoOlderWordComesBack(t *testing.T) {
	s := idle(2)
	s.asked(61.5, fleet.Delete, 0)
	s.answered(61.6, 61.5, fleet.Accepted)
	older := s.Record(minute(61.7))
	s.answered(62, 61.5, fleet.Refused)
	s.list(75, 2)
	newer := s.Record(minute(75.1))
	s.Ledger, _, _ = s.Merge(older, minute(75.2))
	if may := s.may(0); may&^(fleet.Here|fleet.Leaving|fleet.Gone) != 0 || !may.Has(fleet.Here) {
		t.Errorf("after an older record: %04b", may)
	}
	other := &story{Ledger: fleet.New(fleet.Usual(), minute(60))}
	other.Ledger, _, _ = other.Merge(older, minute(76))
	other.Ledger, _, _ = other.Merge(newer, minute(76))
	other.now = minute(76)
	if may := other.may(0); !may.Has(fleet.Here) {
		t.Errorf("in a process that had the older one first: %04b", may)
	}
}

// TestAWordEnds has a machine listed as being deleted, and running again a horizon later.
func TestAWordEnds(t *testing.T) {
	s := idle(2)
	s.listed(62, 1, deleting, running)
	s.list(63, 2)
	if may := s.may(0); may != fleet.Leaving {
		t.Errorf("listed by an older list: %04b", may)
	}
	s.list(73, 2)
	if may := s.may(0); may != fleet.Here {
		t.Errorf("listed a horizon later: %04b", may)
	}
	expect(t, s.remove(0), "")
}
