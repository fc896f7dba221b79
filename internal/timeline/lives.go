package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// The bounds of what is remembered of machines.
const (
	mostLives = 20_000
	mostSpans = 40 // of one machine that is there,
	goneSpans = 30 // and of one that is gone
)

// requestsFor is how long after an accepted request a machine that appears is taken for one of it.
const requestsFor = 30 * time.Minute

// lives are those of all machines.
type lives struct {
	open  map[string]*life // of machines that are there, by their key
	past  []*life          // of others, in the order in which they went
	asked map[cluster.GroupID][]request
	again bool // all lists are to be compared in the next cycle, as some lives are known from elsewhere
}

// request is a scale-up that was accepted, and of which machines are to appear.
type request struct {
	at   time.Time
	left int
}

// life is a [Life] that goes on, or went on.
type life struct {
	Life                   // but for its spans
	spans  []stretch       // each ends where it says, but the last one of an open life
	node   *cluster.Node   // as last looked at, nil for none
	work   work            // on it
	is     action.Outcome  // of its verdict
	state  stateOfInstance // as last looked at
	paused bool            // no span goes on
	fresh  bool            // the machine appeared after the record of its group began
	asked  bool            // sluice asked for its deletion
	notice string          // what Azure has announced that ends it, "" for nothing
}

// stateOfInstance is what matters of a machine without a node.
type stateOfInstance struct {
	parked, stopped, deleting bool
}

// work is what runs on a node, daemons aside.
type work struct {
	job  string // "namespace/name", "" for none
	pods bool   // others run
}

// stretch is a [Span], to the second: there are many.
type stretch struct {
	from, to uint32 // seconds since 1970
	kind     uint8  // index of kinds
	what     string
}

var kinds = []SpanKind{SpanBoot, SpanJob, SpanPods, SpanIdle, SpanDraining, SpanParked, SpanSilent}

func second(t time.Time) uint32 { return uint32(max(0, t.Unix())) } //nolint:gosec // until 2106

// keyOf tells machines apart.
func keyOf(group cluster.GroupID, id cluster.InstanceID, uid string) string {
	if uid == "" {
		return string(group) + "/" + string(id)
	}
	return strings.ToLower(uid)
}

// note takes in a cycle, and says what happened to machines. Before is what the last cycle saw, nil for none.
func (ls *lives) note(e journal.Entry, before *cluster.Snapshot) (news []report.Said) {
	if ls.open == nil {
		ls.open, ls.asked = map[string]*life{}, map[cluster.GroupID][]request{}
	}
	gone := ls.noteMachines(e.Seen, before)
	ready := ls.noteNodes(e)
	ls.noteDeeds(e)
	for _, id := range slices.Sorted(maps.Keys(ready)) {
		news = append(news, toldOfReady(id, ready[id], e.Seen.Time))
	}
	return append(news, gone...)
}

// noteMachines compares the lists of machines with those before. A list that is not complete takes nothing away.
func (ls *lives) noteMachines(seen, before *cluster.Snapshot) (news []report.Said) {
	now := seen.Time
	for _, g := range seen.Groups {
		var old *cluster.Group
		if before != nil {
			old = before.Group(g.ID)
		}
		if g.Failure != nil && g.Failure.At.After(now.Add(-requestsFor)) {
			ls.asked[g.ID] = slices.DeleteFunc(ls.asked[g.ID], func(r request) bool { return !r.at.After(g.Failure.At) })
		}
		if old != nil && !ls.again && same(old.Instances, g.Instances) && same(old.Parked, g.Parked) && certain(old) == certain(g) {
			continue
		}
		listed := make(map[string]bool, len(g.Instances)+len(g.Parked))
		for _, in := range g.Instances {
			ls.noteMachine(g, in, false, old != nil, now)
			listed[keyOf(g.ID, in.ID, in.UID)] = true
		}
		for _, in := range g.Parked {
			ls.noteMachine(g, in, true, old != nil, now)
			listed[keyOf(g.ID, in.ID, in.UID)] = true
		}
		if certain(g) {
			news = append(news, ls.end(g, listed, now)...)
		}
	}
	if before != nil {
		for _, g := range before.Groups {
			if seen.Group(g.ID) == nil {
				ls.leave(g.ID, before.Time)
			}
		}
	}
	if ls.again {
		for _, l := range ls.open {
			if seen.Group(l.Group) == nil {
				ls.leave(l.Group, now)
			}
		}
	}
	ls.again = false
	return news
}

func same(a, b []*cluster.Instance) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// certain says whether a machine that the group's list lacks is gone.
func certain(g *cluster.Group) bool { return g.Read.Complete && g.Problem == "" }

func (ls *lives) noteMachine(g *cluster.Group, in *cluster.Instance, parked, known bool, now time.Time) {
	key := keyOf(g.ID, in.ID, in.UID)
	l := ls.open[key]
	if l == nil {
		l = &life{Life: Life{Group: g.ID, Instance: in.ID, UID: in.UID, Created: in.Created}}
		if l.fresh = known; known {
			l.Requested = ls.requested(g.ID, now)
		}
		ls.open[key] = l
	}
	l.Zone, l.Size = cmp.Or(in.Zone, l.Zone), cmp.Or(in.Size, l.Size, g.Size)
	if l.state.parked && !parked { // it is started again
		l.Why, l.Code, l.asked = "", "", false
	}
	l.state = stateOfInstance{parked: parked, stopped: in.Stopped(), deleting: in.State == cluster.StateDeleting}
	l.node = nil // look anew
}

// requested is when the machine was requested that has just appeared in a group; zero when nobody knows.
func (ls *lives) requested(id cluster.GroupID, now time.Time) time.Time {
	for len(ls.asked[id]) > 0 {
		r := &ls.asked[id][0]
		if r.left > 0 && now.Sub(r.at) <= requestsFor {
			r.left--
			return r.at
		}
		ls.asked[id] = ls.asked[id][1:]
	}
	return time.Time{}
}

// end ends the lives of machines that a complete list of their group lacks.
func (ls *lives) end(g *cluster.Group, listed map[string]bool, now time.Time) []report.Said {
	ended := map[reason.Code][]*life{}
	for key, l := range ls.open {
		if l.Group != g.ID || listed[key] {
			continue
		}
		if !l.asked {
			l.Code, l.Why = l.unasked(g)
		}
		l.close(now)
		l.Gone = now
		l.rest()
		delete(ls.open, key)
		ended[l.Code] = append(ended[l.Code], l)
	}
	var news []report.Said
	for _, code := range slices.Sorted(maps.Keys(ended)) {
		all := ended[code]
		slices.SortFunc(all, byName)
		ls.past = append(ls.past, all...)
		news = append(news, toldOfGone(g.ID, all))
	}
	return news
}

// unasked is why a machine went that sluice did not ask to go.
func (l *life) unasked(g *cluster.Group) (reason.Code, string) {
	switch {
	case g.Spot && l.notice != "":
		return SpotTaken, "taken by Azure (spot), which announced " + l.notice
	case g.Spot:
		return SpotTaken, "taken by Azure (spot), or deleted by somebody else: sluice did not ask for it"
	case l.notice != "":
		return ByAnother, "deleted by somebody else; Azure announced " + l.notice
	}
	return ByAnother, "deleted by somebody else: sluice did not ask for it"
}

// leave lets go of a group that is managed no more: what becomes of its machines is not known.
func (ls *lives) leave(id cluster.GroupID, last time.Time) {
	var left []*life
	for key, l := range ls.open {
		if l.Group == id {
			l.close(last)
			l.rest()
			left = append(left, l)
			delete(ls.open, key)
		}
	}
	slices.SortFunc(left, byName)
	ls.past = append(ls.past, left...)
	delete(ls.asked, id)
}

func byName(a, b *life) int {
	return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.UID, b.UID))
}

// noteNodes looks at nodes and verdicts that changed. It returns those that became Ready for the first time, by group.
func (ls *lives) noteNodes(e journal.Entry) map[cluster.GroupID][]*life {
	ready := map[cluster.GroupID][]*life{}
	next := 0 // where the node of the next verdict is expected: both are sorted by name
	for i := range e.Plan.Verdicts {
		v := &e.Plan.Verdicts[i]
		if v.Subject.Kind != reason.KindNode {
			continue
		}
		var n *cluster.Node
		if next < len(e.Seen.Nodes) && e.Seen.Nodes[next].Name() == v.Subject.Name {
			n = e.Seen.Nodes[next]
			next++
		} else if n = e.Seen.Node(v.Subject.Name); n == nil {
			continue
		}
		l := ls.of(n)
		if l == nil || l.node == n && l.is == v.Outcome && !l.paused {
			continue
		}
		if l.look(n, v, e) {
			ready[l.Group] = append(ready[l.Group], l)
		}
	}
	for _, g := range e.Seen.Groups {
		for _, in := range g.Instances {
			if in.Node == "" {
				ls.open[keyOf(g.ID, in.ID, in.UID)].without(e.Seen.Time)
			}
		}
		for _, in := range g.Parked {
			ls.open[keyOf(g.ID, in.ID, in.UID)].without(e.Seen.Time)
		}
	}
	return ready
}

// of is the life of a node's machine, nil when it is nobody's.
func (ls *lives) of(n *cluster.Node) *life {
	switch {
	case n.Parked.UID != "":
		return ls.open[keyOf(n.Parked.Group, n.Parked.ID, n.Parked.UID)]
	case n.Instance != nil:
		return ls.open[keyOf(n.Instance.Group, n.Instance.ID, n.Instance.UID)]
	}
	return nil
}

// look takes in what a machine's node is now, and says whether it is Ready for the first time since it was made.
func (l *life) look(n *cluster.Node, v *action.Verdict, e journal.Entry) (joins bool) {
	now := e.Seen.Time
	if l.node == nil || l.node.Object != n.Object || !slices.Equal(l.node.Pods, n.Pods) {
		l.work = workOn(n, e, l.work.job)
	}
	l.node, l.is, l.Node = n, v.Outcome, n.Name()
	if said, on := cluster.NoticeOf(n.Object); on && said.Ends() {
		l.notice = said.Kind
	}
	ready := cluster.Ready(n.Object)
	if ready && l.Joined.IsZero() && !l.state.parked {
		l.Joined = now
		if joins = l.fresh; !joins { // it was there before the record
			l.Joined = n.Object.CreationTimestamp.UTC()
		}
	}
	kind, what := l.doing(ready)
	if what == "" && len(v.Because) > 0 && (kind == SpanIdle || kind == SpanDraining) {
		what = string(v.Because[0].Code)
	}
	l.does(kind, what, now)
	return joins
}

// doing is what the machine of a node does.
func (l *life) doing(ready bool) (kind SpanKind, what string) {
	switch {
	case l.state.parked:
		return SpanParked, ""
	case !ready && l.Joined.IsZero():
		return SpanBoot, ""
	case !ready:
		return SpanSilent, l.work.job
	case l.work.job != "":
		return SpanJob, l.work.job
	}
	switch l.is {
	case action.NodeCordoned, action.NodeDraining, action.NodeDeleting, action.NodeParking, action.NodeGone:
		return SpanDraining, ""
	case action.NodeIdle:
		return SpanIdle, ""
	}
	if l.work.pods {
		return SpanPods, ""
	}
	return SpanIdle, ""
}

// without takes in that the machine has no node.
func (l *life) without(now time.Time) {
	if l == nil {
		return
	}
	l.node, l.work = nil, work{}
	switch {
	case l.state.parked:
		l.does(SpanParked, "", now)
	case l.state.deleting:
		l.does(SpanDraining, string(l.Code), now)
	case l.Joined.IsZero() && !l.state.stopped:
		l.does(SpanBoot, "", now)
	default:
		l.does(SpanSilent, "", now)
	}
}

// workOn is what runs on a node. Of several Jobs it is the one that ran before, else the first.
func workOn(n *cluster.Node, e journal.Entry, before string) (w work) {
	at := policy.On(n, e.Seen.Group(n.Group), e.Seen.Objects.Budgets)
	for _, p := range n.Pods {
		switch {
		case w.job != "" && w.job == before: // nothing outweighs it
			return w
		case p.Finished() || e.Policy.Belongs(p, at, e.Seen.Time):
		case node.OfJob(p.Class):
			if w.job == "" || isOf(p, before) {
				w.job = p.Namespace + "/" + p.Owner().Name
			}
		default:
			w.pods = true
		}
	}
	return w
}

// isOf says whether a pod is of the Job of that "namespace/name".
func isOf(p *cluster.Pod, job string) bool {
	namespace, name, _ := strings.Cut(job, "/")
	return p.Namespace == namespace && p.Owner().Name == name
}

// does begins a stretch, unless the last one goes on. Of one that is no Job's the first reason stands.
func (l *life) does(kind SpanKind, what string, now time.Time) {
	if n := len(l.spans); n > 0 && !l.paused {
		last := &l.spans[n-1]
		if kinds[last.kind] == kind && (kind != SpanJob && kind != SpanSilent || last.what == what) {
			return
		}
		last.to = second(now)
	}
	l.paused = false
	l.spans = append(l.spans, stretch{from: second(now), to: second(now), kind: uint8(slices.Index(kinds, kind)), what: what}) //nolint:gosec // there are seven
	if len(l.spans) > mostSpans {
		l.spans = thinned(l.spans)
	}
}

// thinned are the stretches with the shortest but the last put together with the one before it. Both count as the longer one.
func thinned(spans []stretch) []stretch {
	shortest := 1
	for i := 2; i < len(spans)-1; i++ {
		if spans[i].to-spans[i].from < spans[shortest].to-spans[shortest].from {
			shortest = i
		}
	}
	into, s := &spans[shortest-1], spans[shortest]
	if s.to-s.from > into.to-into.from {
		into.kind, into.what = s.kind, s.what
	}
	into.to = s.to
	return slices.Delete(spans, shortest, shortest+1)
}

// close ends the stretch that goes on.
func (l *life) close(at time.Time) {
	if n := len(l.spans); n > 0 && !l.paused {
		l.spans[n-1].to = second(at)
	}
	l.paused = true
}

// rest lets go of what a life that is over needs no more: there are many.
func (l *life) rest() {
	l.node, l.work = nil, work{}
	for len(l.spans) > goneSpans {
		l.spans = thinned(l.spans)
	}
	l.spans = slices.Clone(l.spans) // without room for more
}

// pause ends all stretches: nobody knows what happened since.
func (ls *lives) pause(at time.Time) {
	for _, l := range ls.open {
		l.close(at)
	}
}

// noteDeeds notes what was requested, and why machines go: that is why the node was cordoned where it was.
func (ls *lives) noteDeeds(e journal.Entry) {
	for i, r := range e.Results[:min(len(e.Results), len(e.Plan.Actions))] {
		if r.Status != memory.Accepted && r.Status != memory.Asked {
			continue
		}
		switch a := e.Plan.Actions[i].(type) {
		case action.SetCapacity:
			ls.asked[a.Group] = append(ls.asked[a.Group], request{r.At, a.Adds})
		case action.Cordon:
			ls.machine(a.Machine).goes(a.Because)
		case action.Uncordon:
			if n := e.Seen.Node(a.Node); n != nil {
				ls.of(n).stays()
			}
		case action.DeleteInstances:
			for _, m := range a.Machines {
				l := ls.machine(m.Machine)
				if l.goes(m.Because); l != nil {
					l.asked = true
				}
			}
		}
	}
}

func (ls *lives) machine(m cluster.Machine) *life { return ls.open[keyOf(m.Group, m.ID, m.UID)] }

// goes notes why the machine is to go, where that was not known.
func (l *life) goes(because reason.Reason) {
	if l != nil && l.Code == "" {
		l.Why, l.Code = because.Sentence(), because.Code
	}
}

// stays notes that it does not go any more.
func (l *life) stays() {
	if l != nil && !l.asked {
		l.Why, l.Code = "", ""
	}
}

// forget lets go of lives that ended before a time, and of those that are too many.
func (ls *lives) forget(since time.Time) {
	drop := max(0, min(len(ls.past), len(ls.past)+len(ls.open)-mostLives))
	for drop < len(ls.past) && ls.past[drop].end(since).Before(since) {
		drop++
	}
	clear(ls.past[:drop])
	ls.past = ls.past[drop:]
}

// end is when the life ended, or its record did; now for one of which nothing is known.
func (l *life) end(now time.Time) time.Time {
	if n := len(l.spans); n > 0 && l.Gone.IsZero() {
		return time.Unix(int64(l.spans[n-1].to), 0).UTC()
	}
	if l.Gone.IsZero() {
		return now
	}
	return l.Gone
}

// begin is when the record of the life begins.
func (l *life) begin() time.Time {
	if len(l.spans) > 0 {
		return time.Unix(int64(l.spans[0].from), 0).UTC()
	}
	return l.Requested
}

// between are the lives of a stretch of time. Now is when the last cycle was.
func (ls *lives) between(from, to, now time.Time) (all []Life) {
	add := func(l *life, end time.Time) {
		if len(l.spans) > 0 && !l.begin().After(to) && !end.Before(from) {
			all = append(all, l.told(now))
		}
	}
	for _, l := range ls.past {
		add(l, l.end(now))
	}
	for _, l := range ls.open {
		add(l, from) // it goes on
	}
	slices.SortFunc(all, func(a, b Life) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), a.Spans[0].From.Compare(b.Spans[0].From), cmp.Compare(a.Node, b.Node), cmp.Compare(a.UID, b.UID))
	})
	return all
}

// told is the life with its spans.
func (l *life) told(now time.Time) Life {
	out := l.Life
	out.Spans = make([]Span, len(l.spans))
	for i, s := range l.spans {
		out.Spans[i] = Span{From: time.Unix(int64(s.from), 0).UTC(), To: time.Unix(int64(s.to), 0).UTC(), Kind: kinds[s.kind], What: s.what}
	}
	if n := len(out.Spans); n > 0 && !l.paused {
		out.Spans[n-1].To = now.Truncate(time.Second)
	}
	return out
}

// toldOfReady tells of machines of a group that became nodes.
func toldOfReady(id cluster.GroupID, all []*life, now time.Time) report.Said {
	longest := time.Duration(0)
	for _, l := range all {
		if !l.Requested.IsZero() {
			longest = max(longest, now.Sub(l.Requested))
		}
	}
	s := saidOf(id, all, "node", "is Ready", "are Ready")
	if s.Kind = report.ToldNews; longest > 0 {
		s.Sentence += fmt.Sprintf(", %s after the request", longest.Round(time.Second))
	}
	return s
}

// toldOfGone tells of machines of a group that are gone for one reason.
func toldOfGone(id cluster.GroupID, all []*life) report.Said {
	s := saidOf(id, all, "machine", "is gone", "are gone")
	switch s.Kind = report.ToldNews; all[0].Code {
	case SpotTaken, ByAnother:
		s.Kind = report.ToldWarning
		s.Sentence += ": " + all[0].Why
	}
	return s
}

// namedAtMost is how many things a sentence names.
const namedAtMost = 6

// saidOf is a sentence about machines of a group.
func saidOf(id cluster.GroupID, all []*life, noun, one, many string) report.Said {
	var names []string
	var about []reason.Ref
	for _, l := range all {
		names = append(names, cmp.Or(l.Node, string(l.Instance)))
		if l.Node != "" {
			about = append(about, reason.Node(l.Node))
		}
		about = append(about, reason.Instance(string(id), string(l.Instance)))
	}
	about = append(about, reason.Group(string(id)))
	if len(names) == 1 {
		return report.Said{Sentence: fmt.Sprintf("%s %s of group %s %s", noun, names[0], id, one), About: about}
	}
	list := strings.Join(names[:min(namedAtMost, len(names))], ", ")
	if more := len(names) - namedAtMost; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return report.Said{Sentence: fmt.Sprintf("%d %ss of group %s %s: %s", len(names), noun, id, many, list), About: about}
}
