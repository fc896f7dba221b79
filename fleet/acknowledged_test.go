package fleet_test

import (
	"testing"
	"time"

	"sluice.dev/sluice/fleet"
)

// TestAnAcknowledgementIsOfItsGroup loses two nodes of one group and one of another together: to acknowledge the first lets its machines go,
// and keeps the other's.
func TestAnAcknowledgementIsOfItsGroup(t *testing.T) {
	const other = fleet.GroupID("burst")
	s := idle(3)
	lone := fleet.Sighted{UID: "b", ID: "0", State: fleet.Running, Created: minute(0.05)}
	both := func(at float64) {
		s.list(at, 3)
		s.see(at, fleet.Listed{Group: other, Asked: minute(at), Counted: true, Capacity: 1, Whole: true, Machines: []fleet.Sighted{lone}})
	}
	both(60.5)
	s.see(60.6, fleet.Nodes{Group: other, At: minute(60.6), Seen: []fleet.NodeSeen{{Group: other, UID: "b", At: minute(60.6), Since: minute(1), Ready: true, Idle: minute(60)}}})
	s.node(61.1, 0, false, false)
	s.node(61.1, 1, false, false)
	s.see(61.1, fleet.NodeSeen{Group: other, UID: "b", At: minute(61.1), Since: minute(61.1), Idle: minute(60)})
	both(82)
	expect(t, s.mayGo(fleet.Delete, nil), "S-43")
	s.see(82.1, fleet.Acknowledged{Group: pool, At: minute(82.1)})
	both(83)
	expect(t, s.mayGo(fleet.Delete, nil), "")
	rest := func() *fleet.Refusal {
		return s.At(s.now).MayRemove(other, fleet.Delete, []fleet.Target{{UID: "b", ID: "0"}}, limits)
	}
	expect(t, rest(), "S-43")
	s.killed(84, s.Record(minute(83.5))) // nor does a restart change either
	both(84.1)
	s.see(84.2, fleet.Nodes{Group: pool, At: minute(84.2), Seen: []fleet.NodeSeen{
		{Group: pool, UID: uid(0), At: minute(84.2), Since: minute(61.1), Idle: minute(60)},
		{Group: pool, UID: uid(1), At: minute(84.2), Since: minute(61.1), Idle: minute(60)},
		{Group: pool, UID: uid(2), At: minute(84.2), Since: minute(0.2), Ready: true, Work: true},
	}})
	s.see(84.3, fleet.Nodes{Group: other, At: minute(84.3), Seen: []fleet.NodeSeen{{Group: other, UID: "b", At: minute(84.3), Since: minute(61.1), Idle: minute(60)}}})
	both(85)
	expect(t, s.mayGo(fleet.Delete, nil), "")
	expect(t, rest(), "S-43")
}

// TestALossThatIsKnownDoesNotCome hands a machine without a node, whose loss a person has acknowledged, on to a process that gives machines
// more time to join.
func TestALossThatIsKnownDoesNotCome(t *testing.T) {
	short := fleet.Usual()
	short.Provision = 2 * time.Minute
	s := &story{Ledger: fleet.New(short, minute(3))}
	s.list(3.1, 2)
	s.see(3.2, fleet.Nodes{Group: pool, At: minute(3.2)})
	for _, known := range []bool{false, true} {
		want := fleet.Coming
		if known {
			want = fleet.Lost
			s.see(4, fleet.Acknowledged{Group: pool, At: minute(4)})
		}
		next, _, err := fleet.New(fleet.Usual(), minute(5)).Merge(s.Record(minute(4.5)), minute(5))
		if err != nil {
			t.Fatal(err)
		}
		if life, _ := next.At(minute(5)).Life(pool, uid(0)); life != want {
			t.Errorf("known %v: the machine's life is %v, want %v", known, life, want)
		}
	}
}
