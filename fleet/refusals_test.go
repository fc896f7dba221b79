package fleet_test

import (
	"fmt"
	"testing"

	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/reason"
)

// listed lists machines in these states, one after the other; those that are unlisted it lacks.
func (s *story) listed(at float64, capacity int, states ...fleet.State) {
	o := fleet.Listed{Group: pool, Asked: minute(at), Counted: capacity >= 0, Capacity: max(0, capacity), Whole: true}
	for i, state := range states {
		if state != fleet.Unlisted {
			o.Machines = append(o.Machines, fleet.Sighted{UID: uid(i), ID: fmt.Sprint(i), State: state, Created: minute(0.05)})
		}
	}
	s.see(at, o)
}

func (s *story) asked(at float64, verb fleet.Verb, machines ...int) {
	o := fleet.Asked{Group: pool, At: minute(at), Verb: verb}
	for _, i := range machines {
		o.Machines = append(o.Machines, uid(i))
	}
	s.see(at, o)
}

func (s *story) grows(at float64, from, to int, token string) {
	s.see(at, fleet.Asked{Group: pool, At: minute(at), Verb: fleet.Grow, From: from, To: to, Token: token})
}

func (s *story) answered(at, asked float64, reply fleet.Reply) {
	s.see(at, fleet.Answered{Group: pool, Asked: minute(asked), At: minute(at), Answer: reply})
}

// killed ends the process, and begins another one with the record.
func (s *story) killed(at float64, record []byte) {
	s.Ledger = fleet.New(fleet.Usual(), minute(at))
	if record != nil {
		s.Ledger, _, _ = s.Merge(record, minute(at))
	}
	s.now = minute(at)
}

func (s *story) may(i int) fleet.Set { return s.At(s.now).May(pool, uid(i)) }

func (s *story) mayGrow(to int, change ...func(*fleet.Limits)) *fleet.Refusal {
	l := limits
	for _, c := range change {
		c(&l)
	}
	return s.At(s.now).MayGrow(pool, to, 1, l)
}

// mayGo is why the first machine may not go.
func (s *story) mayGo(verb fleet.Verb, change func(*fleet.Target, *fleet.Limits)) *fleet.Refusal {
	t, l := fleet.Target{UID: uid(0), ID: "0", Idle: true}, limits
	if change != nil {
		change(&t, &l)
	}
	return s.At(s.now).MayRemove(pool, verb, []fleet.Target{t}, l)
}

const (
	running  = fleet.Running
	deleting = fleet.Deleting
	off      = fleet.Off
	unlisted = fleet.Unlisted
)

// idle is a farm of machines whose work has ended.
func idle(n int) *story {
	s := farm(n)
	for i := range n {
		s.node(60.5, i, true, false)
	}
	s.list(61, n)
	return s
}

// TestEachPredicateRefuses has one story for each refusal, in which nothing else stands in the way: without it the write would be allowed.
func TestEachPredicateRefuses(t *testing.T) {
	deleteOne := func(s *story) *fleet.Refusal { return s.mayGo(fleet.Delete, nil) }
	for _, x := range []struct {
		code     reason.Code
		property string
		story    func() *story
		ask      func(*story) *fleet.Refusal
	}{
		{reason.GroupNotRead, "S-02", func() *story {
			s := idle(3)
			record := s.Record(minute(61))
			s.killed(62, record)
			s.see(62.1, fleet.Nodes{Group: pool, At: minute(62.1)})
			return s
		}, func(s *story) *fleet.Refusal { return s.mayGrow(5, func(l *fleet.Limits) { l.Age = 0 }) }},
		{reason.GroupIncomplete, "S-02", func() *story {
			s := idle(3)
			s.see(62, fleet.Listed{Group: pool, Asked: minute(62), Counted: true, Capacity: 3})
			return s
		}, func(s *story) *fleet.Refusal {
			return s.mayGo(fleet.Delete, func(_ *fleet.Target, l *fleet.Limits) { l.Age = 0 })
		}},
		{reason.GroupReadOld, "S-02", func() *story {
			s := idle(3)
			s.asked(61.1, fleet.Delete, 2)
			return s
		}, deleteOne},
		{reason.GroupReadOld, "S-02", func() *story {
			s := idle(3)
			s.see(62.1)
			return s
		}, deleteOne},
		{reason.GroupNotOwned, "S-22", func() *story { return idle(3) }, func(s *story) *fleet.Refusal {
			return s.mayGo(fleet.Delete, func(_ *fleet.Target, l *fleet.Limits) { l.Owned = false })
		}},
		{reason.ScaleUpEmpty, "S-05", func() *story { return idle(3) }, func(s *story) *fleet.Refusal { return s.mayGrow(3) }},
		{reason.ScaleUpBelowMachines, "S-01", func() *story {
			s := idle(3)
			s.listed(61.5, 0, unlisted, unlisted, unlisted)
			return s
		}, func(s *story) *fleet.Refusal { return s.mayGrow(2) }},
		{reason.GroupAboveMax, "S-06", func() *story { return idle(3) }, func(s *story) *fleet.Refusal { return s.mayGrow(4, func(l *fleet.Limits) { l.Max = 3 }) }},
		{reason.MachinesMissing, "S-04", func() *story {
			s := idle(3)
			s.listed(61.5, -1, running, running, unlisted)
			return s
		}, func(s *story) *fleet.Refusal { return s.mayGrow(0) }},
		{reason.MachinesUnregistered, "S-35", func() *story {
			s := farm(1)
			o := fleet.Listed{Group: pool, Asked: minute(61), Counted: true, Capacity: 4, Whole: true}
			for i := range 4 {
				o.Machines = append(o.Machines, fleet.Sighted{UID: uid(i), ID: fmt.Sprint(i), State: running, Created: minute(60.5)})
			}
			s.see(61, o)
			o.Asked = minute(80)
			s.see(80, o)
			return s
		}, func(s *story) *fleet.Refusal { return s.mayGrow(5) }},
		{reason.MachineNotOff, "S-11", func() *story { return idle(2) }, func(s *story) *fleet.Refusal {
			return s.At(s.now).MayStart(pool, []fleet.UID{uid(0)}, limits)
		}},
		{reason.GroupAboveMax, "S-06", func() *story {
			s := idle(2)
			s.listed(61.5, 2, off, running)
			s.node(61.6, 0, false, false)
			return s
		}, func(s *story) *fleet.Refusal {
			l := limits
			l.Max = 1
			return s.At(s.now).MayStart(pool, []fleet.UID{uid(0)}, l)
		}},
		{reason.CapacityBelowMachines, "S-05", func() *story {
			s := idle(3)
			s.listed(61.5, 2, running, running, running)
			return s
		}, deleteOne},
		{reason.MachinesMissing, "S-20", func() *story {
			s := idle(3)
			s.listed(61.5, 3, running, running, unlisted)
			return s
		}, deleteOne},
		{reason.GroupMinMachines, "S-06", func() *story {
			s := idle(2)
			s.listed(61.5, 2, running, off)
			s.node(61.6, 0, false, false)
			s.node(61.6, 1, false, false)
			s.see(61.7, fleet.Acknowledged{Group: pool, At: minute(61.7)})
			return s
		}, func(s *story) *fleet.Refusal {
			return s.mayGo(fleet.Delete, func(_ *fleet.Target, l *fleet.Limits) { l.Min = 1 })
		}},
		{reason.MachineNotListed, "S-11", func() *story {
			s := idle(5)
			s.listed(61.5, 5, unlisted, running, running, running, running)
			return s
		}, deleteOne},
		{reason.InstanceIDReused, "S-11", func() *story { return idle(3) }, func(s *story) *fleet.Refusal {
			return s.mayGo(fleet.Delete, func(t *fleet.Target, _ *fleet.Limits) { t.ID = "1" })
		}},
		{reason.MachineLeaving, "S-11", func() *story {
			s := idle(3)
			s.listed(61.5, 2, deleting, running, running)
			return s
		}, deleteOne},
		{reason.MachineWritePending, "S-11", func() *story {
			s := idle(3)
			s.asked(61.1, fleet.Delete, 0)
			s.list(61.5, 3)
			return s
		}, func(s *story) *fleet.Refusal { return s.mayGo(fleet.Park, nil) }},
		{reason.MachineProtected, "S-18", func() *story { return idle(3) }, func(s *story) *fleet.Refusal {
			return s.mayGo(fleet.Delete, func(t *fleet.Target, _ *fleet.Limits) { t.Held = true })
		}},
		{reason.NodeMatchesSeveral, "S-12", func() *story {
			s := idle(3)
			s.see(61.1, fleet.NodeSeen{Group: pool, UID: uid(0), At: minute(61.1), Ready: true, Since: minute(0.2), Idle: minute(60.5), Ended: true, Ambiguous: true})
			return s
		}, deleteOne},
		{reason.MachineHasWork, "S-15", func() *story {
			s := idle(3)
			s.node(61.1, 0, true, true)
			return s
		}, deleteOne},
		{reason.MachineNotIdle, "S-19", func() *story { return idle(3) }, func(s *story) *fleet.Refusal {
			return s.mayGo(fleet.Delete, func(t *fleet.Target, _ *fleet.Limits) { t.Idle = false })
		}},
		{reason.MachineStarting, "S-35", func() *story {
			s := idle(1)
			s.see(62, fleet.Listed{Group: pool, Asked: minute(62), Counted: true, Capacity: 2, Whole: true, Machines: []fleet.Sighted{
				{UID: uid(1), ID: "1", State: running, Created: minute(61.5)}, {UID: uid(0), ID: "0", State: running, Created: minute(0.05)},
			}})
			return s
		}, func(s *story) *fleet.Refusal {
			return s.mayGo(fleet.Delete, func(t *fleet.Target, _ *fleet.Limits) { t.UID, t.ID = uid(1), "1" })
		}},
		{reason.MachineLostRecently, "S-43", func() *story {
			s := idle(3)
			s.node(61.1, 0, false, false)
			s.list(70, 3)
			return s
		}, deleteOne},
		{reason.NodesLostTogether, "S-43", func() *story {
			s := idle(3)
			s.node(61.1, 0, false, false)
			s.node(61.1, 1, false, false)
			s.list(200, 3)
			return s
		}, func(s *story) *fleet.Refusal { return s.remove(0, 1) }},
		{reason.EmptiedUnknown, "S-19", func() *story {
			s := &story{Ledger: fleet.New(fleet.Usual(), minute(0))}
			s.list(0.1, 3)
			s.see(0.2, fleet.Nodes{Group: pool, At: minute(0.2)})
			for i := range 3 {
				s.node(0.2, i, true, false)
			}
			s.list(0.5, 3)
			return s
		}, func(s *story) *fleet.Refusal {
			if r := s.mayGo(fleet.Delete, nil); r != nil {
				return r
			}
			return s.At(s.now).MayEmpty(pool, uid(0), limits)
		}},
	} {
		t.Run(x.property+" "+string(x.code), func(t *testing.T) {
			r := x.ask(x.story())
			if r == nil || r.Code != x.code || r.Property != x.property {
				t.Errorf("got %+v", r)
			}
		})
	}
}

// TestWhatNobodyRefuses is the other side: an idle node goes, a lost one after its time, one that was lost together with others after an
// hour, one by one.
func TestWhatNobodyRefuses(t *testing.T) {
	s := idle(3)
	expect(t, s.mayGo(fleet.Delete, nil), "")
	expect(t, s.mayGo(fleet.Park, nil), "")
	expect(t, s.mayGrow(4), "")
	s.node(61.1, 0, false, false)
	s.list(82, 3)
	expect(t, s.mayGo(fleet.Delete, nil), "")
	s.node(82.1, 1, false, false)
	s.list(120, 3)
	expect(t, s.mayGo(fleet.Delete, nil), "S-43")
	s.list(122, 3)
	expect(t, s.mayGo(fleet.Delete, nil), "")
}

// TestAChargeIsForgottenAfterItsWindow removes two silent machines of three, a person knowing of them: the second one waits for ten
// minutes.
func TestAChargeIsForgottenAfterItsWindow(t *testing.T) {
	s := idle(3)
	s.node(61.1, 0, false, false)
	s.node(61.1, 1, false, false)
	s.see(61.2, fleet.Acknowledged{Group: pool, At: minute(61.2)})
	s.see(61.3, fleet.Asked{Group: pool, At: minute(61.3), Verb: fleet.Delete, Machines: []fleet.UID{uid(1)}, Charge: []fleet.UID{uid(1)}})
	s.answered(61.4, 61.3, fleet.Done)
	s.list(62, 3, 1)
	expect(t, s.mayGo(fleet.Delete, nil), "S-19")
	record := s.Record(minute(62))
	s.list(71.4, 3, 1)
	expect(t, s.mayGo(fleet.Delete, nil), "")

	s.killed(63, record) // the next process knows of it
	s.list(63.1, 3, 1)
	s.see(63.2, fleet.Nodes{Group: pool, At: minute(63.2), Seen: []fleet.NodeSeen{
		{Group: pool, UID: uid(0), At: minute(63.2), Since: minute(61.1), Idle: minute(60)}, {Group: pool, UID: uid(2), At: minute(63.2), Since: minute(0.2), Ready: true, Work: true},
	}})
	s.list(64, 3, 1)
	expect(t, s.mayGo(fleet.Delete, nil), "S-19")
}

// TestABudgetNobodyRemembersIsFull begins without a record: for ten minutes nothing goes that is charged.
func TestABudgetNobodyRemembersIsFull(t *testing.T) {
	s := idle(3)
	s.killed(70, nil)
	s.list(70.1, 3)
	s.see(70.2, fleet.Nodes{Group: pool, At: minute(70.2), Seen: []fleet.NodeSeen{{Group: pool, UID: uid(0), At: minute(70.2), Ready: true, Since: minute(0.2), Work: true}}})
	s.list(71, 3)
	expect(t, s.At(s.now).MayEmpty(pool, uid(0), limits), "S-19")
	s.see(81, fleet.Nodes{Group: pool, At: minute(81)})
	expect(t, s.At(s.now).MayEmpty(pool, uid(0), limits), "")
}

// TestAnIDThatIsUsedAgainNamesAnother has the cloud give the id of a machine that went to a new one.
func TestAnIDThatIsUsedAgainNamesAnother(t *testing.T) {
	s := idle(4)
	s.see(62, fleet.Listed{Group: pool, Asked: minute(62), Counted: true, Capacity: 4, Whole: true, Machines: []fleet.Sighted{
		{UID: "new", ID: "0", State: running, Created: minute(61.5)}, {UID: uid(1), ID: "1", State: running}, {UID: uid(2), ID: "2", State: running}, {UID: uid(3), ID: "3", State: running},
	}})
	expect(t, s.mayGo(fleet.Delete, nil), "S-11")
	expect(t, s.mayGo(fleet.Delete, func(g *fleet.Target, _ *fleet.Limits) { g.UID = "new" }), "S-35")
}

// TestTwoIDsOfOneMachine has a node known by another id than its machine: joined, the node speaks for the machine.
func TestTwoIDsOfOneMachine(t *testing.T) {
	s := farm(2)
	s.list(61, 3)
	s.see(62, fleet.NodeSeen{Group: pool, UID: "swapped", At: minute(62), Ready: true, Since: minute(61.5), Work: true})
	s.list(80, 3)
	if life, _ := s.At(s.now).Life(pool, uid(2)); life == fleet.Ready {
		t.Error("Ready without a node")
	}
	s.see(81, fleet.Same{Group: pool, As: "swapped", Is: uid(2)})
	if life, _ := s.At(s.now).Life(pool, uid(2)); life != fleet.Ready {
		t.Errorf("life %d, want Ready", life)
	}
	if may := s.At(s.now).May(pool, "swapped"); may != 0 {
		t.Errorf("the other id is still known: %04b", may)
	}
	s.list(81.5, 3)
	expect(t, s.remove(2), "S-15")
}

// TestACordonIsCharged charges a node when it is cordoned, not again when its machine goes, and counts it for the next one.
func TestACordonIsCharged(t *testing.T) {
	s := farm(3)
	s.see(61, fleet.Asked{Group: pool, At: minute(61), Verb: fleet.Empty, Machines: []fleet.UID{uid(0)}, Charge: []fleet.UID{uid(0)}})
	expect(t, s.At(s.now).MayEmpty(pool, uid(0), limits), "")
	expect(t, s.At(s.now).MayEmpty(pool, uid(1), limits), "S-19")
	s.node(62, 0, true, false)
	s.list(62.5, 3)
	expect(t, s.mayGo(fleet.Delete, func(g *fleet.Target, _ *fleet.Limits) { g.Idle = false }), "")
}

// TestSharesOfABudget has a group of 100 working nodes: five may be emptied within the window, or the share that the policy says.
func TestSharesOfABudget(t *testing.T) {
	s := farm(100)
	o := fleet.Asked{Group: pool, At: minute(61), Verb: fleet.Empty}
	for i := range 5 {
		expect(t, s.At(s.now).MayEmpty(pool, uid(i), limits), "")
		o.Charge = append(o.Charge, uid(i))
		s.see(61, o)
	}
	expect(t, s.At(s.now).MayEmpty(pool, uid(5), limits), "S-19")
	l := limits
	l.Budget = 6
	expect(t, s.At(s.now).MayEmpty(pool, uid(5), l), "")
	s.see(61+10.1, fleet.Acknowledged{Group: pool, At: minute(71.1)})
	expect(t, s.At(s.now).MayEmpty(pool, uid(5), limits), "")
}
