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

// NoticeFailures turns what the cloud reported after it had accepted a growth into back-offs, once for each failure (S-33), and
// finds for every group why it may not grow.
func (d *Growth) NoticeFailures() {
	if d.Memory.Since.IsZero() {
		d.Memory.Since = d.Now
	}
	d.LearnBoots()
	d.NoticeLost()
	d.NoticeRestarts()
	late := d.unready()
	for _, g := range d.Snapshot.Groups {
		m, failures := d.Memory.Groups[g.ID], 0
		unjoined, unready := d.Unjoined(d.Groups[g.ID].GroupFacts), late[g.ID]
		if b := d.turnBreaker(m.Breaker, d.Groups[g.ID], unjoined, unready); !b.Equal(m.Breaker) {
			m.Breaker = b
			d.Remember(g.ID, m)
		}
		for _, f := range d.failuresOf(g, unjoined, unready) {
			if !f.At.After(m.Noticed) {
				continue
			}
			m.Noticed = f.At
			failures++
			f.At = d.Now
			if f.Rest > 0 {
				m.Backoff = m.Backoff.Brief(f)
				continue
			}
			m.Backoff = m.Backoff.Failed(f, g.Capacity-len(d.Groups[g.ID].Faulty), max(m.Capacity, g.Capacity), d.Policy)
		}
		if failures > 0 {
			d.Remember(g.ID, m)
		}
		d.Groups[g.ID].Blocked = d.blockedBy(g, m)
	}
}

// failuresOf are the failures of a group's operations and machines. A machine that never joined, or whose node is not Ready, failed when its time ran out;
// one that is lost says nothing of the next ones.
func (d *Growth) failuresOf(g *cluster.Group, unjoined []*cluster.Instance, unready []*cluster.Node) []cluster.Failure {
	var fs []cluster.Failure
	if g.Failure != nil {
		fs = append(fs, *g.Failure)
	}
	st := d.Groups[g.ID]
	for _, in := range st.Faulty {
		if in.Failure != nil {
			fs = append(fs, *in.Failure)
		}
	}
	for _, in := range unjoined {
		why := d.NeverJoined(reason.Instance(string(g.ID), string(in.ID)), in)
		fs = append(fs, cluster.Failure{At: d.Waits(in).Add(d.Policy.Growth.Node.ProvisionTime), Code: "NeverJoined", Message: why.Sentence()})
	}
	for _, n := range unready {
		why := reason.New(reason.NodeNeverReady, reason.Node(n.Name()), "node", n.Name(), "age", d.Now.Sub(n.Object.CreationTimestamp.Time).Truncate(time.Second), "limit", d.Policy.Growth.Node.StartupTime)
		fs = append(fs, cluster.Failure{At: d.Policy.Growth.Due(n.Object), Code: string(reason.NodeNeverReady), Message: why.Sentence()})
	}
	return fs
}

func (d *Growth) blockedBy(g *cluster.Group, m memory.GroupMemory) *reason.Reason {
	about := reason.Group(string(g.ID))
	because := func(r reason.Reason) *reason.Reason { return &r }
	proof, strays := g.Contradicts(d.Memo.Doubtful), d.strays(d.Groups[g.ID])
	switch {
	case g.AwaitsAnswer():
		return because(reason.New(reason.GroupAsked, about, "capacity", g.Asked))
	case g.Problem != "":
		return because(reason.New(reason.GroupUnreadable, about, readAgain(g, "message", g.Problem)...))
	case !d.Groups[g.ID].Usable():
		return because(reason.New(reason.GroupIncomplete, about, readAgain(g)...))
	case proof != nil:
		return because(reason.New(reason.GroupContradicted, about, "node", proof.Name()))
	case !g.Deleted.IsZero():
		return because(reason.New(reason.GroupDeleted, about, "since", g.Deleted.Format(time.RFC3339)))
	case d.Groups[g.ID].Paused != nil:
		return d.Groups[g.ID].Paused
	case d.Groups[g.ID].Servers:
		return because(d.Controlled(g.ID))
	case m.Backoff.Until.After(d.Now) && m.Backoff.Ceiling <= d.Believed(d.Groups[g.ID].GroupFacts):
		return because(d.backingOff(g.ID, m.Backoff))
	case strays != nil:
		return strays
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

// backingOff says until when and why a group does not grow, or not beyond what is left of a quota.
func (d *Growth) backingOff(id cluster.GroupID, b memory.Backoff) reason.Reason {
	d.Wake(b.Until)
	return reason.New(reason.GroupBackoff, reason.Group(string(id)), "until", b.Until.Format(time.RFC3339), "code", b.Code, "message", b.Message)
}

// spotTaken is the code of the back-off of a size in a zone where the cloud takes spot machines away.
const spotTaken = "SpotTaken"

// RestLostSizes has the size of a spot machine that the cloud takes away rest in its zone: what is asked for there next would be taken away
// as well, or not come at all. A group that spans zones passes that zone over, one that does not rests, as long as another group may grow in its place. It counts
// whether an agent has told of it or the machine was seen to leave, and once for each machine. A notice that is taken back has not been.
func (d *Growth) RestLostSizes() {
	var uids []string
	for _, n := range d.Memo.Spot {
		uid, zone, taken := d.takenAway(n)
		known := slices.Contains(d.Memory.Taken, uid)
		if uid == "" || !taken && !known {
			continue
		}
		if uids = append(uids, uid); !known {
			d.restSize(d.Groups[n.Group].Size, zone)
		}
	}
	slices.Sort(uids)
	if uids = slices.Compact(uids); slices.Equal(uids, d.Memory.Taken) {
		return
	}
	for _, g := range d.Snapshot.Groups {
		for _, in := range g.Instances {
			if g.Spot && in.State == cluster.StateRunning && slices.Contains(d.Memory.Taken, in.UID) && !slices.Contains(uids, in.UID) {
				d.wakeSize(g.Size, in.Zone)
			}
		}
	}
	d.Memory.Taken = uids
}

// wakeSize ends the rest of spot groups of the size in the zone, unless another machine of theirs is taken away.
func (d *Growth) wakeSize(size, zone string) {
	for _, n := range d.Memo.Spot {
		if _, at, taken := d.takenAway(n); taken && at == zone && strings.EqualFold(d.Groups[n.Group].Size, size) {
			return
		}
	}
	for _, g := range d.Snapshot.Groups {
		if m := d.Memory.Groups[g.ID]; sameSpot(g, size, zone) {
			if m.Backoff.Code == spotTaken {
				m.Backoff = memory.Backoff{}
			}
			if m.Astray[zone].Code == spotTaken {
				m.Astray = maps.Clone(m.Astray)
				delete(m.Astray, zone)
			}
			d.Remember(g.ID, m)
		}
	}
}

// sameSpot says whether the group is one of spot machines of the size, in the zone.
func sameSpot(g *cluster.Group, size, zone string) bool {
	return g.Spot && strings.EqualFold(g.Size, size) && (zone == "" || len(g.Zones) == 0 || slices.Contains(g.Zones, zone))
}

// takenAway says which machine the node is or was, where, and whether the cloud takes it away. Who else had it leave does not show: a
// person's hand counts as well. That a machine is in no list any more has to be said by a whole one, of a node that is silent.
func (d *Growth) takenAway(n *cluster.Node) (uid, zone string, taken bool) {
	in := n.Instance
	if in == nil {
		g := d.Groups[n.Group]
		gone := len(n.Suspects) == 0 && !cluster.Ready(n.Object) && g.Usable() && g.Standing() == g.Capacity
		return n.Was().UID, n.Object.Labels[corev1.LabelTopologyZone], gone
	}
	if in.State == cluster.StateDeleting || in.Stopped() {
		_, onLadder := cluster.RemovalOf(n.Object)
		return in.UID, in.Zone, !onLadder
	}
	notice, _ := cluster.NoticeOf(n.Object)
	return in.UID, in.Zone, notice.Kind == "Preempt"
}

// restSize has all spot groups of the size rest in the zone.
func (d *Growth) restSize(size, zone string) {
	f := cluster.Failure{At: d.Now, Code: spotTaken, Message: fmt.Sprintf("the cloud takes spot machines of size %s away", size)}
	if zone != "" && zone != "0" { // which is what machines outside of all zones say
		f.Message += " in zone " + zone
	}
	same := func(g *cluster.Group) bool { return sameSpot(g, size, zone) }
	instead := slices.ContainsFunc(d.Snapshot.Groups, func(g *cluster.Group) bool {
		return !same(g) && g.Template != nil && g.Usable() && g.Capacity < g.Max && !d.Memory.Groups[g.ID].Backoff.Until.After(d.Now)
	})
	for _, g := range d.Snapshot.Groups {
		m := d.Memory.Groups[g.ID]
		switch {
		case !same(g):
			continue
		case len(g.Zones) > 1:
			m.Astray = memory.With(m.Astray, zone, m.Astray[zone].Failed(f, 0, 0, d.Policy))
		case instead:
			m.Backoff = m.Backoff.Failed(f, g.Capacity, max(m.Capacity, g.Capacity), d.Policy)
		default:
			continue
		}
		d.Remember(g.ID, m)
	}
}

// NoticeStrays finds out where the machines came up that groups over several zones were asked for. A zone that has fewer than was assumed,
// while another has more, is passed over for a while: the cloud had its reasons to put its machine elsewhere, and asking again at once would buy
// another one there (S-31). It is judged when the zones of all machines are known.
func (d *Growth) NoticeStrays() {
	for _, g := range d.Snapshot.Groups {
		st, m := d.Groups[g.ID], d.Memory.Groups[g.ID]
		if m.Awaited == nil || !st.Usable() || m.Requested.After(g.Read.At) {
			continue
		}
		has := g.InZones()
		if has[""] > 0 || g.Capacity > st.Standing() {
			continue
		}
		for _, zone := range astray(m.Awaited, has) {
			f := cluster.Failure{At: d.Now, Code: "OtherZone", Message: fmt.Sprintf("a machine that was to come up in %s came up elsewhere", zone)}
			m.Astray = memory.With(m.Astray, zone, m.Astray[zone].Failed(f, 0, 0, d.Policy))
		}
		m.Awaited = nil
		d.Remember(g.ID, m)
	}
}

// astray are the zones that have fewer machines than was assumed; none when no other zone has more: then machines have left in the meantime.
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
func (d *Growth) PassedZones(st *Order) map[string]reason.Reason {
	passed := map[string]reason.Reason{}
	if st.Rotation == nil {
		return nil
	}
	for _, zone := range st.Zones {
		if !slices.Contains(st.Rotation.Zones, zone) {
			rest, why := d.Memory.Groups[st.ID].Astray[zone], "a machine that was to come up there came up elsewhere"
			if rest.Code == spotTaken {
				why = rest.Message
			}
			passed[zone] = reason.New(reason.ZonePassedOver, reason.Group(string(st.ID)), "zone", zone, "until", rest.Until.Format(time.RFC3339), "why", why)
		}
	}
	return passed
}

// turnsOf is how the zones of a group take turns from now on, in one word: "" for a group that spans none.
func (d *Growth) turnsOf(st *Order) string {
	if st.Rotation == nil {
		return ""
	}
	var b strings.Builder
	for _, zone := range st.Rotation.Zones {
		fmt.Fprintf(&b, "%s %d ", zone, st.Reaches(zone, 1))
	}
	passed := d.PassedZones(st)
	for _, zone := range slices.Sorted(maps.Keys(passed)) {
		fmt.Fprintf(&b, "%s %s ", zone, passed[zone].Facts["until"])
	}
	return b.String()
}

// passesOver says that a machine of the group would take the pod in a zone that is passed over, nil when none would.
func (d *Growth) passesOver(st *Order, p *cluster.Pod) *reason.Reason {
	passed := d.PassedZones(st)
	for _, zone := range slices.Sorted(maps.Keys(passed)) {
		fits := false
		d.OnEmpty(st.Incoming, zone, func(h scheduling.Handle) { fits = d.Check.Room(p.Class, h) > 0 })
		if fits {
			why := passed[zone]
			return &why
		}
	}
	return nil
}
