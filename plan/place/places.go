package place

import (
	"slices"
	"strconv"
	"strings"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/scheduling"
)

// comingName names one of the machines of a group that are coming. They are numbered from 0 on: when one of them has come, the last
// number is gone.
func comingName(g cluster.GroupID, number int) string {
	return comingPrefix + string(g) + ":" + strconv.Itoa(number)
}

// comingPrefix begins the names of machines that are coming, as no node's name does.
const comingPrefix = "coming:"

// moveIn has what was meant for machines that are coming no longer follow them: each to a node of its group that is in no list of nodes yet
// and carries nothing but daemons, the youngest first.
func (d *Room) moveIn(names []string, on []scheduling.Handle) {
	homeless := map[cluster.GroupID][]int{}
	for i, name := range names {
		if rest, ok := strings.CutPrefix(name, comingPrefix); ok && on[i] < 0 {
			g := cluster.GroupID(rest[:max(0, strings.LastIndexByte(rest, ':'))])
			homeless[g] = append(homeless[g], i)
		}
	}
	if len(homeless) == 0 {
		return
	}
	known := make([]bool, d.Check.Size())
	for _, h := range on {
		if h >= 0 {
			known[h] = true
		}
	}
	empty := map[cluster.GroupID][]*cluster.Node{}
	for _, n := range d.Snapshot.Nodes {
		if homeless[n.Group] == nil {
			continue
		}
		if h, present := d.Check.Handle(n.Name()); (!present || !known[h]) && !slices.ContainsFunc(n.Pods, func(p *cluster.Pod) bool { return !p.Daemon() }) {
			empty[n.Group] = append(empty[n.Group], n)
		}
	}
	for g, nodes := range empty {
		slices.SortStableFunc(nodes, func(a, b *cluster.Node) int {
			return b.Object.CreationTimestamp.Compare(a.Object.CreationTimestamp.Time)
		})
		for k, i := range homeless[g] {
			if k == len(nodes) {
				break
			}
			if h, present := d.Check.Handle(nodes[k].Name()); present {
				on[i] = h
			}
		}
	}
}

// keepPlaces lets pods of these demands keep their places on nodes of the row. Of several demands of one class those that come later have what
// is left.
func (d *Room) keepPlaces(row *scheduling.Row, demands []*Demand, of func(b *berth) *[]scheduling.Seat, kept func(dm *Demand, h scheduling.Handle, n int)) {
	for _, dm := range demands {
		if dm.berth == nil {
			continue
		}
		own := of(dm.berth)
		if len(*own) == 0 || dm.Left() == 0 && !dm.berth.lodged {
			continue
		}
		seats := row.Keep(dm.Of, dm.Left(), *own)
		if len(seats) == len(*own) && &seats[0] == &(*own)[0] {
			*own = nil
		}
		for _, s := range seats {
			kept(dm, s.On, s.Pods)
		}
	}
}

// keeps says whether the demand's pods keep their places from cycle to cycle: those that are there and that no request holds room for.
func (dm *Demand) keeps() bool { return dm.Claim == nil && dm.Consumes == "" && !dm.Booked }

// RememberPlaces leaves the places of this cycle to the next one: on nodes that are there, machines that are coming, and those that are being
// added, which will be coming.
func (d *Room) RememberPlaces() {
	d.Memory.Places, d.recall.held = nil, held{}
	used := d.usedNodes()
	if len(used) == 0 {
		return
	}
	p := &memory.Places{Nodes: make([]string, len(used)), Of: make(map[cluster.Key][]int32, len(d.Demands))}
	index := make([]int32, d.Check.Size())
	for i, u := range used {
		p.Nodes[i], index[u.on] = u.name, int32(i)
	}
	seats := 0
	for _, dm := range d.Demands {
		if dm.keeps() {
			seats += len(dm.seats)
		}
	}
	arena := make([]int32, 0, 2*seats)
	for _, dm := range d.Demands {
		if !dm.keeps() || len(dm.seats) == 0 {
			continue
		}
		from := len(arena)
		for _, s := range dm.seats {
			arena = append(arena, index[s.On], int32(s.Pods))
		}
		pairs := arena[from:len(arena):len(arena)]
		if others := p.Of[dm.Of.Key]; others != nil {
			pairs = append(others, pairs...)
		}
		p.Of[dm.Of.Key] = pairs
	}
	d.Memory.Places = p
	d.recall.held = held{p, d.Check, handlesOf(used)}
}

// used is a node on which pods have places.
type used struct {
	on   scheduling.Handle
	name string
}

func handlesOf(all []used) []scheduling.Handle {
	handles := make([]scheduling.Handle, len(all))
	for i, u := range all {
		handles[i] = u.on
	}
	return handles
}

// usedNodes are those on which pods that keep their places have them, in the order of names. Machines that are being added are named as they
// will be called when they are coming.
func (d *Room) usedNodes() []used {
	var takes []bool // by handle; nil for none at all
	for _, dm := range d.Demands {
		if dm.keeps() {
			for _, s := range dm.seats {
				if takes == nil {
					takes = make([]bool, d.Check.Size())
				}
				takes[s.On] = true
			}
		}
	}
	if takes == nil {
		return nil
	}
	byName := func(a, b used) int { return strings.Compare(a.name, b.name) }
	var own, added []used
	renamed := d.added()
	for _, h := range d.Check.Handles() {
		if !takes[h] {
			continue
		}
		if name := renamed[h]; name != "" {
			added = append(added, used{h, name})
		} else {
			own = append(own, used{h, d.Check.Name(h)})
		}
	}
	slices.SortFunc(added, byName)
	return merged(own, added, byName)
}

// added are the machines that this cycle adds, with the names that they will have when they are coming.
func (d *Room) added() map[scheduling.Handle]string {
	names := map[scheduling.Handle]string{}
	for _, st := range d.groups {
		next := st.expects
		for number := st.expects; number < st.Opened; number++ {
			if h, stands := d.Check.Handle(NewName(st.ID, number)); stands {
				names[h] = comingName(st.ID, next)
				next++
			}
		}
	}
	return names
}

// merged is both lists in one; they are in that order, in which no two are equal. The second is the short one.
func merged[T any](long, short []T, order func(a, b T) int) []T {
	all := make([]T, 0, len(long)+len(short))
	for _, v := range short {
		i, _ := slices.BinarySearchFunc(long, v, order)
		all, long = append(append(all, long[:i]...), v), long[i:]
	}
	return append(all, long...)
}
