package azure

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
)

// group is what is remembered of one node group, of whatever kind. state.mu guards it.
type group struct {
	id         cluster.GroupID
	noun       string // what Azure calls such a group: [source.noun]
	name       string // as Azure or the flag spells it
	min, max   int
	discovered bool
	presence   presence
	facts      *facts // of sizes and prices

	reading  *reading       // what is shown; nil when there was none. Its machines are those of good unless there was none
	view     *cluster.Group // made from it, never changed; nil when there was none
	good     *reading       // the last complete one; nil when there was none
	doubted  *reading       // the last one, when it was not complete
	unknowns int            // how many reads in a row decisions could not rest on
	reads    reads

	asking  *question // the read or write that has no answer yet; nil when there is none
	writing writing
	problem problem
	failure *cluster.Failure // of the last operation
	blame   blame

	away away
}

// presence is whether Azure still has a group.
type presence struct {
	how   absence
	since time.Time // when it became denied, or gone
}

// away are machines of a group that are not shown.
type away struct {
	departed []string // UIDs, sorted, of those that leave, and that the view has no more
	missing  []string // UIDs, sorted, of those that the list lacks though nobody saw them leave
}

// reads say how far a group is read, and when it is to be read again.
type reads struct {
	moved    time.Time     // when a read last showed other machines, states or capacity than the one before
	asked    time.Time     // when a read last had a result
	checked  time.Time     // when a list last showed that the model is still the one of the reading
	resting  time.Time     // after a failed read: no other before
	steady   bool          // as the last cycle saw it: see [Provider.Attend]
	due      due           // what must be read again before the cache's time is over
	stamp    uint64        // of the youngest fact; answers to older questions are dropped
	took     time.Duration // the last good read
	timedOut bool          // the last read had no answer in time
}

// writing is what became of what was asked of a group.
type writing struct {
	wanted    int                  // the capacity that the write under way asks for; 0 when none does
	lost      int                  // the capacity of a growth that was given up, whose outcome no read has told yet; 0 when there is none
	timedOut  bool                 // the last write had no answer in time
	balked    time.Time            // when a growth was last refused in a way that may pass; zero after one that was accepted
	ahead     string               // the growth of a pool under way, as its source tells it, for the record; "" for none
	unstarted map[string]time.Time // machines that could not be started, by UID, and when that was tried
}

// problem is that of the last read; the zero value when it was good.
type problem struct {
	text       string
	fault      *cloud.Error // behind it
	unanswered bool         // it is no more than that Azure did not answer, or not then
}

// blame is why machines failed, as operations said it: by instance id until the next complete read tells who bears that id.
type blame struct{ id, uid map[string]*cluster.Failure }

// due says what of a group must be read again.
type due int

const (
	nothing  due = iota
	machines     // the list of machines
	all          // the model and the list
)

// String is the group in a sentence, such as: scale set "agents".
func (g *group) String() string { return fmt.Sprintf("%s %q", g.noun, g.name) }

// key is how groups are found: letter case means nothing to Azure.
func key(name string) string { return strings.ToLower(name) }

// take makes r the group's reading, and tells the ledger. It reports a reading that cannot be used, and then leaves what was known. Of one that is not
// complete it takes the model alone, unless there never was a complete one. state.mu is held.
func (s *state) take(g *group, r *reading) *cloud.Error {
	if err := r.unreadable(); err != nil {
		return &cloud.Error{Kind: cloud.Transient, Group: g.id, Code: unreadable, Message: fmt.Sprintf("read %s: %v", g, err)}
	}
	g.date(r)
	known := s.beyond(g)
	r.unknown = g.unknown(r, known)
	r.whole = r.unknown == nil && r.model.unfit == ""
	s.tellListed(g, r)
	known = s.beyond(g)
	at, blame, blameID := r.at, g.attribute(r), map[string]*cluster.Failure(nil)
	switch {
	case r.model.unfit != "":
		g.good, g.doubted, r.unknown = nil, nil, nil
	case r.whole:
		g.good, g.doubted = r, nil
	default:
		g.doubted = r
		if g.good != nil {
			r = &reading{model: r.model, machines: g.good.machines, at: g.good.at, unknown: r.unknown}
			blame, blameID = g.blame.uid, g.blame.id
		}
	}
	view := g.show(r, blame, known)
	if g.view == nil || !sameStates(g.view, view) {
		g.reads.moved = at
	}
	g.unknowns++
	if view.Problem != "" || view.Usable() {
		g.unknowns = 0
	}
	g.reading, g.view, g.blame.uid, g.blame.id = r, view, blame, blameID
	g.reads.asked, g.reads.resting, g.reads.due, g.problem.text = at, time.Time{}, nothing, ""
	return nil
}

// believeFor is how long lists may be older than they look.
const believeFor = 10 * time.Minute

// listed are the machines of the last complete list, and those of one after it that was not complete.
func (g *group) listed() []*machine {
	var all []*machine
	for _, r := range []*reading{g.good, g.doubted} {
		if r != nil {
			all = append(all, r.machines...)
		}
	}
	return all
}

// bare says whether lists of machines are all that tells of the group: no capacity says what they leave out.
func (g *group) bare() bool {
	if g.reading == nil {
		return false
	}
	_, is := g.reading.model.kind.(intentRecorder)
	return is
}

// date says of failures since when they are there, where Azure does not: since a read first showed them.
func (g *group) date(r *reading) {
	earlier := map[string]*machine{}
	if g.reading != nil {
		for _, m := range g.reading.machines {
			earlier[m.identity()] = m
		}
	}
	for _, m := range r.machines {
		if m.failure == nil || !m.failure.At.IsZero() {
			continue
		}
		m.failure.At = r.at
		if e := earlier[m.identity()]; e != nil && e.failure != nil && e.failure.Code == m.failure.Code {
			m.failure.At = e.failure.At
		}
	}
}

// show is the reading as the contract wants it, with what is known of the group's size and price, and of its machines beyond the list.
func (g *group) show(r *reading, blame map[string]*cluster.Failure, known map[string]beyond) *cluster.Group {
	view := r.view(g.id, blame, known)
	for i, in := range view.Parked {
		in.Passed = i >= r.model.kind.atOnce() || g.balks(in.UID, r.at)
	}
	listed := map[string]bool{}
	for _, in := range view.Instances {
		listed[in.UID] = true
	}
	g.away.departed, g.away.missing = nil, nil
	for uid, b := range known {
		switch {
		case b.does == verbDelete && !listed[uid]:
			g.away.departed = append(g.away.departed, uid)
		case b.absent && b.does != verbDelete:
			g.away.missing = append(g.away.missing, uid)
		}
	}
	slices.Sort(g.away.departed)
	slices.Sort(g.away.missing)
	g.facts.describe(view, r.model)
	return view
}

// sameStates says whether both show the same machines doing the same, and the same capacity.
func sameStates(a, b *cluster.Group) bool {
	return a.Capacity == b.Capacity && slices.EqualFunc(a.Instances, b.Instances, func(x, y *cluster.Instance) bool {
		return x.UID == y.UID && x.ID == y.ID && x.State == y.State
	})
}

// moving says whether the last read shows machines that come or go, or a group that is being changed.
func (g *group) moving() bool {
	if g.view == nil || g.problem.text != "" || g.view.Problem != "" {
		return false
	}
	if g.reading.model.provisioning == "Updating" {
		return true
	}
	return slices.ContainsFunc(g.view.Instances, func(in *cluster.Instance) bool {
		return in.State == cluster.StateCreating || in.State == cluster.StateDeleting
	})
}

// showAgain shows the group anew as the ledger has it by now. state.mu is held.
func (s *state) showAgain(g *group) {
	if g.reading != nil {
		g.view = g.show(g.reading, g.blame.uid, s.beyond(g))
	}
}

// unseen says whether the last read lists a machine that Azure accepted to remove as if it were to stay. state.mu is held.
func (s *state) unseen(g *group) bool {
	known := s.beyond(g)
	return g.reading != nil && slices.ContainsFunc(g.reading.machines, func(m *machine) bool {
		switch known[m.uid].does {
		case verbDelete:
			return !m.leaving()
		case verbPark, verbParked:
			return !m.off()
		}
		return false
	})
}

// attribute finds the machines that operations blamed.
func (g *group) attribute(r *reading) map[string]*cluster.Failure {
	blame := map[string]*cluster.Failure{}
	for _, m := range r.machines {
		if f := g.blame.uid[m.uid]; f != nil {
			blame[m.uid] = f
		}
		if f := g.blame.id[m.id]; f != nil {
			blame[m.uid] = f
		}
	}
	return blame
}

// retryEvery is how soon after a failed read the next is tried, unless Azure asked for more.
const retryEvery = 10 * time.Second

// patience is how old a read may become while sluice's own economy delays the next, before that is the group's problem.
const patience = 5 * time.Minute

// refuse records why a read failed. Answers that will not change by themselves are sought again when the cache's time is over. A token that is lacking, or
// not accepted, says nothing of the group.
func (g *group) refuse(e *cloud.Error, now time.Time) {
	if e.Code != shareSpent || now.Sub(g.looked()) >= patience {
		g.problem.fault = e
		g.problem.text, g.problem.unanswered = e.Message, e.Kind == cloud.Transient || e.Kind == cloud.Throttled
	}
	g.reads.resting = now.Add(max(retryAfterFault(e), e.RetryAfter))
	switch {
	case ofSignIn(e):
	case e.Kind == cloud.NotFound, e.Kind == cloud.Unauthorized, e.Kind == cloud.Invalid:
		g.reads.asked, g.reads.due, g.unknowns = now, nothing, 0
	}
}

// signInCodes are those of a token that cannot be had or is not accepted, besides the authority's own, which have no capital letters.
var signInCodes = []string{
	noToken, noMetadata, "Status401", "AuthenticationFailed", "InvalidAuthenticationToken", "ExpiredAuthenticationToken", "InvalidAuthenticationTokenTenant",
}

// ofSignIn says whether an error is about the identity as such, and not about what it asks for.
func ofSignIn(e *cloud.Error) bool {
	return slices.Contains(signInCodes, e.Code) || strings.ToLower(e.Code) == e.Code
}

// retryAfterFault is how soon after a failed read the next is tried, unless Azure asked for more. A sign-in that works again helps all at once.
func retryAfterFault(e *cloud.Error) time.Duration {
	if ofSignIn(e) {
		return rereadEvery
	}
	return retryEvery
}

// confirm takes the model that answered a write: the cloud's word for what it wants now (S-03). The machines stay those of the last
// read, which stays as complete as it was: it is older than the write, and shows fewer machines than the capacity that is believed now.
func (g *group) confirm(answered *model) bool {
	if g.reading == nil || answered == nil || answered.capacity <= 0 {
		return false
	}
	m := *g.reading.model
	m.capacity = answered.capacity
	m.version = cmp.Or(answered.version, m.version)
	m.provisioning = cmp.Or(answered.provisioning, m.provisioning)
	g.reading = g.reading.under(&m)
	return true
}

// under is the reading with another model.
func (r *reading) under(m *model) *reading {
	out := *r
	out.model = m
	return &out
}

// settle marks the believed model as at rest: an operation that asked for this capacity has succeeded. It is false when the belief is
// another, so that the model must be read.
func (g *group) settle(capacity int) bool {
	if g.reading == nil || g.reading.model.capacity != capacity || g.reading.model.provisioning == "" {
		return false
	}
	m := *g.reading.model
	m.provisioning = "Succeeded"
	g.reading = g.reading.under(&m)
	return true
}

// answer is the group as callers get it: theirs to keep, its instances shared.
func (g *group) answer() *cluster.Group {
	out := &cluster.Group{ID: g.id, Capacity: -1}
	if g.view != nil {
		*out = *g.view
		out.Instances, out.Parked = slices.Clone(g.view.Instances), slices.Clone(g.view.Parked)
		out.Departed, out.Missing = g.away.departed, g.away.missing
		if g.reading.model.unfit == "" {
			out.ProviderIDPrefix, out.HostnamePrefix = g.reading.model.names.id, g.reading.model.names.hostname
		}
	}
	out.Min, out.Max, out.Failure = g.min, g.max, g.failure
	if g.presence.how == gone {
		out.Min, out.Max, out.Failure, out.Deleted = 0, 0, nil, g.presence.since.UTC()
	}
	if g.problem.text != "" {
		out.Problem, out.Unanswered = g.problem.text, g.problem.unanswered
	}
	return out
}
