package timeline

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
)

// Timeline is what is remembered. The zero value remembers nothing yet. One goroutine notes; any may read meanwhile.
type Timeline struct {
	noting sync.Mutex // by whoever notes, before mu
	mu     sync.RWMutex

	teller *report.Teller
	seen   *cluster.Snapshot // by the last cycle, nil before the first
	cycle  uint64
	until  time.Time // of the last cycle
	pace   pace
	points series
	told   []Telling // the oldest first
	last   int       // how many of them are of the last cycle
	gaps   []Gap
	lives  lives
	left   leavers // pods that are gone
	groups map[cluster.GroupID]time.Time
	why    string // what is known of a gap that may follow, "" for nothing
}

// Note takes in the next cycle. What a clock that was put back says is taken for the time of the cycle before.
func (t *Timeline) Note(e journal.Entry) {
	t.noting.Lock()
	defer t.noting.Unlock()
	if e.Seen.Time.Before(t.until) {
		seen := *e.Seen
		seen.Time, e.Seen = t.until, &seen
	}
	now := e.Seen.Time
	if t.teller == nil {
		t.teller = report.NewTeller()
	}
	said := t.teller.Tell(context.Background(), e)
	t.mu.Lock()
	defer t.mu.Unlock()
	before := len(t.told)
	if !t.until.IsZero() {
		t.notePause(e.Seen.Time, e.Cycle)
	}
	if t.seen != nil {
		said = append(said, toldOfPauses(t.seen.Objects.Pauses(), e.Seen.Objects.Pauses())...)
		said = append(said, toldOfAcknowledged(t.seen.Objects.Acknowledged(), e.Seen.Objects.Acknowledged())...)
	}
	news := t.lives.note(e, t.seen)
	t.notePoint(e)
	for _, s := range slices.Concat(said, news) {
		t.tell(now, e.Cycle, s)
	}
	t.left.note(t.seen, e.Seen)
	t.noteGroups(e.Seen)
	t.last = len(t.told) - before
	t.seen, t.cycle, t.until, t.why = e.Seen, e.Cycle, now, ""
	t.forget(now)
}

// Damaged says why the record may lack what comes before the next cycle, one clause.
func (t *Timeline) Damaged(why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.why = why
}

// The bounds of what is remembered, besides those of [series] and [lives].
const (
	week         = 7 * 24 * time.Hour
	mostTellings = 16_000
	mostGaps     = 1_000
)

// forget lets go of what is too old or too much.
func (t *Timeline) forget(now time.Time) {
	since := now.Add(-week)
	drop := max(0, len(t.told)-mostTellings)
	for drop < len(t.told) && t.told[drop].Time.Before(since) {
		drop++
	}
	clear(t.told[:drop]) // what is cut off in front stays in memory until the slice grows
	t.told = t.told[drop:]
	drop = max(0, len(t.gaps)-mostGaps)
	for drop < len(t.gaps) && t.gaps[drop].To.Before(since) {
		drop++
	}
	t.gaps = slices.Delete(t.gaps, 0, drop)
	t.lives.forget(since)
	for id, at := range t.groups {
		if at.Before(since) {
			delete(t.groups, id)
		}
	}
}

func (t *Timeline) tell(now time.Time, cycle uint64, s report.Said) {
	t.told = append(t.told, Telling{Time: now, Cycle: cycle, Kind: s.Kind, Sentence: s.Sentence, About: s.About})
}

// noteGroups remembers when each group was last there.
func (t *Timeline) noteGroups(seen *cluster.Snapshot) {
	if t.groups == nil {
		t.groups = map[cluster.GroupID]time.Time{}
	}
	for _, g := range seen.Groups {
		t.groups[g.ID] = seen.Time
	}
}

// notePoint counts what the cycle showed.
func (t *Timeline) notePoint(e journal.Entry) {
	p := Point{Time: e.Seen.Time, Cycle: e.Cycle, Waiting: len(e.Seen.Pending), ByGroup: map[cluster.GroupID]int{}}
	for i := range e.Plan.Verdicts {
		switch v := &e.Plan.Verdicts[i]; v.Subject.Kind {
		case reason.KindPod:
			switch v.Outcome {
			case action.PodIgnored:
				p.Waiting--
			case action.PodStuck:
				p.Stuck++
			}
		case reason.KindInstance:
			if v.Outcome == action.MachineComing {
				p.Coming++
			}
		}
	}
	for _, g := range e.Seen.Groups {
		p.ByGroup[g.ID] = 0
		if usd, known := report.Cost(g); known {
			p.USD += usd
		} else {
			p.Unpriced += max(g.Capacity, len(g.Instances))
		}
		if g.Read.Complete {
			p.Coming += max(0, g.Promised()-g.Standing())
		}
		if t.seen != nil && g.Failure != nil && g.Failure.At.After(t.seen.Time) {
			p.Refused++
		}
	}
	for _, n := range e.Seen.Nodes {
		if _, managed := p.ByGroup[n.Group]; managed && n.Parked.UID == "" {
			p.Nodes++
			p.ByGroup[n.Group]++
		}
	}
	p.countDeeds(e)
	t.points.add(p)
}

// countDeeds counts what became of what the cycle decided.
func (p *Point) countDeeds(e journal.Entry) {
	p.Guarded += len(e.Refused)
	for i, r := range e.Results[:min(len(e.Results), len(e.Plan.Actions))] {
		switch {
		case r.Status == memory.Refused, r.Status == memory.Failed && r.Property != "":
			p.Guarded++
		case r.Status == memory.Failed && r.Kind != "kubernetes":
			p.Refused++
		case r.Status == memory.Accepted:
			switch a := e.Plan.Actions[i].(type) {
			case action.SetCapacity:
				p.Grown += a.Adds
			case action.DeleteInstances:
				p.Removed += len(a.Machines)
			}
		}
	}
}

// noLeader is why there is no record before the first cycle of a process.
const noLeader = "no sluice led that recorded here: it was restarted, or another replica led"

// notePause tells of a restart before a cycle, and notes a gap when nothing was recorded for long.
func (t *Timeline) notePause(to time.Time, cycle uint64) {
	from := t.until
	again := cycle <= t.cycle
	silent := t.pace.breaks(to.Sub(from))
	if again {
		t.tell(to, cycle, report.Said{Kind: report.ToldNews, Sentence: "sluice leads anew: it was restarted, or another replica led meanwhile"})
	}
	if !silent && t.why == "" {
		return
	}
	why := t.why
	switch {
	case why != "":
	case again:
		why = noLeader
	case cycle == t.cycle+1:
		why = "no cycle ended: the process did not run, or the cycle took so long"
	default:
		why = fmt.Sprintf("%d cycles could not read the cluster or Azure, or could not be recorded", cycle-t.cycle-1)
	}
	t.gaps = append(t.gaps, Gap{from, to, why})
	t.lives.pause(from)
	t.tell(to, cycle, report.Said{Kind: report.ToldWarning, Sentence: fmt.Sprintf("no record for %s: %s", to.Sub(from).Round(time.Second), why)})
}

// pace knows how long cycles are apart.
type pace struct {
	last [9]time.Duration
	n    int
}

// The longest that cycles may be apart without a gap, while it is not known how long they usually are, and at the least.
const (
	longestUnknown = 10 * time.Minute
	leastGap       = 2 * time.Minute
)

// breaks says whether the time between two cycles is a gap: more than three times the usual, which is the median of the last ones.
func (p *pace) breaks(d time.Duration) bool {
	limit := longestUnknown
	if n := min(p.n, len(p.last)); n >= 3 {
		some := slices.Clone(p.last[:n])
		slices.Sort(some)
		limit = max(leastGap, 3*some[n/2])
	}
	p.last[p.n%len(p.last)] = d
	p.n++
	return d > limit
}

// Points are those of a stretch of time, the oldest first: each cycle of the last six hours, one a minute of the last day, one in ten minutes of
// the last week.
func (t *Timeline) Points(from, to time.Time) []Point {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.points.between(from, to)
}

// Tellings are what happened in a stretch of time, the newest first: at most so many, about one thing, or about everything for nil.
func (t *Timeline) Tellings(from, to time.Time, about *reason.Ref, most int) (all []Telling) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	end, _ := slices.BinarySearchFunc(t.told, to, func(s Telling, to time.Time) int {
		if s.Time.After(to) {
			return 1
		}
		return -1
	})
	for i := end - 1; i >= 0 && len(all) < most && !t.told[i].Time.Before(from); i-- {
		if about == nil || slices.Contains(t.told[i].About, *about) {
			all = append(all, t.told[i])
		}
	}
	return all
}

// Told are the tellings of the last cycle, in their order.
func (t *Timeline) Told() []Telling {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Clone(t.told[max(0, len(t.told)-t.last):])
}

// Lives are those of machines that were there in a stretch of time, by group and then by when they began.
func (t *Timeline) Lives(from, to time.Time) []Life {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.lives.between(from, to, t.until)
}

// Gaps are those that overlap a stretch of time, the oldest first.
func (t *Timeline) Gaps(from, to time.Time) (all []Gap) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, g := range t.gaps {
		if g.From.Before(to) && g.To.After(from) {
			all = append(all, g)
		}
	}
	return all
}

// toldOfAcknowledged tells for which groups a person has acknowledged losses between two cycles.
func toldOfAcknowledged(before, now cluster.Acknowledged) (all []report.Said) {
	for _, id := range slices.Sorted(maps.Keys(now)) {
		if !now[id].After(before[id]) {
			continue
		}
		s := report.Said{Kind: report.ToldNews, Sentence: fmt.Sprintf("group %s: an operator acknowledges what it lost until %s", id, report.Clock(now[id]))}
		s.About = []reason.Ref{reason.Group(string(id))}
		if id == cluster.AllGroups {
			s.Sentence, s.About = "an operator acknowledges what all groups lost until "+report.Clock(now[id]), nil
		}
		all = append(all, s)
	}
	return all
}

// toldOfPauses tells of the pauses that began and ended between two cycles.
func toldOfPauses(before, now cluster.Pauses) (all []report.Said) {
	tell := func(id cluster.GroupID, is string) {
		s := report.Said{Kind: report.ToldNews, Sentence: fmt.Sprintf("group %s %s", id, is), About: []reason.Ref{reason.Group(string(id))}}
		if id == cluster.AllGroups {
			s.Sentence, s.About = "every group "+is, nil
		}
		all = append(all, s)
	}
	for _, id := range now.Groups() {
		was, paused := before[id]
		until := now[id]
		switch {
		case paused && was.Equal(until):
		case until.IsZero():
			tell(id, "is paused by an operator, without an end")
		default:
			tell(id, "is paused by an operator until "+report.Clock(until))
		}
	}
	for _, id := range before.Groups() {
		if _, paused := now[id]; !paused {
			tell(id, "is paused no more")
		}
	}
	return all
}
