package fleet_test

import (
	"testing"

	"sluice.dev/sluice/fleet"
)

// deletes is a story of idle nodes in which the deletion of the first one was accepted.
func deletes(n int) *story {
	s := idle(n)
	s.asked(61.5, fleet.Delete, 0)
	s.answered(61.6, 61.5, fleet.Accepted)
	return s
}

// TestAnOlderListIsNoNewWord has a deletion fail, and a list from before that have the machine as being deleted.
func TestAnOlderListIsNoNewWord(t *testing.T) {
	s := deletes(2)
	s.answered(62, 61.5, fleet.Refused)
	s.listed(63, 1, deleting, running)
	if may := s.may(0); !may.Has(fleet.Here) {
		t.Errorf("after the failure of its deletion: %04b", may)
	}
	expect(t, s.remove(0), "S-11")
	s.listed(72.5, 1, deleting, running)
	if may := s.may(0); may.Has(fleet.Here) {
		t.Errorf("a horizon later: %04b", may)
	}
}

// TestOneOfSeveralMayBeGone has the deletion of two machines fail: one of them may have been deleted.
func TestOneOfSeveralMayBeGone(t *testing.T) {
	s := idle(3)
	s.asked(61.5, fleet.Delete, 0, 1)
	s.answered(61.6, 61.5, fleet.Accepted)
	s.answered(62, 61.5, fleet.Refused)
	for i := range 2 {
		s.node(62.1, i, false, false)
		if may := s.may(i); may != fleet.Here|fleet.Leaving|fleet.Gone {
			t.Errorf("machine %d: %04b", i, may)
		}
	}
	s.list(62.5, 3)
	s.list(72.5, 3)
	if may := s.may(0); may != fleet.Here {
		t.Errorf("listed a horizon later: %04b", may)
	}
}

// TestARepetitionThatFailsLeavesDoubt has a deletion without an answer, and another one that is accepted and fails.
func TestARepetitionThatFailsLeavesDoubt(t *testing.T) {
	s := idle(2)
	s.asked(61.5, fleet.Delete, 0)
	s.list(61.6, 2)
	s.asked(61.7, fleet.Delete, 0)
	s.answered(61.8, 61.7, fleet.Accepted)
	s.answered(62, 61.7, fleet.Refused)
	s.node(62.1, 0, false, false)
	if may := s.may(0); may != fleet.Here|fleet.Leaving|fleet.Gone {
		t.Errorf("%04b", may)
	}
	s.list(62.2, 2)
	s.asked(62.3, fleet.Delete, 0) // and one that is refused says nothing of the first
	s.answered(62.4, 62.3, fleet.Refused)
	if may := s.may(0); !may.Has(fleet.Gone) {
		t.Errorf("%04b", may)
	}
}

// TestAStartThatFailsLeavesDoubt has a list show that a machine was started, and its start fail.
func TestAStartThatFailsLeavesDoubt(t *testing.T) {
	s := idle(2)
	s.node(62, 0, false, false)
	s.listed(62, 2, off, running)
	s.listed(80, 2, off, running)
	s.asked(80.1, fleet.Start, 0)
	s.answered(80.2, 80.1, fleet.Accepted)
	s.listed(80.3, 2, running, running)
	s.answered(81, 80.1, fleet.Refused)
	s.listed(81.1, 2, running, running)
	if may := s.may(0); may != fleet.Here|fleet.IsOff {
		t.Errorf("%04b", may)
	}
	s.listed(91.5, 2, off, running)
	if may := s.may(0); may != fleet.IsOff {
		t.Errorf("listed a horizon later: %04b", may)
	}
}

// TestAMachineThatWasOffMayBeOffAgain has the deletion of a machine fail that is off.
func TestAMachineThatWasOffMayBeOffAgain(t *testing.T) {
	s := idle(2)
	s.node(62, 0, false, false)
	s.listed(62, 2, off, running)
	s.listed(80, 2, off, running)
	s.asked(80.1, fleet.Delete, 0)
	s.answered(80.2, 80.1, fleet.Accepted)
	s.listed(80.3, 1, deleting, running)
	s.answered(81, 80.1, fleet.Refused)
	if may := s.may(0); !may.Has(fleet.IsOff) {
		t.Errorf("%04b", may)
	}
}

// TestARepetitionKeepsTheMin has a deletion without an answer, and somebody else stop the other machine: the deletion is not repeated below
// the min.
func TestARepetitionKeepsTheMin(t *testing.T) {
	s := idle(2)
	s.asked(61.5, fleet.Delete, 0)
	s.node(61.6, 1, false, false)
	s.listed(61.7, 2, running, off)
	least := func(_ *fleet.Target, l *fleet.Limits) { l.Min = 1 }
	expect(t, s.mayGo(fleet.Delete, least), "S-44")
	s.node(61.8, 0, false, false)
	expect(t, s.mayGo(fleet.Delete, least), "S-06")
}

// TestARepetitionIsCharged has a deletion without an answer, whose machine is off since then, and another one that is charged.
func TestARepetitionIsCharged(t *testing.T) {
	s := idle(3)
	s.asked(61.5, fleet.Delete, 0)
	s.see(61.6, fleet.Asked{Group: pool, At: minute(61.6), Verb: fleet.Empty, Charge: []fleet.UID{uid(1)}})
	s.node(61.7, 0, false, false)
	s.listed(62, 3, off, running, running)
	expect(t, s.mayGo(fleet.Delete, nil), "S-19")
}

// TestWhatMayNotBeDeletedIsInTheFloor has a growth done that an old list does not show, a deletion without an answer, and a list and a
// capacity that know of nothing.
func TestWhatMayNotBeDeletedIsInTheFloor(t *testing.T) {
	s := idle(1)
	s.grows(61.5, 1, 2, "")
	s.answered(61.6, 61.5, fleet.Done)
	s.list(61.7, 1)
	s.asked(61.8, fleet.Delete, 0)
	s.listed(62, 0, unlisted)
	expect(t, s.mayGrow(1), "S-01")
	s.answered(62.1, 61.8, fleet.Accepted)
	s.listed(62.2, 0, unlisted)
	expect(t, s.mayGrow(1), "")
}

// TestAMachineThatStaysAfterAllIsInTheFloor has the group grow while a machine is leaving, and that deletion fail.
func TestAMachineThatStaysAfterAllIsInTheFloor(t *testing.T) {
	s := deletes(2)
	s.listed(61.7, 1, deleting, running)
	s.grows(61.8, 1, 2, "")
	s.answered(61.9, 61.8, fleet.Done)
	s.listed(62, 1, deleting, running)
	s.answered(62.1, 61.5, fleet.Refused)
	expect(t, s.mayGrow(2), "S-01")
	expect(t, s.mayGrow(3), "")
}

// TestGrowthsWithoutANumberAddUp asks a group without a number for a machine twice, and no list shows one.
func TestGrowthsWithoutANumberAddUp(t *testing.T) {
	s := idle(1)
	s.listed(61.4, -1, running)
	s.grows(61.5, 1, 2, "x")
	s.answered(61.6, 61.5, fleet.Accepted)
	s.listed(61.7, -1, running)
	s.grows(61.8, 2, 3, "y")
	s.answered(61.9, 61.8, fleet.Accepted)
	s.listed(62, -1, running)
	three := func(l *fleet.Limits) { l.Max = 3 }
	expect(t, s.mayGrow(0, three), "S-06")
	s.asked(62.1, fleet.Delete, 0)
	s.answered(62.2, 62.1, fleet.Done)
	s.listed(62.3, -1)
	expect(t, s.mayGrow(0, func(l *fleet.Limits) { l.Max = 2 }), "S-06")
	expect(t, s.mayGrow(0, three), "")
}

// TestALossThatIsReadyAgainIsNone removes one of two that were lost, without an effect; both come back.
func TestALossThatIsReadyAgainIsNone(t *testing.T) {
	s := idle(3)
	s.node(61.1, 0, false, false)
	s.node(61.1, 1, false, false)
	s.list(122, 3)
	s.asked(122.1, fleet.Delete, 0)
	s.node(123, 0, true, false)
	s.node(124, 1, true, false)
	if _, lost, _, holds := s.At(s.now).Latched(pool); holds {
		t.Errorf("the latch holds for %d", lost)
	}
}

// TestAParkedLossIsAcknowledged parks one of two that were lost; a person acknowledges both.
func TestAParkedLossIsAcknowledged(t *testing.T) {
	s := idle(3)
	s.node(61.1, 0, false, false)
	s.node(61.1, 1, false, false)
	s.list(122, 3)
	s.asked(122.1, fleet.Park, 0)
	s.answered(122.2, 122.1, fleet.Done)
	s.listed(123, 3, off, running, running)
	s.see(124, fleet.Acknowledged{Group: pool, At: minute(124)})
	if _, lost, _, holds := s.At(s.now).Latched(pool); holds {
		t.Errorf("the latch holds for %d", lost)
	}
}

// TestANodeWhoseMachineIsBeingDeletedKeepsNoMin has a deletion that takes long: its node reports, and does not count.
func TestANodeWhoseMachineIsBeingDeletedKeepsNoMin(t *testing.T) {
	s := idle(2)
	for _, at := range []float64{62, 70, 78} {
		s.listed(at, 1, deleting, running)
	}
	s.node(78.1, 0, true, true)
	expect(t, s.At(s.now).MayRemove(pool, fleet.Delete, []fleet.Target{{UID: uid(1), ID: "1", Idle: true}}, fleet.Limits{Min: 1, Max: 9, Owned: true}), "S-44")
}

// TestANodeWhoseMachineAListLacksKeepsNoMin has somebody delete a machine whose node is Ready for some seconds more.
func TestANodeWhoseMachineAListLacksKeepsNoMin(t *testing.T) {
	s := idle(4)
	s.listed(61.5, 3, unlisted, running, running, running)
	expect(t, s.At(s.now).MayRemove(pool, fleet.Delete, []fleet.Target{{UID: uid(1), ID: "1", Idle: true}}, fleet.Limits{Min: 3, Max: 9, Owned: true}), "S-44")
}

// TestANodeWhoseMachineIsOffKeepsNoMin has the cloud take a spot machine away whose node is Ready for some seconds more.
func TestANodeWhoseMachineIsOffKeepsNoMin(t *testing.T) {
	s := idle(2)
	s.listed(61.5, 2, off, running)
	expect(t, s.At(s.now).MayRemove(pool, fleet.Delete, []fleet.Target{{UID: uid(1), ID: "1", Idle: true}}, fleet.Limits{Min: 1, Max: 9, Owned: true}), "S-44")
}

// TestALossBeginsWhenItIsSeen begins a process, lists machines, and sees one of their nodes not Ready for the first time an hour later.
func TestALossBeginsWhenItIsSeen(t *testing.T) {
	s := idle(3)
	s.killed(70, nil)
	for _, at := range []float64{70.1, 78, 86, 94, 102, 110, 118, 126, 134} {
		s.list(at, 3)
	}
	s.see(134.1, fleet.Nodes{Group: pool, At: minute(134.1), Seen: []fleet.NodeSeen{
		{Group: pool, UID: uid(0), At: minute(134.1), Since: minute(134), Idle: minute(60)},
		{Group: pool, UID: uid(1), At: minute(134.1), Since: minute(0.2), Ready: true, Idle: minute(60)}, {Group: pool, UID: uid(2), At: minute(134.1), Since: minute(0.2), Ready: true, Idle: minute(60)},
	}})
	expect(t, s.remove(0), "S-43")
	if _, lost, _, holds := s.At(s.now).Latched(pool); holds {
		t.Errorf("the latch holds for %d before the nodes were listed", lost)
	}
}

// TestALossThatNobodyRemembersWaitsForAnHour has the record lost after one of two lost machines was removed.
func TestALossThatNobodyRemembersWaitsForAnHour(t *testing.T) {
	s := idle(3)
	s.killed(70, nil)
	s.list(70.1, 3, 0)
	s.see(70.2, fleet.Nodes{Group: pool, At: minute(70.2), Seen: []fleet.NodeSeen{
		{Group: pool, UID: uid(1), At: minute(70.2), Since: minute(10), Idle: minute(9)}, {Group: pool, UID: uid(2), At: minute(70.2), Since: minute(0.2), Ready: true, Idle: minute(60)},
	}})
	s.list(100, 3, 0)
	expect(t, s.remove(1), "S-43")
	s.list(131, 3, 0)
	expect(t, s.remove(1), "")
}

// TestTheNextProcessHearsOfAFailure has the next process hear that a deletion failed, of which the record knows that it was sent, and a
// list that it was begun.
func TestTheNextProcessHearsOfAFailure(t *testing.T) {
	s := idle(2)
	s.asked(61.5, fleet.Delete, 0)
	s.killed(62, s.Record(minute(61.5)))
	s.listed(62.1, 1, deleting, running)
	s.answered(63, 61.5, fleet.Refused)
	if may := s.may(0); !may.Has(fleet.Here) {
		t.Errorf("%04b", may)
	}
}

// TestTheNextProcessHearsThatAStartFailed does the same with a start.
func TestTheNextProcessHearsThatAStartFailed(t *testing.T) {
	s := idle(2)
	s.node(62, 0, false, false)
	s.listed(62, 2, off, running)
	s.listed(80, 2, off, running)
	s.asked(80.1, fleet.Start, 0)
	s.killed(81, s.Record(minute(80.1)))
	s.listed(81.1, 2, running, running)
	s.answered(82, 80.1, fleet.Refused)
	if may := s.may(0); may != fleet.Here|fleet.IsOff {
		t.Errorf("%04b", may)
	}
}

// TestOlderListsSayNothingOfPower has lists from before a park and from before a start.
func TestOlderListsSayNothingOfPower(t *testing.T) {
	s := idle(2)
	s.asked(61.5, fleet.Park, 0)
	s.answered(61.6, 61.5, fleet.Done)
	s.node(61.7, 0, false, false)
	s.listed(62, 2, off, running)
	if may := s.may(0); may != fleet.IsOff {
		t.Errorf("listed after its end: %04b", may)
	}
	s.listed(63, 2, running, running)
	if may := s.may(0); may != fleet.IsOff {
		t.Errorf("listed by an older list: %04b", may)
	}
	s.asked(63.5, fleet.Start, 0)
	s.answered(63.6, 63.5, fleet.Refused)
	s.listed(64, 2, running, running)
	if may := s.may(0); may != fleet.IsOff {
		t.Errorf("listed by an older list, after a start that was refused: %04b", may)
	}
	s.listed(72, 2, running, running)
	if may := s.may(0); may != fleet.Here {
		t.Errorf("listed a horizon later: %04b", may)
	}
}

// TestARepetitionIsNotShownByWhatTheFirstDid has a machine parked twice, as somebody may have started it in between: that a list has it off
// may come of the first.
func TestARepetitionIsNotShownByWhatTheFirstDid(t *testing.T) {
	s := idle(2)
	s.asked(61.5, fleet.Park, 0)
	s.answered(61.6, 61.5, fleet.Accepted)
	s.node(61.7, 0, false, false)
	s.listed(62, 2, off, running)
	s.asked(63.5, fleet.Park, 0)
	s.listed(64, 2, off, running)
	if may := s.may(0); may != fleet.Here|fleet.IsOff {
		t.Errorf("parked again without an answer: %04b", may)
	}
	s.listed(74, 2, off, running)
	if may := s.may(0); may != fleet.IsOff {
		t.Errorf("listed a horizon later: %04b", may)
	}
}

// TestADeletionWithoutAnAnswerIsNotForgotten has it followed by a park: it is still possible that the machine is gone.
func TestADeletionWithoutAnAnswerIsNotForgotten(t *testing.T) {
	s := idle(2)
	s.asked(61.5, fleet.Delete, 0)
	s.asked(61.6, fleet.Park, 0)
	s.node(61.7, 0, false, false)
	if may := s.may(0); !may.Has(fleet.Gone) {
		t.Errorf("%04b", may)
	}
}

// TestListsThatAreAskedForSeldomProveNoAbsence has two lists lack a machine, 20 minutes apart, and its node be silent.
func TestListsThatAreAskedForSeldomProveNoAbsence(t *testing.T) {
	s := idle(2)
	s.list(62, 2, 0)
	s.node(62.1, 0, false, false)
	s.list(82, 2, 0)
	expect(t, s.At(s.now).MayDeleteNode(pool, uid(0)), "S-14")
	s.list(90, 2, 0)
	s.list(92, 2, 0)
	expect(t, s.At(s.now).MayDeleteNode(pool, uid(0)), "")
}

// TestALatchOfOneGroupOutlivesItsProcess has a small group lose both its nodes beside a large one: it is no event of the cluster, and the
// next process knows of it.
func TestALatchOfOneGroupOutlivesItsProcess(t *testing.T) {
	s := farm(100)
	small := fleet.GroupID("small")
	list := fleet.Listed{Group: small, Asked: minute(61), Counted: true, Capacity: 2, Whole: true}
	nodes := fleet.Nodes{Group: small, At: minute(61)}
	for _, uid := range []fleet.UID{"x", "y"} {
		list.Machines = append(list.Machines, fleet.Sighted{UID: uid, ID: string(uid), State: running, Created: minute(0.05)})
		nodes.Seen = append(nodes.Seen, fleet.NodeSeen{Group: small, UID: uid, At: minute(61), Ready: true, Since: minute(0.2), Work: true})
	}
	s.see(61, list, nodes)
	s.see(62, fleet.NodeGone{Group: small, UID: "x", At: minute(62)}, fleet.NodeGone{Group: small, UID: "y", At: minute(62)})
	s.killed(63, s.Record(minute(62.5)))
	if _, lost, of, holds := s.At(s.now).Latched(small); !holds || lost != 2 || of != 2 {
		t.Errorf("the latch holds %v for %d of %d", holds, lost, of)
	}
	if _, _, _, holds := s.At(s.now).Latched(pool); holds {
		t.Error("the large group is held, too")
	}
}

// TestWhatAnotherProcessForgotIsWaitedFor has a process take in the record of one that began later and knows nothing: what went before that
// is unknown to both.
func TestWhatAnotherProcessForgotIsWaitedFor(t *testing.T) {
	s := idle(3)
	s.node(100, 0, false, false)
	s.node(100, 1, false, false)
	s.list(150, 3)
	s.Ledger, _, _ = s.Merge(fleet.New(fleet.Usual(), minute(150)).Record(minute(151)), minute(151))
	s.list(162, 3)
	expect(t, s.remove(0), "S-43")
	s.list(211, 3)
	expect(t, s.remove(0), "")
}

// TestAnotherLeadersChargesCount takes in the record of another process that has removed a machine.
func TestAnotherLeadersChargesCount(t *testing.T) {
	s := farm(3)
	other := s.Observe(minute(61), fleet.Asked{Group: pool, At: minute(61), Verb: fleet.Empty, Charge: []fleet.UID{uid(0)}})
	s.Ledger, _, _ = s.Merge(other.Record(minute(61)), minute(61.1))
	expect(t, s.At(minute(61.1)).MayEmpty(pool, uid(1), limits), "S-19")
}

// TestARefusalOfAnotherLeaderSettlesNothing has two processes start a machine: the second one is refused, since the first was a moment
// before it.
func TestARefusalOfAnotherLeaderSettlesNothing(t *testing.T) {
	s := idle(2)
	s.listed(62, 2, off, running)
	s.node(62.1, 0, false, false)
	s.listed(80, 2, off, running)
	start := func(l fleet.Ledger, at float64, answer fleet.Reply) fleet.Ledger {
		asked := fleet.Asked{Group: pool, At: minute(at), Verb: fleet.Start, Machines: []fleet.UID{uid(0)}}
		return l.Observe(minute(at), asked, fleet.Answered{Group: pool, Asked: minute(at), At: minute(at), Answer: answer})
	}
	first, second := start(s.Ledger, 81, fleet.Accepted), start(s.Ledger, 81.1, fleet.Refused)
	for name, merged := range map[string]func() (fleet.Ledger, bool, error){
		"the first":  func() (fleet.Ledger, bool, error) { return first.Merge(second.Record(minute(82)), minute(82)) },
		"the second": func() (fleet.Ledger, bool, error) { return second.Merge(first.Record(minute(82)), minute(82)) },
	} {
		l, _, err := merged()
		if may := l.At(minute(82)).May(pool, uid(0)); err != nil || may != fleet.Here|fleet.IsOff {
			t.Errorf("%s holds %04b possible, error %v", name, may, err)
		}
	}
}

// TestWhatIsGoneLostItsWorkWithTheOthers has the first half go to the end, so that fewer are left than would be paced by themselves.
func TestWhatIsGoneLostItsWorkWithTheOthers(t *testing.T) {
	s := farm(14)
	for i := range 14 {
		s.see(61, fleet.NodeSeen{Group: pool, UID: uid(i), At: minute(61), Since: minute(0.2), Ready: true, Idle: minute(61)})
	}
	s.list(71, 14)
	half := []int{0, 1, 2, 3, 4, 5, 6}
	expect(t, s.remove(half...), "")
	s.asked(71.1, fleet.Delete, half...)
	s.answered(71.2, 71.1, fleet.Accepted)
	for _, i := range half {
		s.see(72, fleet.NodeGone{Group: pool, UID: uid(i), At: minute(72)})
	}
	s.list(72.5, 14, half...)
	expect(t, s.remove(7), "S-45")
}

// TestTheNextProcessKnowsWhoseWorkWasTakenAway has it begin between the first half and the second.
func TestTheNextProcessKnowsWhoseWorkWasTakenAway(t *testing.T) {
	s := farm(30)
	for i := range 30 {
		s.see(61, fleet.NodeSeen{Group: pool, UID: uid(i), At: minute(61), Since: minute(0.2), Ready: true, Idle: minute(61)})
	}
	s.list(71, 30)
	s.asked(71.1, fleet.Delete, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)
	s.answered(71.2, 71.1, fleet.Accepted)
	s.killed(72, s.Record(minute(72)))
	nodes := fleet.Nodes{Group: pool, At: minute(72.1)}
	for i := range 30 {
		nodes.Seen = append(nodes.Seen, fleet.NodeSeen{Group: pool, UID: uid(i), At: minute(72.1), Since: minute(0.2), Ready: true})
	}
	s.see(72.1, nodes)
	s.list(72.5, 30)
	expect(t, s.remove(15), "S-45")
	s.list(83, 30)
	expect(t, s.remove(15), "")
}

// TestTheWindowCountsFromWhenALostMachineGoes has the removal of a lost machine asked for twice, eight minutes apart.
func TestTheWindowCountsFromWhenALostMachineGoes(t *testing.T) {
	s := farm(3)
	s.node(61, 0, false, false)
	target := []fleet.Target{{UID: uid(0), ID: "0"}}
	for _, at := range []float64{125, 133} {
		s.list(at, 3)
		charged := s.At(s.now).Charged(pool, target)
		if len(charged) != 1 {
			t.Fatalf("at minute %v the budget is charged for %v", at, charged)
		}
		s.see(at+0.1, fleet.Asked{Group: pool, At: s.now, Verb: fleet.Empty, Charge: charged})
	}
	s.list(138, 3)
	expect(t, s.At(s.now).MayEmpty(pool, uid(1), limits), "S-19")
}

// TestALossThatNobodySawCountsAfterItsRemoval has a process begin that finds a node silent, remove its machine, and another node fall
// silent right after that.
func TestALossThatNobodySawCountsAfterItsRemoval(t *testing.T) {
	s := farm(3)
	s.killed(61, nil)
	nodes := fleet.Nodes{Group: pool, At: minute(61.1)}
	for i := range 3 {
		nodes.Seen = append(nodes.Seen, fleet.NodeSeen{Group: pool, UID: uid(i), At: minute(61.1), Since: minute(60), Ready: i != 0})
	}
	s.list(61.05, 3)
	s.see(61.1, nodes)
	s.list(125, 3)
	expect(t, s.remove(0), "")
	s.asked(125.1, fleet.Delete, 0)
	s.answered(125.2, 125.1, fleet.Done)
	s.node(125.3, 1, false, false)
	s.list(140, 2, 0)
	if _, lost, _, holds := s.At(s.now).Latched(pool); holds {
		t.Errorf("losses an hour apart are one event: %d", lost)
	}
	s = farm(3)
	s.killed(61, nil)
	s.list(61.05, 3)
	s.see(61.1, nodes)
	s.asked(90, fleet.Delete, 0)
	s.answered(90.2, 90, fleet.Done)
	s.node(90.3, 1, false, false)
	s.list(95, 2, 0)
	if _, lost, _, holds := s.At(s.now).Latched(pool); !holds || lost != 2 {
		t.Errorf("a loss that was removed, and one within the hour, are %d together: %v", lost, holds)
	}
}

// TestOnesOwnIntentHidesNoNews has a process learn of another's growth, and of another's deletion, when it has told its ledger what it is
// about to ask for itself.
func TestOnesOwnIntentHidesNoNews(t *testing.T) {
	for name, write := range map[string]func(*story){
		"a growth":   func(s *story) { s.grows(61.5, 3, 5, "") },
		"a deletion": func(s *story) { s.asked(61.5, fleet.Delete, 1) },
	} {
		theirs, mine := farm(3), farm(3)
		write(theirs)
		mine.grows(61.6, 3, 4, "")
		if _, news, err := mine.Merge(theirs.Record(minute(61.7)), minute(61.7)); err != nil || !news {
			t.Errorf("%s of another process is no news: %v", name, err)
		}
		if _, news, err := mine.Merge(mine.Record(minute(61.7)), minute(61.7)); err != nil || news {
			t.Errorf("%s: the process's own record is news to it: %v", name, err)
		}
	}
}

// TestWhatAGrowthMadeCountsOnce has a group without a number grow by a machine, which lists have and which is a node by now: there is room
// for a third one.
func TestWhatAGrowthMadeCountsOnce(t *testing.T) {
	s := idle(1)
	s.listed(61.4, -1, running)
	s.grows(61.5, 1, 2, "x")
	s.answered(61.6, 61.5, fleet.Accepted)
	s.see(64, fleet.Listed{Group: pool, Asked: minute(64), Whole: true, Machines: []fleet.Sighted{
		{UID: uid(0), ID: "0", State: running, Created: minute(0.05)}, {UID: uid(1), ID: "1", State: running, Created: minute(61.55)},
	}})
	s.node(64.1, 1, true, false)
	three := func(l *fleet.Limits) { l.Max = 3 }
	expect(t, s.mayGrow(0, three), "")
	s.grows(64.2, 2, 3, "y")
	s.listed(64.3, -1, running, running)
	expect(t, s.mayGrow(0, three), "S-06")
}

// TestWhatWasSwitchedOffIsToldWhileListsAreOld has a list show that a machine is off, and one from before have it at work again.
func TestWhatWasSwitchedOffIsToldWhileListsAreOld(t *testing.T) {
	s := idle(2)
	s.asked(61.5, fleet.Park, 0)
	s.answered(61.6, 61.5, fleet.Accepted)
	s.node(61.7, 0, false, false)
	for i, state := range []fleet.State{off, running} {
		s.listed(62+float64(i), 2, state, running)
		got := s.Beyond(pool)
		if len(got) != 1 || got[0].UID != uid(0) || got[0].Does != fleet.Park || !got[0].Asked || s.may(0) != fleet.IsOff {
			t.Errorf("after list %d the ledger tells %+v, and holds %04b possible", i, got, s.may(0))
		}
	}
	s.listed(73, 2, running, running)
	if got := s.Beyond(pool); len(got) > 0 && got[0].Does != fleet.NoVerb {
		t.Errorf("when lists are as new as that it tells %+v", got)
	}
}
