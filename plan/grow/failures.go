package grow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// Failures are what keeps groups from growing for a while. A growth that the cloud refuses is no matter of this file: package memory adds
// that back-off when the answer comes.
//
//	failure                                                    effect                            kept in
//	an accepted operation, or a machine, failed                back-off, longer each time        Backoff
//	the same, and the failure says how long to wait            back-off of that time             Backoff
//	a machine never joined, or its node was not Ready in time  back-off; counts for the breaker  Backoff, Breaker
//	the cloud takes a spot machine away                        its size rests in its zone        Backoff, or Astray of one zone
//	a machine came up in another zone than assumed             the zone is passed over           Astray
//	three machines run without a node                          no growth while they do           the ledger
type Failures struct {
	*Orders
	limits *Limits
}

// Notice takes in what failed since the last cycle. Spot sizes come first, since noticeFailures reads the back-offs that they cause. Zones
// may come last: a zone that is passed over does not block its group.
func (fl *Failures) Notice() {
	fl.restLostSizes()
	fl.noticeFailures()
	fl.noticeUnregistered()
}

// noticeFailures turns what failed after the cloud had accepted a growth into back-offs, and finds for every group why it may not grow.
// Each failure counts once (S-33): m.Noticed is the time of the last one that counted, and none that is older or as old counts again.
func (fl *Failures) noticeFailures() {
	if fl.Memory.Since.IsZero() {
		fl.Memory.Since = fl.Now
	}
	fl.LearnBoots()
	fl.NoticeLost()
	fl.NoticeRestarts()
	late := fl.unready()
	for _, g := range fl.Snapshot.Groups {
		m, failures := fl.Memory.Groups[g.ID], 0
		unjoined, unready := fl.Unjoined(fl.Groups[g.ID].GroupFacts), late[g.ID]
		if b := fl.turnBreaker(m.Breaker, fl.Groups[g.ID], unjoined, unready); !b.Equal(m.Breaker) {
			m.Breaker = b
			fl.Remember(g.ID, m)
		}
		for _, f := range fl.failuresOf(g, unjoined, unready) {
			if !f.At.After(m.Noticed) {
				continue
			}
			m.Noticed = f.At
			failures++
			// The back-off begins now. A failure that is noticed late would otherwise rest for less than its time.
			f.At = fl.Now
			if f.Rest > 0 {
				m.Backoff = m.Backoff.Brief(f)
				continue
			}
			// Machines that failed take no part of a quota, so they do not count as machines that the group has.
			m.Backoff = m.Backoff.Failed(f, g.Capacity-len(fl.Groups[g.ID].Faulty), max(m.Capacity, g.Capacity), fl.Policy)
		}
		if failures > 0 {
			fl.Remember(g.ID, m)
		}
		fl.Groups[g.ID].Blocked = fl.blockedBy(g, m)
	}
}

// failuresOf are the failures of a group's operations and machines, each with the time at which it happened:
//
//	failure                               its time
//	of an operation or a machine          as the cloud says
//	a machine that never joined           the end of --max-node-provision-time
//	a node that is not Ready in its time  the end of --max-node-startup-time
//
// A machine that is lost is none of them: it was a node, and says nothing of the next ones.
func (fl *Failures) failuresOf(g *cluster.Group, unjoined []*cluster.Instance, unready []*cluster.Node) []cluster.Failure {
	var fs []cluster.Failure
	if g.Failure != nil {
		fs = append(fs, *g.Failure)
	}
	st := fl.Groups[g.ID]
	for _, in := range st.Faulty {
		if in.Failure != nil {
			fs = append(fs, *in.Failure)
		}
	}
	for _, in := range unjoined {
		why := fl.NeverJoined(reason.Instance(string(g.ID), string(in.ID)), in)
		fs = append(fs, cluster.Failure{At: fl.Waits(in).Add(fl.Policy.Growth.Node.ProvisionTime), Code: "NeverJoined", Message: why.Sentence()})
	}
	for _, n := range unready {
		why := reason.New(reason.NodeNeverReady, reason.Node(n.Name()), "node", n.Name(), "age", fl.Now.Sub(n.Object.CreationTimestamp.Time).Truncate(time.Second), "limit", fl.Policy.Growth.Node.StartupTime)
		fs = append(fs, cluster.Failure{At: fl.Policy.Growth.Due(n.Object), Code: string(reason.NodeNeverReady), Message: why.Sentence()})
	}
	return fs
}

// blockedBy says why a group may not grow at all, nil when it may. The first reason that holds is told. What is not known of the group
// comes first, since the others rest on it; with the first four nothing at all may be written to the group ([Order.BlockedRead]).
//
//	reason                            ends when
//	GroupAsked                        the cloud answers a growth that was asked for
//	GroupUnreadable, GroupIncomplete  a read of the group is whole again
//	GroupContradicted                 the list has the Ready node that it lacks (S-02)
//	GroupDeleted                      the cloud has the scale set again
//	paused                            the person's pause ends
//	servers                           never by itself: sluice does not touch control planes (S-17)
//	GroupBackoff                      the time is over; a quota that leaves some machines does not block, see [bounds]
//	GroupStrays                       fewer than three machines run without a node (S-35)
//	GroupNoTemplate                   the size is known, or a node teaches what machines are like (scenario unknown-size)
func (fl *Failures) blockedBy(g *cluster.Group, m memory.GroupMemory) *reason.Reason {
	about := reason.Group(string(g.ID))
	because := func(r reason.Reason) *reason.Reason { return &r }
	proof, unregistered := g.Contradicts(fl.Memo.Doubtful), fl.unregistered(fl.Groups[g.ID])
	switch {
	case g.AwaitsAnswer():
		return because(reason.New(reason.GroupAsked, about, "capacity", g.Asked))
	case g.Problem != "":
		return because(reason.New(reason.GroupUnreadable, about, readAgain(g, "message", g.Problem)...))
	case !fl.Groups[g.ID].Usable():
		return because(reason.New(reason.GroupIncomplete, about, readAgain(g)...))
	case proof != nil:
		return because(reason.New(reason.GroupContradicted, about, "node", proof.Name()))
	case !g.Deleted.IsZero():
		return because(reason.New(reason.GroupDeleted, about, "since", g.Deleted.Format(time.RFC3339)))
	case fl.Groups[g.ID].Paused != nil:
		return fl.Groups[g.ID].Paused
	case fl.Groups[g.ID].Servers:
		return because(fl.Controlled(g.ID))
	case m.Backoff.Until.After(fl.Now) && m.Backoff.Ceiling <= fl.Believed(fl.Groups[g.ID].GroupFacts):
		return because(fl.limits.backingOff(g.ID, m.Backoff))
	case unregistered != nil:
		return unregistered
	case g.Template == nil:
		return because(reason.New(reason.GroupNoTemplate, about, "size", g.Size, "remedy", g.Remedy))
	}
	return nil
}

// readAgain are the facts, and when the group is read again where that is known.
func readAgain(g *cluster.Group, facts ...any) []any {
	if g.Again.IsZero() {
		return append(facts, "next", "")
	}
	until := g.Again.Format(time.RFC3339)
	return append(facts, "until", until, "next", "; it is read again at "+until)
}

// spotTaken is the code of the back-off of a size in a zone where the cloud takes spot machines away.
const spotTaken = "SpotTaken"

// restLostSizes lets the size of a spot machine that the cloud takes away rest in its zone: what is asked for there next would be taken
// away too, or not come at all. Each machine counts once. It does not matter whether an agent told of it or it was seen to leave (scenario
// spot-loss-unannounced).
//
//	the machine      evidence                                                            what happens
//	counts           takenAway says so, and Memory.Taken lacks it                        restSize; its UID is kept in Memory.Taken
//	has counted      Memory.Taken has it, and its node is still watched                  nothing
//	stays after all  Memory.Taken has it, it runs, and its node is not watched any more  wakeSize (scenario spot-notice-taken-back)
//	is gone          Memory.Taken has it, and it does not run                            its UID is forgotten; the rest goes on
func (fl *Failures) restLostSizes() {
	var uids []string
	for _, n := range fl.Memo.Spot {
		uid, zone, taken := fl.takenAway(n)
		known := slices.Contains(fl.Memory.Taken, uid)
		if uid == "" || !taken && !known {
			continue
		}
		if uids = append(uids, uid); !known {
			fl.restSize(fl.Groups[n.Group].Size, zone)
		}
	}
	slices.Sort(uids)
	if uids = slices.Compact(uids); slices.Equal(uids, fl.Memory.Taken) {
		return
	}
	for _, g := range fl.Snapshot.Groups {
		for _, in := range g.Instances {
			if g.Spot && in.State == cluster.StateRunning && slices.Contains(fl.Memory.Taken, in.UID) && !slices.Contains(uids, in.UID) {
				fl.wakeSize(g.Size, in.Zone)
			}
		}
	}
	fl.Memory.Taken = uids
}

// wakeSize ends the rest of spot groups of the size in the zone, unless another machine of theirs is taken away. Back-offs for other
// reasons stay.
func (fl *Failures) wakeSize(size, zone string) {
	for _, n := range fl.Memo.Spot {
		if _, at, taken := fl.takenAway(n); taken && at == zone && strings.EqualFold(fl.Groups[n.Group].Size, size) {
			return
		}
	}
	for _, g := range fl.Snapshot.Groups {
		if m := fl.Memory.Groups[g.ID]; sameSpot(g, size, zone) {
			if m.Backoff.Code == spotTaken {
				m.Backoff = memory.Backoff{}
			}
			if m.Astray[zone].Code == spotTaken {
				m.Astray = maps.Clone(m.Astray)
				delete(m.Astray, zone)
			}
			fl.Remember(g.ID, m)
		}
	}
}

// sameSpot says whether the group is one of spot machines of the size, in the zone.
func sameSpot(g *cluster.Group, size, zone string) bool {
	return g.Spot && strings.EqualFold(g.Size, size) && (zone == "" || len(g.Zones) == 0 || slices.Contains(g.Zones, zone))
}

// takenAway says which machine the node is or was, in which zone, and whether the cloud takes it away:
//
//	the machine                       taken away when
//	is in no list                     the list is whole, the node is not Ready, and no listed machine could be it
//	is being deleted or switched off  sluice has not cordoned its node
//	is listed and runs                the cloud announces a Preempt
//
// Who else made it leave does not show, so a person who deletes it counts as the cloud.
func (fl *Failures) takenAway(n *cluster.Node) (uid, zone string, taken bool) {
	in := n.Instance
	if in == nil {
		g := fl.Groups[n.Group]
		gone := len(n.Suspects) == 0 && !cluster.Ready(n.Object) && g.Usable() && g.Standing() == g.Capacity
		return n.Was().UID, n.Object.Labels[corev1.LabelTopologyZone], gone
	}
	if in.State == cluster.StateDeleting || in.Stopped() {
		_, leaves := cluster.RemovalOf(n.Object)
		return in.UID, in.Zone, !leaves
	}
	notice, _ := cluster.NoticeOf(n.Object)
	return in.UID, in.Zone, notice.Kind == "Preempt"
}

// restSize lets all spot groups of the size rest in the zone:
//
//	group                                      what rests  why
//	spans zones                                the zone    its next machine comes up in another one (scenario spot-loss-other-zone)
//	has one zone, and another group may grow   the group   that group serves the pods (scenario spot-loss-rests)
//	has one zone, and no other group may grow  nothing     pods would have nowhere to go
//
// Another group is one that is not of these, can be read, is below its max, and does not rest.
func (fl *Failures) restSize(size, zone string) {
	f := cluster.Failure{At: fl.Now, Code: spotTaken, Message: fmt.Sprintf("the cloud takes spot machines of size %s away", size)}
	if zone != "" && zone != "0" { // which is what machines outside of all zones say
		f.Message += " in zone " + zone
	}
	same := func(g *cluster.Group) bool { return sameSpot(g, size, zone) }
	instead := slices.ContainsFunc(fl.Snapshot.Groups, func(g *cluster.Group) bool {
		return !same(g) && g.Template != nil && g.Usable() && g.Capacity < g.Max && !fl.Memory.Groups[g.ID].Backoff.Until.After(fl.Now)
	})
	for _, g := range fl.Snapshot.Groups {
		m := fl.Memory.Groups[g.ID]
		switch {
		case !same(g):
			continue
		case len(g.Zones) > 1:
			m.Astray = memory.With(m.Astray, zone, m.Astray[zone].Failed(f, 0, 0, fl.Policy))
		case instead:
			m.Backoff = m.Backoff.Failed(f, g.Capacity, max(m.Capacity, g.Capacity), fl.Policy)
		default:
			continue
		}
		fl.Remember(g.ID, m)
	}
}

// noticeUnregistered finds out where the machines came up that groups over several zones were asked for. A zone that has fewer than was
// assumed, while another has more, is passed over for a while. The cloud had its reasons, and asking again at once would buy another
// machine elsewhere (S-31, scenario zone-deviates).
//
//	case                                               what happens
//	nothing is awaited                                 nothing
//	the list is not usable, or older than the growth   it waits for a newer list
//	a machine has no zone yet, or the list lacks some  it waits for the others
//	else                                               each zone that got fewer is passed over, and nothing is awaited any more
func (fl *Failures) noticeUnregistered() {
	for _, g := range fl.Snapshot.Groups {
		st, m := fl.Groups[g.ID], fl.Memory.Groups[g.ID]
		if m.Awaited == nil || !st.Usable() || m.Requested.After(g.Read.At) {
			continue
		}
		has := g.InZones()
		if has[""] > 0 || g.Capacity > st.Standing() {
			continue
		}
		for _, zone := range astray(m.Awaited, has) {
			f := cluster.Failure{At: fl.Now, Code: "OtherZone", Message: fmt.Sprintf("a machine that was to come up in %s came up elsewhere", zone)}
			m.Astray = memory.With(m.Astray, zone, m.Astray[zone].Failed(f, 0, 0, fl.Policy))
		}
		m.Awaited = nil
		fl.Remember(g.ID, m)
	}
}

// astray are the zones that have fewer machines than was assumed. There are none when no other zone has more: then machines have left in
// the meantime, and the cloud has put none elsewhere.
func astray(awaited, has map[string]int) []string {
	more := false
	for zone, n := range has {
		more = more || n > awaited[zone]
	}
	var less []string
	for _, zone := range slices.Sorted(maps.Keys(awaited)) {
		if more && has[zone] < awaited[zone] {
			less = append(less, zone)
		}
	}
	return less
}

// PassedZones are the group's zones that are passed over, with the reason of each.
func (fl *Failures) PassedZones(st *Order) map[string]reason.Reason {
	passed := map[string]reason.Reason{}
	if st.Rotation == nil {
		return nil
	}
	for _, zone := range st.Zones {
		if !slices.Contains(st.Rotation.Zones, zone) {
			rest, why := fl.Memory.Groups[st.ID].Astray[zone], "a machine that was to come up there came up elsewhere"
			if rest.Code == spotTaken {
				why = rest.Message
			}
			passed[zone] = reason.New(reason.ZonePassedOver, reason.Group(string(st.ID)), "zone", zone, "until", rest.Until.Format(time.RFC3339), "why", why)
		}
	}
	return passed
}

// turnsOf is how the zones of a group take turns from now on, in one word: "" for a group that spans none. [Misses] compares it from cycle
// to cycle, so it changes whenever a zone's turn or the end of a pause does.
func (fl *Failures) turnsOf(st *Order) string {
	if st.Rotation == nil {
		return ""
	}
	var b strings.Builder
	for _, zone := range st.Rotation.Zones {
		fmt.Fprintf(&b, "%s %d ", zone, st.Reaches(zone, 1))
	}
	passed := fl.PassedZones(st)
	for _, zone := range slices.Sorted(maps.Keys(passed)) {
		fmt.Fprintf(&b, "%s %s ", zone, passed[zone].Facts["until"])
	}
	return b.String()
}

// passesOver says that a machine of the group would take the pod in a zone that is passed over, nil when none would.
func (fl *Failures) passesOver(st *Order, p *cluster.Pod) *reason.Reason {
	passed := fl.PassedZones(st)
	for _, zone := range slices.Sorted(maps.Keys(passed)) {
		fits := false
		fl.Machines.OnEmpty(st.Incoming, zone, func(h scheduling.Handle) { fits = fl.Check.Room(p.Class, h) > 0 })
		if fits {
			why := passed[zone]
			return &why
		}
	}
	return nil
}

// Failing is how many nodes a group has of which none is Ready, 0 when one is. Such a group comes last: another machine of it would hardly
// fare better (scenario group-all-not-ready). Nodes do not count that start, nor those of machines that leave, are switched off, or were
// started again.
func (fl *Failures) Failing(st *Order) (nodes int) {
	for _, in := range st.Instances {
		n := fl.Snapshot.Node(in.Node)
		switch {
		case n == nil || in.Stopped() || in.State != cluster.StateRunning || slices.Contains(st.Restarted, n):
		case cluster.Ready(n.Object):
			return 0
		case !fl.Starting(n):
			nodes++
		}
	}
	return nodes
}
