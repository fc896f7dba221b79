package grow

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// Misses is why groups do not hold the pods that are stuck. It belongs to the Planner and outlives the cycle, since thousands of classes
// may be stuck and their answers seldom change.
//
//	what was found                                     holds in the next cycle
//	of pods that depend on others or mind zones        no: any pod may change it
//	where some group was asked how far away a zone is  no, for the same reason
//	of other pods                                      while no standing changes, and each group that would do has the same limit
//
// last and now are nil while nothing is known, and after a standing or the policy has changed. A class that a cycle did not ask about is
// forgotten with Turn.
type Misses struct {
	allowed   *policy.Policy
	standings []*standing                // of the snapshot's groups, as they stood last
	last      map[*cluster.Class]*missed // what the last cycle found
	now       map[*cluster.Class]*missed // what this one has found, or found to hold
	untold    *missed                    // what is said of pods that are not asked about
}

// standing is what a group says to every pod alike, made anew in each cycle.
//
//	field           written by
//	digest, turns   look; what same compares, so that a change makes all answers void
//	asked, limit    limited, at the first question
//	free            askAll and wordAll, for the empty machine that is open
//	devices         sized
//	rooms, largest  makeRooms
//	notes           note
type standing struct {
	*Order
	digest uint64         // of an empty machine, in each zone
	turns  string         // of its zones, and until when some are passed over
	total  Totals         // of the cluster, for the limit
	limit  *reason.Reason // why the group may not add a machine, once somebody has asked
	asked  bool

	free    []int64                      // of an empty machine, by dimension, while it is asked
	notes   map[string]*reason.Reason    // that it has given
	devices map[corev1.ResourceName]bool // that some size has, once somebody has asked
	rooms   [][]int64                    // of an empty machine of each size the same as free, once somebody has asked
	largest []int64                      // of these the most, by dimension
}

// missed is why no group holds pods of a class. limited and limits stand in the same order; a limit is nil where the group may add a
// machine and still no machine came of it. because begins with the sum, which [Rounds.leaveOutHalf] cuts off.
type missed struct {
	far     bool  // a group was asked how far away a zone is, which any pod may change
	limited []int // the groups that would do, by their place, with what limits each
	limits  []*reason.Reason
	because []reason.Reason
}

// Stuck says why no group helps a pod.
type Stuck struct {
	*Orders
	limits   *Limits
	failures *Failures
	turns    *turns
	chain    *Chain
	missed   *Misses
}

// ExplainStuck says of pods without a place why no group helps, the nearest miss first (scenario stuck-reasons). Pods wait, and are not
// stuck, while a server of an expander is asked about them.
func (sk *Stuck) ExplainStuck(c *Candidates) {
	var stuck []*wanted
	for _, w := range c.wanted {
		switch {
		case w.Left() == 0:
		case sk.chain.Ask != nil:
			sk.Serve(w.Demand, w.Left(), action.PodWaiting, reason.New(reason.ExpanderAsked, reason.Ref{}))
		default:
			stuck = append(stuck, w)
		}
	}
	if len(stuck) == 0 {
		return
	}
	m := sk.missed
	m.look(sk)
	for i, found := range m.find(sk, stuck) {
		sk.ServeAlike(stuck[i].Demand, stuck[i].Left(), action.PodStuck, found.because)
	}
}

// Turn turns to the next cycle: what the last cycle was not asked is forgotten. All calls within a cycle share now.
func (m *Misses) Turn() { m.last, m.now = m.now, nil }

// learn notes why no group holds pods of the class.
func (m *Misses) learn(of *cluster.Class, found *missed) {
	if m.now == nil {
		m.now = map[*cluster.Class]*missed{}
	}
	m.now[of] = found
}

// look sees how the groups stand now. When one stands otherwise than before, or the policy is another one, all that was found is dropped.
func (m *Misses) look(d *Stuck) {
	total := d.limits.totals()
	now := make([]*standing, len(d.Snapshot.Groups))
	for i, g := range d.Snapshot.Groups {
		st := &standing{Order: d.Groups[g.ID], total: total}
		if now[i] = st; st.known() {
			for _, zone := range st.Sites() {
				st.digest = 31*st.digest + d.Check.Digest(d.Machines.Template(st.Incoming, zone))
			}
			st.turns = d.failures.turnsOf(st.Order)
		}
	}
	if m.allowed != d.Policy || !slices.EqualFunc(m.standings, now, (*standing).same) {
		m.last, m.now = nil, nil
	}
	m.allowed, m.standings = d.Policy, now
}

// same says whether the group says the same to every pod.
func (s *standing) same(o *standing) bool {
	return s.ID == o.ID && s.Size == o.Size && s.Sizes == o.Sizes && s.digest == o.digest && s.turns == o.turns && sameReason(s.Blocked, o.Blocked) && sameReason(s.PassedOver, o.PassedOver)
}

// find says of every stuck demand why no group holds it, in the order of stuck.
//
//	step     what it does
//	later    demands beyond a bound get one answer that claims nothing
//	known    answers that hold from before are taken over
//	inquiry  demands of one kind share an inquiry: the scheduler cannot tell their pods apart
//	askAll   each group opens one empty machine for all inquiries, and says how far it is
//	nearest  each inquiry keeps the groups that are nearest, and their limits
//	wordAll  only these say their reasons in words, which is what costs most
//	word     the answer is put together, and kept where it may hold
func (m *Misses) find(d *Stuck, stuck []*wanted) []*missed {
	found := make([]*missed, len(stuck))
	kinds := map[int]*inquiry{}
	later := m.later(d, stuck)
	var open []*inquiry
	for i, w := range stuck {
		if later != nil && later[d.Check.Kind(w.Of)] {
			found[i] = m.untold
			continue
		}
		depends := d.Check.Depends(w.Of) || w.zonal
		if known := cmp.Or(m.now[w.Of], m.last[w.Of]); known != nil && !depends && m.holds(d, known) {
			found[i] = known
			m.learn(w.Of, known)
			continue
		}
		kind := d.Check.Kind(w.Of)
		q := kinds[kind]
		if q == nil {
			q = &inquiry{pod: d.Waiting[w.Pods[w.Served]], depends: depends, needs: d.Check.Needs(w.Of), misses: make([]miss, len(m.standings))}
			kinds[kind] = q
			open = append(open, q)
		}
		q.of = append(q.of, i)
	}
	for at, st := range m.standings {
		if st.known() && len(open) > 0 {
			st.askAll(d, at, open)
		}
	}
	answers := make([]*missed, len(open))
	for i, q := range open {
		answers[i] = m.nearest(d, q)
	}
	for at, st := range m.standings {
		if st.known() && len(open) > 0 {
			st.wordAll(d, at, open)
		}
	}
	for i, q := range open {
		answer := answers[i]
		m.word(q, answer)
		for _, i := range q.of {
			found[i] = answer
			if !q.depends && !answer.far {
				m.learn(stuck[i].Of, answer)
			}
		}
	}
	return found
}

// later are the kinds of pods that are not asked about, nil where all are. Questions are kinds times groups, and [mostAsked] bounds them:
// the kinds with the oldest pods are asked about. So a tenant whose pods no group holds does not take the time and the memory of the
// others'.
func (m *Misses) later(d *Stuck, stuck []*wanted) map[int]bool {
	most := max(1, mostAsked/max(1, len(m.standings)))
	if len(stuck) <= most {
		return nil
	}
	kinds, later := map[int]bool{}, map[int]bool{}
	for _, w := range slices.SortedFunc(slices.Values(stuck), func(a, b *wanted) int { return cmp.Compare(a.Eldest, b.Eldest) }) {
		if kind := d.Check.Kind(w.Of); !kinds[kind] && len(kinds) < most {
			kinds[kind] = true
		} else if !kinds[kind] {
			later[kind] = true
		}
	}
	m.untold = &missed{because: []reason.Reason{reason.New(reason.NotExplained, reason.Ref{}, "limit", most)}}
	return later
}

// askAll asks an empty machine of the group about all open inquiries. Of several zones the one counts in which it comes nearest; only pods
// that depend on others or mind zones are asked about more than the first. Where a zone that is passed over would do, that is told instead
// of the zones that refuse.
func (s *standing) askAll(d *Stuck, at int, open []*inquiry) {
	for i, zone := range s.Sites() {
		d.Machines.OnEmpty(s.Order.Incoming, zone, func(h scheduling.Handle) {
			s.free = d.Check.Free(h)
			for _, q := range open {
				if i > 0 && !q.depends {
					continue
				}
				if one := s.ask(d, q, h); i == 0 || one.compare(q.misses[at]) < 0 {
					one.site = i
					q.misses[at] = one
				}
			}
		})
	}
	for _, q := range open {
		if q.misses[at].far == 0 {
			continue
		}
		if why := d.failures.passesOver(s.Order, q.pod); why != nil {
			q.misses[at] = miss{far: 2, why: []reason.Reason{*why}}
		}
	}
}

// inquiry is about pods of one kind, in one cycle. misses has a miss for each group. told is empty until nearest, and both are nil after
// word.
type inquiry struct {
	pod     *cluster.Pod // one of them
	depends bool
	needs   []int64 // of one of them, by dimension
	of      []int   // the demands, by their place
	misses  []miss  // by group
	told    []int   // the nearest groups, by their place, nearest first
}

// mostAsked is for how many pods of different kinds, times the groups, a cycle finds out why no group holds them: for some 5,000 where
// there are 50 groups.
const mostAsked = 250_000

// mostTold is how many groups tell a pod why they do not hold it. Words are what a stuck pod costs: those of 50 groups take 90 kB.
const mostTold = 5

// miss is how far a group is from holding the pods, and why. The zero value is a group that would do, or whose machines nobody knows.
//
//	far    meaning
//	0      an empty machine would do; the group is at a limit, or a zone's turn is too far away
//	1      the same, and the group is blocked, or an expander dropped it
//	2      only a zone that is passed over would do
//	1 + n  it refuses the pods for n reasons
//
// A group that is blocked is one farther in each row but the second. site, why and also are not compared.
type miss struct {
	far   int     // reasons that it refuses them for, and one; 0 when it would do and may not grow
	short float64 // the most that is asked of a resource for each one that is free
	site  int     // the group's zone in which that holds
	why   []reason.Reason
	also  *reason.Reason // why the group does not grow at all
}

func (a miss) compare(b miss) int {
	return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.short, b.short))
}

// ask asks an empty machine of the group, which is open, how far it is from holding the pods. s.free is what that machine has left.
func (s *standing) ask(d *Stuck, q *inquiry, h scheduling.Handle) miss {
	n := d.Check.Causes(q.pod, h)
	if n == 0 {
		return miss{}
	}
	one := miss{far: 1 + n}
	for dim, need := range q.needs {
		if need > s.free[dim] {
			one.short = max(one.short, float64(need)/float64(max(0, s.free[dim])))
		}
	}
	return one
}

// wordAll has the group word its refusals for the inquiries to which it is one of the nearest.
func (s *standing) wordAll(d *Stuck, at int, open []*inquiry) {
	for i, zone := range s.Sites() {
		var its []*inquiry
		for _, q := range open {
			if one := &q.misses[at]; one.far > 0 && one.site == i && one.why == nil && slices.Contains(q.told, at) {
				its = append(its, q)
			}
		}
		if len(its) == 0 {
			continue
		}
		d.Machines.OnEmpty(s.Order.Incoming, zone, func(h scheduling.Handle) {
			s.free = d.Check.Free(h)
			for _, q := range its {
				why := d.Check.Refusals(q.pod, d.Check.Name(h))
				for i := range why {
					why[i].About = reason.Group(string(s.ID))
				}
				if r := s.remedy(d, q, why); r != nil {
					why = append(why, *r)
				}
				q.misses[at].why = why
			}
		})
	}
}

// holds says whether what was found before would be found again: each group that would do has the same limit still. That the groups stand
// as before is known from look.
func (m *Misses) holds(d *Stuck, of *missed) bool {
	for i, at := range of.limited {
		if !sameReason(of.limits[i], m.standings[at].limited(d)) {
			return false
		}
	}
	return true
}

// known says whether an empty machine of the group can be asked: what it is is known, whether or not the group may grow now.
func (s *standing) known() bool { return s.Template != nil }

// unread says whether nothing is known of the group since it could not be read.
func (s *standing) unread() bool {
	return !s.known() && s.Blocked != nil && (s.Blocked.Code == reason.GroupUnreadable || s.Blocked.Code == reason.GroupIncomplete)
}

// limited says why the group may not add a machine, nil when it may.
func (s *standing) limited(d *Stuck) *reason.Reason {
	if !s.asked {
		s.asked, s.limit = true, d.limits.limit(s.Order, s.total, 0)
	}
	return s.limit
}

// nearest sums up an inquiry but for its words. It keeps the groups that come nearest: those that would do and may not grow, then those
// that refuse the pods, by how many reasons they have and how much they lack.
//
//	group                                          what it says besides
//	blocked                                        why; it is one step farther
//	would do, and is at a limit                    the limit
//	would do, and an expander dropped it           by which expander; it is one step farther
//	would do, and its zone's turn is too far away  how far
//	refuses the pods                               nothing
//
//	groups                  sum
//	none at all             NoGroupFound
//	one would do            NoGroupGrows
//	some could not be read  NoGroupRead: one of these may do
//	else                    NoGroupFits
func (m *Misses) nearest(d *Stuck, q *inquiry) *missed {
	a := &missed{}
	held, unread := false, []string(nil)
	for at, st := range m.standings {
		one := &q.misses[at]
		held = held || one.far == 0 && st.known()
		if st.unread() {
			unread = append(unread, string(st.ID))
		}
		switch {
		case st.Blocked != nil:
			one.far, one.also = one.far+1, st.Blocked
		case one.far == 0:
			limit := st.limited(d)
			a.limited, a.limits = append(a.limited, at), append(a.limits, limit)
			a.far = a.far || st.Rotation != nil
			switch {
			case limit != nil:
				one.also = limit
			case st.PassedOver != nil:
				one.far, one.also = 1, st.PassedOver
			default:
				one.also = d.turns.tooFar(st.Order, q.pod)
			}
		}
		q.told = append(q.told, at)
	}
	slices.SortStableFunc(q.told, func(x, y int) int { return q.misses[x].compare(q.misses[y]) })
	q.told = q.told[:min(len(q.told), mostTold)]
	sum := reason.New(reason.NoGroupFits, reason.Ref{})
	switch {
	case len(m.standings) == 0:
		sum = reason.New(reason.NoGroupFound, reason.Ref{})
	case held:
		sum = reason.New(reason.NoGroupGrows, reason.Ref{})
	case len(unread) > 0:
		sum = reason.New(reason.NoGroupRead, reason.Ref{}, "groups", strings.Join(unread, ", "))
	}
	a.because = append(make([]reason.Reason, 0, 3*len(q.told)), sum)
	return a
}

// word adds what the nearest groups say, and how many others there are.
func (m *Misses) word(q *inquiry, a *missed) {
	for _, at := range q.told {
		a.because = append(a.because, q.misses[at].why...)
		if also := q.misses[at].also; also != nil {
			a.because = append(a.because, *also)
		}
	}
	if more := len(m.standings) - len(q.told); more > 0 {
		a.because = append(a.because, reason.New(reason.MoreGroups, reason.Ref{}, "groups", more))
	}
	q.misses, q.told = nil, nil
}

func sameReason(a, b *reason.Reason) bool {
	return a == b || a != nil && b != nil && a.Code == b.Code && a.About == b.About && maps.Equal(a.Facts, b.Facts)
}

// passRefused leaves out groups on whose nodes pods of these classes were not bound by their scheduler, where another group would do (S-16,
// scenario turned-down-next-group). A demand loses no last site by it.
func (sk *Stuck) passRefused(c *Candidates) {
	if len(sk.Memory.Unbound) == 0 {
		return
	}
	for _, w := range c.wanted {
		refused := map[cluster.GroupID]bool{}
		for _, at := range w.Pods[w.Served:] {
			for _, g := range sk.Memory.Unbound[string(sk.Waiting[at].UID)].Refused {
				refused[g] = true
			}
		}
		if len(refused) > 0 && w.Claim == nil {
			w.leave(func(i int) bool { return !refused[c.sites[i].ID] })
		}
	}
}
