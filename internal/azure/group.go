package azure

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
)

// group is what is remembered of one node group, of whatever kind. Provider.mu guards it.
type group struct {
	id         cluster.GroupID
	noun       string // what Azure calls such a group: [source.noun]
	name       string // as Azure or the flag spells it
	min, max   int
	discovered bool
	absent     absence
	since      time.Time // when it became denied, or gone
	facts      *facts    // of sizes and prices

	reading *reading       // what is shown; nil when there was none. Its machines are those of good unless there was none
	view    *cluster.Group // made from it, never changed; nil when there was none
	good    *reading       // the last complete one; nil when there was none
	doubted *reading       // the last one, when it was not complete
	doubts  int            // how many reads in a row decisions could not rest on
	moved   time.Time      // when a read last showed other machines, states or capacity than the one before
	asked   time.Time      // when a read last had a result
	checked time.Time      // when a list last showed that the model is still the one of the reading
	resting time.Time      // after a failed read: no other before
	steady  bool           // as the last cycle saw it: see [Provider.Attend]
	due     due            // what must be read again before the cache's time is over
	stamp   uint64         // of the youngest fact; answers to older questions are dropped
	asking  *question      // the read that has no answer yet; nil when there is none
	took    time.Duration  // the last good read
	mute    bool           // the last read had no answer in time

	lost      int              // the capacity of a growth that was given up, whose outcome no read has told yet; 0 when there is none
	wanted    int              // the capacity that the write under way asks for; 0 when none does
	muteWrite bool             // the last write had no answer in time
	balked    time.Time        // when a growth was last refused in a way that may pass; zero after one that was accepted
	problem   string           // of the last read; "" when it was good
	fault     *cloud.Error     // behind the problem
	unheard   bool             // it is no more than that Azure did not answer, or not then
	failure   *cluster.Failure // of the last operation

	// blame is why machines failed, as operations said it: by instance id until the next complete read tells who bears that id.
	blameID  map[string]*cluster.Failure
	blameUID map[string]*cluster.Failure

	// written are the machines, by UID, that Azure accepted to delete, switch off or start: they are shown so, and deleted ones may be
	// missing, from the acceptance to the first complete read after the operation's end. It is empty once Azure has said that the
	// operation failed. A read may be older than it looks: until believed, a machine whose removal was accepted, and has not failed, is shown
	// so for as long as lists have it at work, so that nobody names it again (S-11) or counts on it (S-06).
	written  map[string]verb
	believed time.Time

	// buried are the machines whose removal was accepted, has not failed, and that a list then lacked, and those of which Azure answered a write that they
	// are not there, by UID, with the time of that. Azure answers from
	// more places than one: what has them again for a while is an older list.
	buried map[string]time.Time

	// laid are the machines whose switching off was accepted, and that a list then showed so, by UID, with the time of that: what has them at work again for
	// a while is an older list, unless it has them starting, or this process starts them.
	laid map[string]time.Time

	// slept are machines that were switched off, by UID, and when that was last known of them: those that run have been started since.
	slept map[string]time.Time

	departed map[string]time.Time // machines that were being deleted, by UID, and when a read last found them so
	missing  map[string]miss      // machines that a complete list lacked and nobody saw leave, by UID
	taken    map[string]time.Time // machines that left by another hand, by UID, and when a read first showed it
	rested   []string             // UIDs of machines that an earlier process left switched off, or coming, of a pool all of them, until the first complete list

	granted   grant                // of the last growth that made machines
	ahead     []Operation          // what the growth under way asks for, for the record
	unstarted map[string]time.Time // machines that could not be started, by UID, and when that was tried
}

// grant is a capacity that Azure has accepted, or that a process was killed over that asked for it, less the machines that it has accepted to delete since, or was seen to.
type grant struct {
	capacity int
	until    time.Time // lists may show a smaller one until then
	failed   bool      // the operation has: Azure may have taken the capacity back
}

// stands says whether the group's capacity is at least this one, whatever answers say.
func (g grant) stands(now time.Time) bool { return now.Before(g.until) && !g.failed }

// miss is a machine that a complete list lacked.
type miss struct {
	at     time.Time // when it was read
	silent bool      // no node spoke for it when a list had it last: it was switched off, or too young to have joined for sure
}

// hides says whether the machine, of which no node speaks, may be there all the same.
func (m miss) hides(now time.Time) bool { return m.silent && now.Sub(m.at) < believeFor }

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

// take makes r the group's reading. It reports a reading that cannot be used, and then leaves what was known. Of one that is not complete
// it takes the model alone, unless there never was a complete one.
func (g *group) take(r *reading) *cloud.Error {
	r.whole, r.doubt = false, nil
	g.date(r)
	g.exhume(r)
	g.watchLeave(r)
	g.watchSleep(r)
	blame := g.attribute(r)
	view, err := g.show(r, blame)
	if err != nil {
		return &cloud.Error{Kind: cloud.Transient, Group: g.id, Code: unreadable, Message: fmt.Sprintf("read %s: %v", g, err)}
	}
	at, blameID := r.at, map[string]*cluster.Failure(nil)
	switch doubt := g.doubt(r); {
	case r.model.unfit != "":
		g.good, g.doubted = nil, nil
	case doubt == nil:
		g.watchMissing(r)
		g.good, g.doubted = r, nil
		r.whole = true
		view.Read.Complete = true
	default:
		g.doubted, r.doubt = r, doubt
		if g.good != nil {
			r = &reading{model: r.model, machines: g.good.machines, at: g.good.at, doubt: doubt}
			blame, blameID = g.blameUID, g.blameID
			if view, err = g.show(r, blame); err != nil {
				return &cloud.Error{Kind: cloud.Transient, Group: g.id, Code: unreadable, Message: fmt.Sprintf("read %s: %v", g, err)}
			}
		}
	}
	if g.view == nil || !sameStates(g.view, view) {
		g.moved = at
	}
	g.doubts++
	if view.Problem != "" || view.Usable() {
		g.doubts = 0
	}
	g.reading, g.view, g.blameUID, g.blameID = r, view, blame, blameID
	g.asked, g.resting, g.due, g.problem = at, time.Time{}, nothing, ""
	return nil
}

// bury takes Azure's word, in answer to a write, that there is no machine of this id any more: lists that have it are older than that. It returns the UID.
func (g *group) bury(id string, now time.Time) (uid string) {
	if g.reading == nil {
		return ""
	}
	for _, m := range g.reading.machines {
		if m.id == id {
			if g.buried == nil {
				g.buried = map[string]time.Time{}
			}
			g.buried[m.uid] = now
			g.mark(verbDelete, []cluster.Machine{{UID: m.uid}})
			uid = m.uid
		}
	}
	return uid
}

// exhume marks machines as being deleted, or switched off, that an older list has again, or has at work, and forgets those of which that was long ago.
func (g *group) exhume(r *reading) {
	maps.DeleteFunc(g.buried, func(_ string, at time.Time) bool { return r.at.Sub(at) >= believeFor })
	maps.DeleteFunc(g.laid, func(_ string, at time.Time) bool { return r.at.Sub(at) >= believeFor })
	for _, m := range r.machines {
		_, gone := g.buried[m.uid]
		_, rests := g.laid[m.uid]
		if m.power == "starting" {
			delete(g.laid, m.uid) // by another hand
			rests = false
		}
		if g.written == nil {
			g.written = map[string]verb{}
		}
		switch {
		case gone:
			g.written[m.uid] = verbDelete
		case rests && !m.off() && !m.leaving() && g.written[m.uid] == "":
			g.written[m.uid] = verbParked
		}
	}
}

// watchLeave remembers which machines are being deleted, by the list or because Azure has accepted it.
func (g *group) watchLeave(r *reading) {
	if g.departed == nil {
		g.departed = map[string]time.Time{}
	}
	for _, m := range r.machines {
		if m.leaving() {
			if _, known := g.departed[m.uid]; !known && g.written[m.uid] != verbDelete { // by another hand, or by Azure itself
				g.granted.capacity--
				g.takes(m.uid, r.at)
			}
			g.departed[m.uid] = r.at
		} else {
			delete(g.departed, m.uid) // it stays after all, unless Azure's word on its deletion stands
			delete(g.taken, m.uid)
		}
	}
	for uid, does := range g.written {
		if does == verbDelete {
			g.departed[uid] = r.at
		}
	}
	maps.DeleteFunc(g.departed, func(_ string, at time.Time) bool { return r.at.Sub(at) >= believeFor })
}

// missFor is how long a machine is remembered that lists lack and nobody saw leave.
const missFor = 24 * time.Hour

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

// watchMissing remembers which machines of the last lists the next complete one lacks without a reason, and forgets those that it has.
func (g *group) watchMissing(r *reading) {
	if g.missing == nil {
		g.missing = map[string]miss{}
	}
	listed := map[string]bool{}
	for _, m := range r.machines {
		listed[m.uid] = true
		delete(g.missing, m.uid)
	}
	lacks := func(uid string) bool {
		_, left := g.departed[uid]
		return !left && !listed[uid] && uid != ""
	}
	for _, m := range g.listed() {
		if lacks(m.uid) {
			g.missing[m.uid] = miss{r.at, m.off() || m.young(r.at) || r.at.Sub(g.slept[m.uid]) < joinsWithin}
			g.takes(m.uid, r.at)
		}
	}
	for _, uid := range g.rested {
		if lacks(uid) {
			g.missing[uid] = miss{r.at, true}
		}
	}
	g.rested = nil
	maps.DeleteFunc(g.missing, func(_ string, m miss) bool { return r.at.Sub(m.at) >= missFor })
}

// hidden counts the machines that lists have lacked for some minutes, that nobody saw leave, and that no node speaks for: the list may lie.
func (g *group) hidden(now time.Time) (n int) {
	for _, m := range g.missing {
		if m.hides(now) {
			n++
		}
	}
	return n
}

// bare says whether lists of machines are all that tells of the group: no capacity says what they leave out.
func (g *group) bare() bool {
	if g.reading == nil {
		return false
	}
	_, is := g.reading.model.kind.(foreteller)
	return is
}

// rest are the UIDs, sorted, of the machines that the last lists have switched off or too young to have joined for sure, and those that [group.hidden]
// counts: for the process that comes after this one, to which a first list may lie. Of a group of which lists alone tell they are all machines but those
// that leave, and all that lists have lost lately.
func (g *group) rest(now time.Time) []string {
	rest := slices.Clone(g.rested)
	for _, m := range g.listed() {
		if (m.off() || (g.bare() || m.young(now)) && !m.leaving()) && m.uid != "" {
			rest = append(rest, m.uid)
		}
	}
	for uid, m := range g.missing {
		if m.hides(now) || g.bare() && now.Sub(m.at) < believeFor {
			rest = append(rest, uid)
		}
	}
	slices.Sort(rest)
	return slices.Compact(rest)
}

// gone are the machines that were being deleted and are in the view no more, sorted by UID.
func (g *group) gone() []string {
	listed := map[string]bool{}
	for _, in := range g.view.Instances {
		listed[in.UID] = true
	}
	var gone []string
	for uid := range g.departed {
		if !listed[uid] {
			gone = append(gone, uid)
		}
	}
	slices.Sort(gone)
	return gone
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

// watchSleep remembers which machines the list has switched off, and forgets those that it lacks once they had the time to become nodes.
func (g *group) watchSleep(r *reading) {
	was := g.slept
	g.slept = map[string]time.Time{}
	for uid, at := range was {
		if r.at.Sub(at) < joinsWithin {
			g.slept[uid] = at
		}
	}
	for _, m := range r.machines {
		if m.off() {
			g.slept[m.uid] = r.at
		} else if at, slept := was[m.uid]; slept {
			g.slept[m.uid] = at
		}
	}
}

// show is the reading as the contract wants it, with what is known of the group's size and price.
func (g *group) show(r *reading, blame map[string]*cluster.Failure) (*cluster.Group, error) {
	view, err := r.view(g.id, blame, g.written)
	if err != nil {
		return nil, err
	}
	for _, in := range view.Instances {
		in.Started = g.slept[in.UID]
	}
	g.facts.describe(view, r.model)
	return view, nil
}

// sameStates says whether both show the same machines doing the same, and the same capacity.
func sameStates(a, b *cluster.Group) bool {
	return a.Capacity == b.Capacity && slices.EqualFunc(a.Instances, b.Instances, func(x, y *cluster.Instance) bool {
		return x.UID == y.UID && x.ID == y.ID && x.State == y.State
	})
}

// moving says whether the last read shows machines that come or go, or a group that is being changed.
func (g *group) moving() bool {
	if g.view == nil || g.problem != "" || g.view.Problem != "" {
		return false
	}
	if g.reading.model.provisioning == "Updating" {
		return true
	}
	return slices.ContainsFunc(g.view.Instances, func(in *cluster.Instance) bool {
		return in.State == cluster.StateCreating || in.State == cluster.StateDeleting
	})
}

// mark shows the machines as Azure has accepted to change them. Those that go have the group read once for what it says itself.
func (g *group) mark(does verb, named []cluster.Machine) {
	if g.written == nil {
		g.written = map[string]verb{}
	}
	for _, m := range named {
		g.written[strings.ToLower(m.UID)] = does
		if does == verbStart {
			delete(g.laid, strings.ToLower(m.UID))
		}
	}
	if does != verbStart {
		g.due = all
	}
	if g.reading == nil {
		return
	}
	if view, err := g.show(g.reading, g.blameUID); err == nil {
		g.view = view
	}
}

// unmark forgets what was accepted of such a kind.
func (g *group) unmark(does verb) {
	maps.DeleteFunc(g.written, func(_ string, w verb) bool { return w == does })
}

// believeFor is how long Azure's word on a removal or a start, that it was accepted or has succeeded, stands after the operation's end against
// lists that still have the machine as it was: they may be older than they look.
const believeFor = 10 * time.Minute

// unmarkGone forgets the machines that the reading does not list any more, and those that it shows switched off, or at work, as asked. One
// that comes up was started after it was switched off, however old the list is.
func (g *group) unmarkGone() {
	at := map[string]*machine{}
	for _, m := range g.reading.machines {
		at[m.uid] = m
	}
	for uid, w := range g.written {
		if w == verbDelete && at[uid] == nil {
			if g.buried == nil {
				g.buried = map[string]time.Time{}
			}
			g.buried[uid] = g.reading.at
		}
		if w == verbPark && at[uid] != nil && at[uid].power == "deallocated" {
			if g.laid == nil {
				g.laid = map[string]time.Time{}
			}
			g.laid[uid] = g.reading.at
		}
	}
	maps.DeleteFunc(g.written, func(uid string, w verb) bool {
		return at[uid] == nil || w == verbPark && at[uid].power == "deallocated" ||
			w == verbParked && (at[uid].off() || at[uid].power == "starting") || w == verbStart && !at[uid].off()
	})
}

// unseen says whether the last read lists a machine that Azure accepted to remove as if it were to stay.
func (g *group) unseen() bool {
	return g.reading != nil && slices.ContainsFunc(g.reading.machines, func(m *machine) bool {
		switch g.written[m.uid] {
		case verbDelete:
			return !m.leaving()
		case verbPark:
			return !m.off()
		}
		return false
	})
}

// attribute finds the machines that operations blamed.
func (g *group) attribute(r *reading) map[string]*cluster.Failure {
	blame := map[string]*cluster.Failure{}
	for _, m := range r.machines {
		if f := g.blameUID[m.uid]; f != nil {
			blame[m.uid] = f
		}
		if f := g.blameID[m.id]; f != nil {
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
		g.fault = e
		g.problem, g.unheard = e.Message, e.Kind == cloud.Transient || e.Kind == cloud.Throttled
	}
	g.resting = now.Add(max(retryAfterFault(e), e.RetryAfter))
	switch {
	case ofSignIn(e):
	case e.Kind == cloud.NotFound, e.Kind == cloud.Unauthorized, e.Kind == cloud.Invalid:
		g.asked, g.due, g.doubts = now, nothing, 0
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
		return doubtEvery
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
	r := g.reading.under(&m)
	view, err := g.show(r, g.blameUID)
	if err != nil {
		return false
	}
	g.reading, g.view = r, view
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
func (g *group) answer(now time.Time) *cluster.Group {
	out := &cluster.Group{ID: g.id, Capacity: -1}
	if g.view != nil {
		*out = *g.view
		out.Instances, out.Parked, out.Departed = slices.Clone(g.view.Instances), slices.Clone(g.view.Parked), g.gone()
		out.Missing = slices.Sorted(maps.Keys(g.missing))
		for _, uid := range out.Missing {
			if g.missing[uid].hides(now) {
				out.Hidden = append(out.Hidden, uid)
			}
		}
		if g.reading.model.unfit == "" {
			out.ProviderIDPrefix, out.HostnamePrefix = g.reading.model.machinesBegin, g.reading.model.hostsBegin
		}
	}
	out.Min, out.Max, out.Failure = g.min, g.max, g.failure
	if g.absent == gone {
		out.Min, out.Max, out.Failure, out.Deleted = 0, 0, nil, g.since.UTC()
	}
	if g.problem != "" {
		out.Problem, out.Unheard = g.problem, g.unheard
	}
	return out
}
