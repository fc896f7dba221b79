package place

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// Incoming is a group and its machines that are coming or being added.
//
//	number               machine                                                name
//	0 to expects-1       coming: what the cloud makes, or was asked for         comingName
//	expects to Opened-1  added by this cycle, or opened to try it               [NewName]
//	from expects on      late, if pods wait for it: see [Arrivals.PlaceOnLate]  comingName
//
// Package grow takes Opened back when it closes the last machines that it opened, as zones take turns by it.
type Incoming struct {
	*node.GroupFacts
	Coming    int                             // machines that are expected and have no Ready node yet
	Taken     *reason.Reason                  // which of these waits for the node of an earlier one of its name to go; nil when none does
	Late      []*cluster.Instance             // machines without a node that come late, if they come
	Templates map[string]*scheduling.Template // what machines are opened like, by zone, "" for a group that spans none; once one was
	Opened    int                             // machines that were opened: expected, added, and on trial; it names them and says whose turn it is
	expects   int                             // of these, those that are coming; see [comingName]
	Rotation  *rotation                       // of its zones, nil where it spans none
	awaited   reason.Reason                   // why pods have their place on a machine that is coming, once one has
	asks      reason.Reason                   // the same of one that the cloud was asked for
}

// expect counts machines that are expected and have no Ready node yet.
func (st *Incoming) expect(machines int) { st.Coming += machines }

// open counts a machine that is opened.
func (st *Incoming) open() { st.Opened++ }

// byHandle is groups by [scheduling.Handle] of their nodes.
type byHandle []*Incoming

// Of is the group of the node, nil when it is none of these.
func (b byHandle) Of(h scheduling.Handle) *Incoming {
	if int(h) >= len(b) {
		return nil
	}
	return b[h]
}

func (b *byHandle) Set(h scheduling.Handle, st *Incoming) {
	if more := int(h) + 1 - len(*b); more > 0 {
		*b = append(*b, make(byHandle, more)...)
	}
	(*b)[h] = st
}

// ZonesAfter are how many machines the group has in each zone when all that are opened are there, nil for a group that spans none.
// It goes into [action.SetCapacity], and from there into [memory.GroupMemory]: machines that come up in other zones are noticed by it.
func (st *Incoming) ZonesAfter() map[string]int {
	if st.Rotation == nil {
		return nil
	}
	return st.Rotation.after(st.Opened)
}

// NextZone is where the group's next machine comes up, "" for a group that spans no zones.
func (st *Incoming) NextZone() string {
	if st.Rotation == nil {
		return ""
	}
	return st.Rotation.At(st.Opened)
}

// Reaches is how many machines the group opens until n of them are in the zone: n for one that spans no zones.
// Of a group that spans zones it is [farthest] at most.
func (st *Incoming) Reaches(zone string, n int) int {
	if st.Rotation == nil {
		return n
	}
	return st.Rotation.until(st.Opened, zone, n)
}

// Node is a node such as a machine of the group becomes in that zone, "" for a group that spans none.
func (st *Incoming) Node(zone string) *corev1.Node {
	if zone == "" || st.Rotation == nil || !slices.Contains(st.Zones, st.Template.Labels[corev1.LabelTopologyZone]) { // nodes bear no zone, or not the cloud's
		return st.Template
	}
	n := st.Rotation.nodes[zone]
	if n == nil {
		n = cluster.InZone(st.Template, zone)
		st.Rotation.nodes[zone] = n
	}
	return n
}

// Sites are the zones in which machines of the group come up, in the order of their turns; one without a name for a group that spans none.
func (st *Incoming) Sites() []string {
	if st.Rotation == nil {
		return []string{""}
	}
	sites := slices.Clone(st.Rotation.Zones)
	slices.SortStableFunc(sites, func(a, b string) int { return st.Reaches(a, 1) - st.Reaches(b, 1) })
	return sites
}

// rotation is the order in which the machines of a group that spans zones come up in them: see [cluster.NextZone]. It says nothing but
// that, so that whoever takes back what was opened need not take back what was asked of it.
//
// Azure puts a new machine of such a group into the zone that has the fewest. Sluice cannot ask for a zone, so a machine for a pod in zone
// 2 may need another machine in zone 1 first (scenario zone-volume-takes-turns).
type rotation struct {
	Zones []string       // in which machines are expected to come up
	known []string       // zones of the machines that are opened first: those in flight that are listed, then parked ones, which a growth starts
	has   map[string]int // machines by zone: all whose zone is known
	turns []string       // zones of the machines that are opened after those, as far as somebody has asked
	count map[string]int // machines by zone with turns
	nodes map[string]*corev1.Node
}

// At is the zone of the machine of that number, counted from 0 in the order of opening.
func (r *rotation) At(n int) string {
	if n < len(r.known) {
		return r.known[n]
	}
	for n -= len(r.known); len(r.turns) <= n; {
		zone := cluster.NextZone(r.Zones, r.count)
		r.count[zone]++
		r.turns = append(r.turns, zone)
	}
	return r.turns[n]
}

// after is how many machines there are by zone when so many have been opened.
func (r *rotation) after(opened int) map[string]int {
	all := map[string]int{}
	for zone, n := range r.has {
		all[zone] = n
	}
	// The machines in known are counted in has already: they are listed or parked.
	for i := len(r.known); i < opened; i++ {
		all[r.At(i)]++
	}
	return all
}

// farthest is as far as one looks for the turn of a zone.
// A zone that is passed over has no turn: without a bound the search for it would not end.
const farthest = 1000

// until is how many machines have to be opened, after so many, until n of them are in the zone; [farthest] when it takes more or the zone
// is passed over.
func (r *rotation) until(opened int, zone string, n int) int {
	for i := range farthest {
		if n <= 0 {
			return i
		}
		if r.At(opened+i) == zone {
			n--
		}
	}
	return farthest
}

// comingName names one of the machines of a group that are coming. They are numbered from 0 on: when one of them has come, the last
// number is gone.
// The names go into the memory with the places on these machines: see [memory.Places]. Neither comingName nor [NewName] is a name that a
// node may have, as both have a colon.
func comingName(g cluster.GroupID, number int) string {
	return comingPrefix + string(g) + ":" + strconv.Itoa(number)
}

// comingPrefix begins the names of machines that are coming, as no node's name does.
const comingPrefix = "coming:"

// NewName names a machine that is being added.
func NewName(g cluster.GroupID, number int) string {
	return "new:" + string(g) + ":" + strconv.Itoa(number)
}
