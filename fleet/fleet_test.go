package fleet_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/reason"
)

// minute is the time of a story in minutes since its beginning.
func minute(n float64) fleet.Instant {
	return fleet.Instant(1_800_000_000_000).Add(time.Duration(n * float64(time.Minute)))
}

// story is a group of machines with nodes, told minute by minute.
type story struct {
	fleet.Ledger
	now fleet.Instant
}

const pool = fleet.GroupID("agents")

func uid(i int) fleet.UID { return fleet.UID(fmt.Sprintf("m%03d", i)) }

// farm is a story of so many machines, which are Ready nodes and work, watched for an hour.
func farm(n int) *story {
	s := &story{Ledger: fleet.New(fleet.Usual(), minute(0))}
	s.list(0.1, n)
	s.see(0.2, fleet.Nodes{Group: pool, At: minute(0.2)})
	for i := range n {
		s.node(0.2, i, true, true)
	}
	s.list(60, n)
	return s
}

func (s *story) see(at float64, all ...fleet.Observation) {
	s.now = max(s.now, minute(at))
	s.Ledger = s.Observe(s.now, all...)
}

// list lists the first n machines, but for some.
func (s *story) list(at float64, n int, but ...int) {
	o := fleet.Listed{Group: pool, Asked: minute(at), Counted: true, Capacity: n, Whole: true}
	lacks := map[int]bool{}
	for _, i := range but {
		lacks[i] = true
	}
	for i := range n {
		if !lacks[i] {
			o.Machines = append(o.Machines, fleet.Sighted{UID: uid(i), ID: fmt.Sprint(i), State: fleet.Running, Created: minute(0.05)})
		}
	}
	s.see(at, o)
}

func (s *story) node(at float64, i int, ready, work bool) {
	o := fleet.NodeSeen{Group: pool, UID: uid(i), At: minute(at), Since: minute(at), Ready: ready, Work: work}
	if !work {
		o.Idle, o.Ended = minute(at), true
	}
	s.see(at, o)
}

var limits = fleet.Limits{Max: 200, Owned: true, Age: time.Minute, LostFor: 20 * time.Minute, WorkFor: time.Hour}

func (s *story) remove(machines ...int) *fleet.Refusal {
	var all []fleet.Target
	for _, i := range machines {
		all = append(all, fleet.Target{UID: uid(i), ID: fmt.Sprint(i), Idle: true})
	}
	return s.At(s.now).MayRemove(pool, fleet.Delete, all, limits)
}

func expect(t *testing.T, r *fleet.Refusal, property string) {
	t.Helper()
	switch {
	case r == nil && property != "":
		t.Errorf("allowed, want %s", property)
	case r != nil && r.Property != property:
		t.Errorf("refused by %+v, want %q", *r, property)
	}
}

// TestNodeObjectsThatVanishKeepTheirMachines deletes the Node objects of 95 of 100 machines that work: nothing of them goes in the first
// hour, and one an hour after it.
func TestNodeObjectsThatVanishKeepTheirMachines(t *testing.T) {
	s := farm(100)
	for i := range 95 {
		s.see(61, fleet.NodeGone{Group: pool, UID: uid(i), At: minute(61)})
	}
	for at := 62.0; at < 121; at++ {
		s.list(at, 100)
		if r := s.remove(0); r == nil {
			t.Fatalf("a machine goes at minute %v", at)
		}
	}
	s.list(122, 100)
	expect(t, s.remove(0, 1), "S-20")
	s.see(123, fleet.Acknowledged{Group: pool, At: minute(123)})
	s.list(124, 100)
	expect(t, s.remove(0), "")
	expect(t, s.remove(0, 1, 2, 3, 4, 5), "S-19")
}

// TestLossIsNotDilutedByPurchases has 12 of 20 nodes fall silent, and the group grow to 42.
func TestLossIsNotDilutedByPurchases(t *testing.T) {
	s := farm(20)
	for i := range 12 {
		s.node(61, i, false, true)
	}
	s.list(62, 42)
	for i := 20; i < 42; i++ {
		s.node(65, i, true, true)
	}
	s.list(100, 42)
	expect(t, s.remove(0), "S-43")
	s.list(130, 42)
	expect(t, s.remove(0), "")
	expect(t, s.remove(0, 1), "S-43")
}

// TestMinCountsReadyNodes has a min of four, two nodes Ready, and two that came seconds ago.
func TestMinCountsReadyNodes(t *testing.T) {
	s := farm(4)
	s.node(61, 0, true, false)
	s.node(61, 1, false, false)
	s.node(61, 2, false, false)
	s.list(62, 4)
	l := limits
	l.Min = 2
	target := []fleet.Target{{UID: uid(0), ID: "0", Idle: true}}
	expect(t, s.At(s.now).MayRemove(pool, fleet.Delete, target, l), "S-44")
	l.Min = 1
	expect(t, s.At(s.now).MayRemove(pool, fleet.Delete, target, l), "")
}

// TestIdleNodesGoAtOnce has 40 of 100 nodes end their work: they are free of the budget, and of the pace, for their work ended by itself.
func TestIdleNodesGoAtOnce(t *testing.T) {
	s := farm(100)
	var all []int
	for i := range 80 {
		s.node(61, i, true, false)
		all = append(all, i)
	}
	s.list(71, 100)
	expect(t, s.remove(all...), "")
}

// TestWorkThatIsTakenAwayTogetherIsPaced scales the Deployment of 60 nodes to nothing.
func TestWorkThatIsTakenAwayTogetherIsPaced(t *testing.T) {
	s := farm(60)
	s.taken(61, 61, true, between(0, 60)...)
	s.list(71, 60)
	var all []int
	for i := range 60 {
		all = append(all, i)
	}
	expect(t, s.remove(all...), "S-45")
	expect(t, s.remove(all[:30]...), "")
	var gone []fleet.UID
	for i := range 30 {
		gone = append(gone, uid(i))
	}
	s.see(71.1, fleet.Asked{Group: pool, At: s.now + 1, Verb: fleet.Delete, Machines: gone})
	s.list(73, 60, all[:30]...)
	expect(t, s.remove(30), "S-45")
	s.list(82, 60, all[:30]...)
	expect(t, s.remove(all[30:]...), "")
}

// taken shows nodes whose pods were taken away at a time.
func (s *story) taken(at, work float64, ready bool, machines ...int) {
	for _, i := range machines {
		s.see(at, fleet.NodeSeen{Group: pool, UID: uid(i), At: minute(at), Since: minute(at), Ready: ready, Idle: minute(work)})
	}
}

// deleted asks for machines to be deleted that lost their work at minute 61, and their nodes go.
func (s *story) deleted(at float64, machines ...int) {
	var gone []fleet.UID
	for _, i := range machines {
		gone = append(gone, uid(i))
	}
	s.see(at, fleet.Asked{Group: pool, At: s.now + 1, Verb: fleet.Delete, Machines: gone})
	s.taken(at+0.1, 61, false, machines...)
	for _, i := range machines {
		s.see(at+0.2, fleet.NodeGone{Group: pool, UID: uid(i), At: minute(at + 0.2)})
	}
}

// between are the numbers from one to below another.
func between(from, to int) (all []int) {
	for i := range to - from {
		all = append(all, from+i)
	}
	return all
}

// TestAnEarlierPaceIsOver takes the work of 15 of 20 nodes away; their machines go. An hour later there are 45 nodes, of which 40 lose
// theirs: half of the 45 may go.
func TestAnEarlierPaceIsOver(t *testing.T) {
	s := farm(20)
	s.taken(61, 61, true, between(0, 15)...)
	s.list(71, 20)
	s.deleted(71.1, between(0, 15)...)
	s.list(72, 60, between(0, 15)...)
	for i := 20; i < 60; i++ {
		s.node(73, i, true, true)
	}
	s.taken(120, 120, true, between(20, 60)...)
	s.list(130, 60, between(0, 15)...)
	expect(t, s.remove(between(20, 43)...), "S-45")
	expect(t, s.remove(between(20, 42)...), "")
}

// TestOfTwoPacesTheSlowerHolds takes the work of 25 of 40 nodes away, of which 20 go. An hour later 12 others lose theirs: half of the 20
// that are left may go.
func TestOfTwoPacesTheSlowerHolds(t *testing.T) {
	s := farm(40)
	s.taken(61, 61, true, between(0, 25)...)
	s.list(71, 40)
	s.deleted(71.1, between(0, 20)...)
	s.taken(120, 120, true, between(25, 37)...)
	s.list(130, 40, between(0, 20)...)
	expect(t, s.remove(between(25, 36)...), "S-45")
	expect(t, s.remove(between(25, 35)...), "")
}

// TestARecordKeepsWhatHappened hands a ledger with a loss, a growth and a deletion on to the next process.
func TestARecordKeepsWhatHappened(t *testing.T) {
	s := farm(20)
	for i := range 12 {
		s.node(61, i, false, true)
	}
	s.list(62, 20)
	s.see(63, fleet.Asked{Group: pool, At: minute(63), Verb: fleet.Grow, From: 20, To: 25})
	next := fleet.New(fleet.Usual(), minute(64))
	next, news, err := next.Merge(s.Record(minute(63.5)), minute(64))
	if err != nil || !news {
		t.Fatalf("merge: news %v, err %v", news, err)
	}
	if _, lost, of, holds := next.At(minute(64)).Latched(pool); !holds || lost != 12 || of != 20 {
		t.Errorf("the latch says %d of %d, holds %v", lost, of, holds)
	}
	if stay := next.At(minute(64)).Bounds(pool).Stay; stay != 25 {
		t.Errorf("floor %d, want 25", stay)
	}
	if _, again, _ := next.Merge(s.Record(minute(63.5)), minute(64)); again {
		t.Error("the same record is news twice")
	}
}

// TestAGroupIsOneInAnyLetterCase hands a loss on to a process that spells the group differently, before and after that has heard of it.
func TestAGroupIsOneInAnyLetterCase(t *testing.T) {
	s := farm(20)
	for i := range 12 {
		s.node(61, i, false, true)
	}
	s.list(62, 20)
	record := s.Record(minute(63.5))
	other := fleet.GroupID(strings.ToUpper(string(pool)))
	begun := fleet.New(fleet.Usual(), minute(64))
	for name, knows := range map[string]bool{"before": false, "after": true} {
		next := begun
		if knows {
			next = next.Observe(minute(64), fleet.Nodes{Group: other, At: minute(64)})
		}
		next, _, err := next.Merge(record, minute(64))
		if err != nil {
			t.Fatal(err)
		}
		next = next.Spelled(other)
		if _, lost, _, holds := next.At(minute(64)).Latched(other); !holds || lost != 12 {
			t.Errorf("%s: the latch says %d, holds %v", name, lost, holds)
		}
		if all := next.Groups(); len(all) != 1 || all[0] != other {
			t.Errorf("%s: the groups are %q", name, all)
		}
	}
	if all := begun.Spelled(other).Groups(); len(all) != 0 {
		t.Errorf("a name makes the groups %q", all)
	}
}

// TestANodeObjectGoesWhenItsMachineIsGone has the cloud say that a machine leaves: its Node object goes once a list lacks it and its
// kubelet is silent, whichever of its ids the ledger knows it under, and stays as long as another id is of a machine that is there.
func TestANodeObjectGoesWhenItsMachineIsGone(t *testing.T) {
	s := idle(2)
	may := func() *fleet.Refusal { return s.At(s.now).MayDeleteNode(pool, uid(0), uid(9)) }
	s.listed(62, 1, fleet.Deleting, fleet.Running)
	expect(t, may(), "S-14")
	s.list(63, 2, 0)
	if r := may(); r == nil || r.Code != reason.MachineLeaving {
		t.Errorf("while its node is Ready: %+v", r)
	}
	s.node(64, 0, false, false)
	s.list(65, 2, 0)
	expect(t, may(), "")
	s.node(66, 9, false, false)
	expect(t, may(), "S-14")
	expect(t, s.At(s.now).MayDeleteNode(pool, uid(8)), "S-14")
}

// TestADeletionThatFailsIsTakenBack has a deletion accepted, the machine listed as deleting and then lacked, and its operation fail.
func TestADeletionThatFailsIsTakenBack(t *testing.T) {
	s := farm(2)
	s.node(61, 0, false, false)
	s.see(62, fleet.Asked{Group: pool, At: minute(62), Verb: fleet.Delete, Machines: []fleet.UID{uid(0)}})
	s.see(62.1, fleet.Answered{Group: pool, Asked: minute(62), At: minute(62.1), Answer: fleet.Accepted})
	s.see(63, fleet.Listed{Group: pool, Asked: minute(63), Counted: true, Capacity: 1, Whole: true, Machines: []fleet.Sighted{
		{UID: uid(0), ID: "0", State: fleet.Deleting}, {UID: uid(1), ID: "1", State: fleet.Running},
	}})
	failed := fleet.Answered{Group: pool, Asked: minute(62), At: minute(65), Answer: fleet.Refused}
	if may := s.Observe(minute(65), failed).At(minute(65)).May(pool, uid(0)); !may.Has(fleet.Here) {
		t.Errorf("listed as deleting before its deletion failed: %04b", may)
	}
	s.list(64, 2, 0)
	expect(t, s.At(s.now).MayDeleteNode(pool, uid(0)), "")
	s.see(65, failed)
	expect(t, s.At(s.now).MayDeleteNode(pool, uid(0)), "S-14")
	s.list(66, 2)
	if may := s.At(s.now).May(pool, uid(0)); !may.Has(fleet.Here) {
		t.Errorf("listed after its deletion failed: %04b", may)
	}
	s.list(73, 2)
	if may := s.At(s.now).May(pool, uid(0)); may != fleet.Here {
		t.Errorf("listed a horizon after its deletion failed: %04b", may)
	}
}

// TestNothingGoesBeforeTheNodesAreListed reads the cloud alone.
func TestNothingGoesBeforeTheNodesAreListed(t *testing.T) {
	s := &story{Ledger: fleet.New(fleet.Usual(), minute(0))}
	s.list(0.1, 2)
	expect(t, s.remove(0), "S-20")
	expect(t, s.At(s.now).MayGrow(pool, 3, 1, limits), "S-20")
	s.see(0.2, fleet.Nodes{Group: pool, At: minute(0.2)})
	expect(t, s.At(s.now).MayGrow(pool, 3, 1, limits), "")
}

// TestOneLostNodeStopsNobody deletes one Node object of three, and then another.
func TestOneLostNodeStopsNobody(t *testing.T) {
	s := farm(3)
	s.node(61, 2, true, false)
	s.see(61, fleet.NodeGone{Group: pool, UID: uid(0), At: minute(61)})
	s.list(71, 3)
	expect(t, s.remove(2), "")
	s.see(72, fleet.NodeGone{Group: pool, UID: uid(1), At: minute(72)})
	s.list(73, 3)
	expect(t, s.remove(2), "S-20")
}
