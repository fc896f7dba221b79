package fleet_test

import (
	"fmt"
	"slices"
	"testing"

	"sluice.dev/sluice/fleet"
)

const (
	manyGroups = 10
	perGroup   = 500
)

// manyUID is a vmId.
func manyUID(g, i int) fleet.UID {
	return fleet.UID(fmt.Sprintf("%08x-%04x-4000-8000-%012x", g*7919, i, i*104729))
}

func manyGroup(g int) fleet.GroupID { return fleet.GroupID(fmt.Sprintf("pool-%d", g)) }

// many is a ledger of 5,000 machines in ten groups, listed minute by minute, whose nodes are Ready where ready says so, and the last lists.
func many(ready bool, state fleet.State) (l fleet.Ledger, lists []fleet.Observation, ids [][]fleet.Target) {
	l = fleet.New(fleet.Usual(), minute(0))
	for g := range manyGroups {
		o := fleet.Listed{Group: manyGroup(g), Asked: minute(1), Counted: true, Capacity: perGroup, Whole: true}
		nodes := fleet.Nodes{Group: manyGroup(g), At: minute(2)}
		var targets []fleet.Target
		for i := range perGroup {
			uid, id := manyUID(g, i), fmt.Sprint(i)
			o.Machines = append(o.Machines, fleet.Sighted{UID: uid, ID: id, State: state, Created: minute(0.5) - fleet.Instant(1000*i)})
			targets = append(targets, fleet.Target{UID: uid, ID: id, Idle: true})
			if ready {
				nodes.Seen = append(nodes.Seen, fleet.NodeSeen{Group: manyGroup(g), UID: uid, At: minute(2), Ready: true, Since: minute(1.5), Idle: minute(2), Ended: true})
			}
		}
		l = l.Observe(minute(3), o, nodes)
		o.Asked = minute(90)
		lists, ids = append(lists, o), append(ids, targets)
	}
	return l.Observe(minute(90), lists...), lists, ids
}

// again are the lists a minute later.
func again(lists []fleet.Observation, at float64) (all []fleet.Observation) {
	for _, o := range lists {
		l := o.(fleet.Listed)
		l.Asked = minute(at)
		all = append(all, l)
	}
	return all
}

// BenchmarkCycle takes in quiet lists of 5,000 machines, and asks of each whether it may go.
func BenchmarkCycle(b *testing.B) {
	l, lists, ids := many(true, fleet.Running)
	next := again(lists, 91)
	for b.Loop() {
		v := l.Observe(minute(91), next...).At(minute(91))
		for g, targets := range ids {
			for i := range targets {
				if r := v.MayRemove(manyGroup(g), fleet.Delete, targets[i:i+1], limits); r != nil {
					b.Fatalf("%+v", *r)
				}
			}
		}
	}
}

// BenchmarkOneNode takes in one node's change among 5,000.
func BenchmarkOneNode(b *testing.B) {
	l, _, ids := many(true, fleet.Running)
	o := fleet.NodeSeen{Group: manyGroup(3), UID: ids[3][7].UID, At: minute(91), Ready: true, Since: minute(1.5), Work: true}
	for b.Loop() {
		l.Observe(minute(91), o)
	}
}

// BenchmarkIdleTogether counts a group of 5,000 whose work all left within the window.
func BenchmarkIdleTogether(b *testing.B) {
	l := fleet.New(fleet.Usual(), minute(0))
	o := fleet.Listed{Group: pool, Asked: minute(1), Counted: true, Capacity: 5000, Whole: true}
	nodes := fleet.Nodes{Group: pool, At: minute(90)}
	for i := range 5000 {
		o.Machines = append(o.Machines, fleet.Sighted{UID: manyUID(0, i), ID: fmt.Sprint(i), State: fleet.Running, Created: minute(0.5)})
		nodes.Seen = append(nodes.Seen, fleet.NodeSeen{Group: pool, UID: manyUID(0, i), At: minute(90), Ready: true, Since: minute(1.5), Idle: minute(90) - fleet.Instant(i)})
	}
	l = l.Observe(minute(90), o, nodes)
	for b.Loop() {
		l.At(minute(91)).Bounds(pool)
	}
}

// worst are the states in which a record has the most: each machine is lost, parked or coming, and each was asked to go.
func worst() map[string]fleet.Ledger {
	all := map[string]fleet.Ledger{}
	lost, _, ids := many(true, fleet.Running)
	parked := lost
	for g := range manyGroups {
		gone := fleet.Nodes{Group: manyGroup(g), At: minute(91)}
		uids := []fleet.UID{}
		off := fleet.Listed{Group: manyGroup(g), Asked: minute(94), Counted: true, Capacity: perGroup, Whole: true}
		for i, t := range ids[g] {
			uids = append(uids, t.UID)
			gone.Seen = append(gone.Seen, fleet.NodeSeen{Group: manyGroup(g), UID: t.UID, At: minute(91), Since: minute(90.5) - fleet.Instant(37*i)})
			off.Machines = append(off.Machines, fleet.Sighted{UID: t.UID, ID: t.ID, State: fleet.Off, Created: minute(0.5)})
		}
		lost = lost.Observe(minute(91), gone)
		at := minute(92) + fleet.Instant(g)
		parked = parked.Observe(at, fleet.Asked{Group: manyGroup(g), At: at, Verb: fleet.Park, Machines: uids, Charge: uids}, gone, off)
	}
	coming, _, _ := many(false, fleet.Creating)
	all["lost"], all["parked"], all["coming"] = lost, parked, coming
	return all
}

// TestRecordIsSmall holds that a record of 5,000 machines fits into a ConfigMap several times over.
func TestRecordIsSmall(t *testing.T) {
	all := worst()
	calm, _, _ := many(true, fleet.Running)
	all["calm"] = calm
	for name, l := range all {
		size := len(l.Record(minute(95)))
		t.Logf("%s: %d bytes", name, size)
		if most := map[bool]int{false: 200_000, true: 1_000}[name == "calm"]; size > most {
			t.Errorf("%s: %d bytes, of %d", name, size, most)
		}
	}
}

// BenchmarkRecord writes the record of 5,000 machines of which it has something to say, and merges it into a new ledger.
func BenchmarkRecord(b *testing.B) {
	all := worst()
	names := []string{}
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		l := all[name]
		b.Run("write/"+name, func(b *testing.B) {
			for b.Loop() {
				l.Record(minute(95))
			}
		})
		record := l.Record(minute(95))
		b.Run("merge/"+name, func(b *testing.B) {
			b.ReportMetric(float64(len(record)), "bytes")
			for b.Loop() {
				if _, _, err := fleet.New(fleet.Usual(), minute(96)).Merge(record, minute(96)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	read, _, _ := many(false, fleet.Creating)
	record := all["coming"].Record(minute(95))
	b.Run("merge/again", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := read.Merge(record, minute(96)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
