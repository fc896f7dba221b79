package plan

import (
	"reflect"
	"time"

	"sluice.dev/sluice/reason"
)

// timer is since when a node could go without a break, as a memory says it.
type timer struct {
	read  uint64 // the memory: see [Planner.turnTimers]
	since time.Time
	known bool // to the memory
}

// turnTimers turns to the timers of the memory. As long as they are those of the last cycle, sights know what they read of them.
func (p *Planner) turnTimers(timers map[string]time.Time) {
	if p.timing == 0 || reflect.ValueOf(timers).UnsafePointer() != reflect.ValueOf(p.timers).UnsafePointer() {
		p.timing++
	}
	p.timers = timers // held, so that no other map can take its place in memory
}

// removableSince is since when the node could go without a break; false when it could not go in the last cycle.
func (d *decision) removableSince(st *nodeState) (time.Time, bool) {
	t := &st.timer
	if t.read != d.planner.timing {
		t.read = d.planner.timing
		t.since, t.known = d.m.Removable[st.Name()]
	}
	return t.since, t.known
}

// underuse is in what an underused node that could go is underused, and for how long it has been. Nodes of which the same is to be said share
// the words.
func (d *decision) underuse(st *nodeState, limit time.Duration) reason.Reason {
	words := underuse{percent(st.used), string(st.resource), percent(st.threshold), d.idleFor(st), limit}
	if d.underused.words != words { // nodes in the order in which they may go mostly have those of the one before
		said, ok := d.underuses[words]
		if !ok {
			said = reason.New(reason.NodeUnderused, reason.Ref{}, "used", words.used, "resource", words.resource, "threshold", words.threshold, "idle", words.idle, "limit", words.limit)
			d.underuses[words] = said
		}
		d.underused.words, d.underused.said = words, said
	}
	said := d.underused.said
	said.About = reason.Node(st.Name())
	return said
}

// underuse is what is said of an underused node.
type underuse struct {
	used, resource, threshold string
	idle, limit               time.Duration
}
