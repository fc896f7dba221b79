package remove

import (
	"cmp"
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
)

// Clouds delete machines of a group by one request at a time. What becomes ready just after a request has to wait until all of its machines
// are gone, and is paid for meanwhile. So a request waits a little for machines that are about to be ready, where all of them together
// wait less that way.
const (
	usualDeletion = time.Minute     // how long a cloud takes to delete machines of a group that has not been seen to lose any
	mostGathering = 2 * time.Minute // for so long a machine that is ready for its deletion waits for others at most
)

// gathering is the machines of one group that are about to leave.
//
// Durations in soon are from the cycle's time on. A machine is either in ready or in soon. since is zero while none is ready.
type gathering struct {
	takes time.Duration   // a deletion, as far as anybody knows
	ready int             // for deletion now
	since time.Time       // when the first of them was
	soon  []time.Duration // when others will be, from now; in order once all are known
	with  *fleet.Batch    // those that go already, by the safety contract
}

// gathered is a deletion that waits.
type gathered struct {
	until  time.Time
	others int // that it waits for, or some of them
}

// deletions say when the machines of a group are deleted together.
type deletions struct {
	*node.View
	nodes     *nodes
	queue     *queue
	evictions *evictions
	gathers   map[cluster.GroupID]gathered // groups whose deletions wait for further machines
}

// gatherLeaving finds out which groups' deletions wait for further machines, and until when.
//
//	node                                                    counts as
//	cordoned and empty, its pause is over                   ready
//	cordoned and empty, in its pause                        soon, when that ends
//	idle and Ready, its group has a ready one, its time     soon, when its time has come and its own pause is over
//	is over within two minutes, and nothing else holds it
//	any other                                               nothing
//
// free says of an idle node that neither a pause nor a row of standing holds it. The contract counts idle nodes in a copy alone.
func (dl *deletions) gatherLeaving(on, idle []*candidate, free func(*candidate) bool) {
	dl.noticeDeletions()
	pause, all := dl.Policy.Removal.Pause(), map[*Outgoing]*gathering{}
	for _, st := range on {
		if st.Instance == nil || st.Instance.State == cluster.StateDeleting || quiesces(st) || len(st.Movers) > 0 {
			continue
		}
		g := st.group
		if all[g] == nil {
			all[g] = &gathering{takes: cmp.Or(dl.Memory.Groups[g.ID].Deletion.Took, usualDeletion), with: g.Contract.Leaving.Copy()}
		}
		all[g].add(dl.evictions.pausesUntil(st), dl.Now)
	}
	for _, st := range idle {
		g := st.group
		if own := all[g]; own != nil && own.ready > 0 && st.Ready && !st.pinned {
			e := exitOf(st, cluster.Idle)
			if due := dl.dueAt(st); due.Sub(dl.Now)+pause <= mostGathering && free(st) && own.with.Add(e.Verb, e.Target) == nil {
				own.soon = append(own.soon, max(0, due.Sub(dl.Now))+pause)
			}
		}
	}
	for g, own := range all {
		if dl.rests(g) != nil {
			continue
		}
		if until := own.until(dl.Now, dl.Policy.Removal.Parallelism, pause); until.After(dl.Now) {
			if dl.gathers == nil {
				dl.gathers = map[cluster.GroupID]gathered{}
			}
			dl.gathers[g.ID] = gathered{until, len(own.soon)}
			dl.Wake(until)
		}
	}
}

// noticeDeletions remembers how long deletions took that are over.
//
// Took is from when the cloud accepted it until the cycle that sees none of the group's machines being deleted in a newer, complete read.
func (dl *deletions) noticeDeletions() {
	for _, g := range dl.Snapshot.Groups {
		m := dl.Memory.Groups[g.ID]
		if m.Deleted.After(m.Deletion.Asked) && dl.nodes.groups[g.ID].Deleting() == 0 && g.Read.Complete && g.Read.At.After(m.Deleted) {
			m.Deletion = memory.Deletion{Asked: m.Deleted, Took: dl.Now.Sub(m.Deleted)}
			dl.Remember(g.ID, m)
		}
	}
}

// dueAt is when an idle node's time comes, as far as timers say.
func (dl *deletions) dueAt(st *candidate) time.Time {
	since, known := dl.Memory.Removable[st.Name()]
	if !known {
		since = dl.Now
	}
	return since.Add(dl.queue.limitOf(st))
}

// add counts a machine that is empty and ready for its deletion at a time.
func (g *gathering) add(at, now time.Time) {
	if now.Before(at) {
		g.soon = append(g.soon, at.Sub(now))
		return
	}
	if g.ready++; g.since.IsZero() || at.Before(g.since) {
		g.since = at
	}
}

// until is until when the deletion waits, so that all machines together wait least; now when it does not. Of further machines so
// many go at a time, each with a pause.
func (g *gathering) until(now time.Time, atOnce int, pause time.Duration) time.Time {
	left := min(mostGathering, g.takes) - now.Sub(g.since)
	if g.ready == 0 || left <= 0 {
		return now
	}
	slices.Sort(g.soon)
	for i := range g.soon {
		g.soon[i] += time.Duration(i/max(1, atOnce)) * pause
	}
	best, least := time.Duration(0), g.waits(0)
	for _, w := range g.soon {
		if waits := g.waits(w); w <= left && waits < least {
			best, least = w, waits
		}
	}
	return now.Add(best)
}

// waits is how long all machines wait together for the request that names them, when the next one goes out after that time.
//
// An example: two machines are ready, a third one will be in 10 s, and deletions take 60 s. If the request goes out now, the third one
// waits 50 s for the next. If it goes out in 10 s, two wait 10 s each, and the third one not at all. 20 s are less: the request waits.
func (g *gathering) waits(after time.Duration) time.Duration {
	sum := time.Duration(g.ready) * after
	for _, at := range g.soon {
		if at <= after {
			sum += after - at
		} else {
			sum += max(0, after+g.takes-at)
		}
	}
	return sum
}

// gathersOthers says that the deletion of the group's machines waits for others, nil when it does not.
func (dl *deletions) gathersOthers(g *Outgoing) *reason.Reason {
	own, waits := dl.gathers[g.ID]
	if !waits {
		return nil
	}
	return new(reason.New(reason.RemovalGathers, reason.Group(string(g.ID)), "group", g.ID, "others", own.others, "wait", own.until.Sub(dl.Now)))
}

// queued says whether an empty node has to wait for more than its pause: an earlier deletion of its group is under way, or waits for
// others. It is none of those in flight.
func (dl *deletions) queued(st *candidate) bool {
	_, gathers := dl.gathers[st.Group]
	return len(st.Movers) == 0 && (gathers || st.group.Deleting() > 0)
}

// rests says why no machine of the group is deleted now: an earlier deletion is under way, as clouds take one at a time for a group, or
// the last try failed.
func (dl *deletions) rests(g *Outgoing) *reason.Reason {
	if g.Deleting() > 0 {
		r := reason.New(reason.RemovalQueued, reason.Group(string(g.ID)), "group", g.ID, "deleting", g.Deleting())
		return &r
	}
	rest := dl.Memory.Groups[g.ID].Rest
	if !rest.Until.After(dl.Now) {
		return nil
	}
	dl.Wake(rest.Until)
	r := reason.New(reason.RemovalRests, reason.Group(string(g.ID)), "group", g.ID, "until", rest.Until.Format(time.RFC3339), "message", rest.Message)
	return &r
}
