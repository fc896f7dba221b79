package grow

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// headroom is the room that a group keeps free, and what of it is there once the pods of this cycle have their places. Keep makes it anew
// in each round of [Rounds]. Only one of machines and milli is above 0.
//
//	field                   written by
//	words, machines, milli  Keep, from the operator's setting
//	empty, free             gain and Lose; what there is, with what this cycle adds
//	leaves                  countHeadroom; has no machine that is coming or being added
//	cordoned                countHeadroom
type headroom struct {
	words    string // as the operator says it
	machines int    // that are to carry nothing but daemons
	milli    int64  // thousandths of cores that are to be free, wherever they are

	empty int   // machines that carry nothing but daemons, those that are coming included
	free  int64 // thousandths of cores

	leaves   map[string]space // of the group's nodes that count, what of the headroom leaves with them, by name
	cordoned []spare          // cordoned nodes that could be room again
}

// space is what one machine has for pods. used is what its pods request: when the machine goes, they take as much of the free room
// elsewhere.
type space struct {
	empty bool
	free  int64 // thousandths of cores
	used  int64 // of what is not free, what leaves with it: its pods take as much of the free room elsewhere
}

// spare is a cordoned node.
type spare struct {
	node  string
	since time.Time
	space
}

// Headrooms is the room that groups keep free.
type Headrooms struct {
	*Orders
	limits    *Limits
	additions *Additions
}

// Keep takes back cordoned nodes and then adds machines, until each group has the room free that the operator wants kept (scenarios
// headroom-machines and headroom-cores). It comes after pods and buffers have their places, so that it counts what they leave.
func (hr *Headrooms) Keep() {
	some := false
	for _, g := range hr.Snapshot.Groups {
		if machines, cores := hr.Policy.Headroom(g); machines > 0 || cores > 0 {
			h := cluster.Headroom{Machines: machines, Cores: cores}
			hr.Groups[g.ID].Headroom = &headroom{words: h.String(), machines: machines, milli: 1000 * cores, leaves: map[string]space{}}
			some = true
		}
	}
	if !some {
		return
	}
	hr.countHeadroom()
	for _, g := range hr.Snapshot.Groups {
		if st := hr.Groups[g.ID]; st.Headroom != nil {
			hr.takeBack(st)
			hr.fillHeadroom(st)
		}
	}
}

// countHeadroom counts what is free on each machine of a group with headroom:
//
//	machine                                                    counts as
//	coming, or being added                                     free room
//	its node is Ready or arriving, and nobody has cordoned it  free room, which leaves with the node
//	cordoned by sluice, and some pod takes it back             the same
//	cordoned by sluice, Ready, and its machine runs            a spare, for takeBack
//	cordoned by a person, silent, or its machine leaves        nothing: new pods cannot go there
func (hr *Headrooms) countHeadroom() {
	for _, h := range hr.Check.Handles() {
		name := hr.Check.Name(h)
		if st := hr.Opened.Of(h); st != nil {
			if own := hr.Listed[st.At].Headroom; own != nil {
				own.gain(hr.space(h))
			}
			continue
		}
		n := hr.Snapshot.Node(name)
		st := hr.Groups[n.Group]
		if st == nil || st.Headroom == nil || n.Instance == nil || !n.Instance.State.Expected() || !cluster.Ready(n.Object) && !hr.Arrivals.Arriving(n) {
			continue
		}
		rescued := hr.TakenBack(name)
		removal, leaves := cluster.RemovalOf(n.Object)
		switch {
		case leaves && !rescued:
			if n.Instance.State == cluster.StateRunning && cluster.Ready(n.Object) {
				st.Headroom.cordoned = append(st.Headroom.cordoned, spare{name, removal.Since, hr.space(h)})
			}
		case !n.Object.Spec.Unschedulable || rescued:
			own := hr.space(h)
			st.Headroom.gain(own)
			st.Headroom.leaves[name] = own
		}
	}
}

// space is what the machine has, with the pods on it that this cycle has placed there.
func (hr *Headrooms) space(h scheduling.Handle) space {
	s := space{empty: true, free: hr.freeMilli(h)}
	for _, p := range hr.Check.Pods(hr.Check.Name(h)) {
		if p.Daemon() || p.Overstayed(hr.Now) {
			continue
		}
		s.empty = false
		if needs := hr.Check.Needs(p.Class); len(needs) > dimMilli {
			s.used += needs[dimMilli]
		}
	}
	return s
}

// dimMilli is the checker's dimension of thousandths of cores.
const dimMilli = 1

func (hr *Headrooms) freeMilli(h scheduling.Handle) int64 {
	if free := hr.Check.Free(h); len(free) > dimMilli {
		return max(0, free[dimMilli])
	}
	return 0
}

// takeBack takes back cordoned nodes that the headroom lacks, before a machine is bought. The node that was cordoned last comes first: it
// has lost least. hr.Spared makes package remove uncordon it.
func (hr *Headrooms) takeBack(st *Order) {
	own := st.Headroom
	slices.SortStableFunc(own.cordoned, func(a, b spare) int {
		return cmp.Or(b.since.Compare(a.since), cmp.Compare(a.node, b.node))
	})
	for _, s := range own.cordoned {
		if !(own.empty < own.machines && s.empty || own.free < own.milli && s.free > 0) {
			continue
		}
		hr.Spared[s.node] = own.needs(s.node)
		own.gain(s.space)
	}
}

// fillHeadroom adds the machines that the headroom still lacks. For cores it adds as many as have that much free when they are empty; one
// of the next zone stands for all.
//
//	case                    what happens
//	nothing lacks           nothing
//	the group may not grow  HeadroomShort; the verdict of the group has the other reason
//	limits let it add some  these, and HeadroomShort with the limit
//	else                    all
func (hr *Headrooms) fillHeadroom(st *Order) {
	own := st.Headroom
	if own.empty >= own.machines && own.free >= own.milli {
		return
	}
	about := reason.Group(string(st.ID))
	lacks := reason.New(reason.HeadroomShort, about, "headroom", own.words, "free", own.has())
	if st.Blocked != nil {
		st.lacks(lacks) // the group's verdict says by what
		return
	}
	var each int64
	hr.Machines.OnEmpty(st.Incoming, st.NextZone(), func(h scheduling.Handle) { each = hr.freeMilli(h) })
	machines := own.machines - own.empty
	if own.milli > 0 && each > 0 {
		machines = int((own.milli - own.free + each - 1) / each)
	}
	n, limit := hr.limits.asFarAs(st, machines)
	if n > 0 {
		from := hr.Believed(st.GroupFacts) + st.Adding
		hr.additions.Adopt(st, n)
		st.Grows(reason.New(reason.HeadroomKept, about, "from", from, "to", from+n, "headroom", own.words))
		for range n {
			own.gain(space{empty: true, free: each})
		}
	}
	if limit != nil {
		st.lacks(lacks, *limit)
	}
}

func (own *headroom) gain(s space) {
	if s.empty {
		own.empty++
	}
	own.free += s.free
}

// Lose counts a node that is cordoned: its free room goes, and its pods take room elsewhere. Package remove calls it before it looks at the
// next candidate, so that several nodes do not leave on the same free room.
func (own *headroom) Lose(node string) {
	if own == nil {
		return
	}
	s, counts := own.leaves[node]
	if !counts {
		return
	}
	if s.empty {
		own.empty--
	}
	own.free -= s.free + s.used
}

// Holds says why the node has to stay for the headroom's sake. It is nil where the node is no part of the headroom, and where enough is
// left without it.
func (own *headroom) Holds(node string) *reason.Reason {
	if own == nil {
		return nil
	}
	s, counts := own.leaves[node]
	if counts && (s.empty && own.machines > 0 && own.empty <= own.machines || own.milli > 0 && own.free-s.free-s.used < own.milli) {
		why := own.needs(node)
		return &why
	}
	return nil
}

// needs is the reason to keep a node.
func (own *headroom) needs(node string) reason.Reason {
	return reason.New(reason.NodeHeadroom, reason.Node(node), "headroom", own.words, "free", own.has())
}

// has is what is free in the unit of the setting: machines or cores.
func (own *headroom) has() string {
	if own.machines > 0 {
		return strconv.Itoa(own.empty)
	}
	return strconv.FormatFloat(float64(own.free)/1000, 'f', -1, 64)
}
