package grow

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// ExplainStuck says of pods without a place why no group helps, the nearest miss first.
func (d *Growth) ExplainStuck(c *Candidates) {
	var stuck []*wanted
	for _, w := range c.wanted {
		switch {
		case w.Left() == 0:
		case d.Ask != nil:
			d.Serve(w.Demand, w.Left(), action.PodWaiting, reason.New(reason.ExpanderAsked, reason.Ref{}))
		default:
			stuck = append(stuck, w)
		}
	}
	if len(stuck) == 0 {
		return
	}
	m := d.missed
	m.look(d)
	for i, found := range m.find(d, stuck) {
		d.ServeAlike(stuck[i].Demand, stuck[i].Left(), action.PodStuck, found.because)
	}
}

// Turn turns to the next cycle: what the last one was not asked is forgotten.
func (m *Misses) Turn() { m.last, m.now = m.now, nil }

// learn notes why no group holds pods of the class.
func (m *Misses) learn(of *cluster.Class, found *missed) {
	if m.now == nil {
		m.now = map[*cluster.Class]*missed{}
	}
	m.now[of] = found
}

// look sees how the groups stand now.
func (m *Misses) look(d *Growth) {
	total := d.totals()
	now := make([]*stance, len(d.Snapshot.Groups))
	for i, g := range d.Snapshot.Groups {
		st := &stance{Order: d.Groups[g.ID], total: total}
		if now[i] = st; st.known() {
			for _, zone := range st.Sites() {
				st.digest = 31*st.digest + d.Check.Digest(d.Template(st.Incoming, zone))
			}
			st.turns = d.turnsOf(st.Order)
		}
	}
	if m.allowed != d.Policy || !slices.EqualFunc(m.stances, now, (*stance).same) {
		m.last, m.now = nil, nil
	}
	m.allowed, m.stances = d.Policy, now
}

// same says whether the group says the same to every pod.
func (s *stance) same(o *stance) bool {
	return s.ID == o.ID && s.Size == o.Size && s.Sizes == o.Sizes && s.digest == o.digest && s.turns == o.turns && sameReason(s.Blocked, o.Blocked) && sameReason(s.PassedOver, o.PassedOver)
}

// find says of every stuck demand why no group holds it. What holds from before is not asked again, and kinds of pods are asked about once.
func (m *Misses) find(d *Growth, stuck []*wanted) []*missed {
	found := make([]*missed, len(stuck))
	kinds := map[int]*inquiry{}
	var open []*inquiry
	for i, w := range stuck {
		depends := d.Check.Depends(w.Of) || w.zonal
		if known := cmp.Or(m.now[w.Of], m.last[w.Of]); known != nil && !depends && m.holds(d, known) {
			found[i] = known
			m.learn(w.Of, known)
			continue
		}
		kind := d.Check.Kind(w.Of)
		q := kinds[kind]
		if q == nil {
			q = &inquiry{pod: d.Waiting[w.Pods[w.Served]], depends: depends, needs: d.Check.Needs(w.Of), misses: make([]miss, len(m.stances))}
			kinds[kind] = q
			open = append(open, q)
		}
		q.of = append(q.of, i)
	}
	for at, st := range m.stances {
		if st.known() && len(open) > 0 {
			st.askAll(d, at, open)
		}
	}
	for _, q := range open {
		answer := m.answer(d, q)
		for _, i := range q.of {
			found[i] = answer
			if !q.depends && !answer.far {
				m.learn(stuck[i].Of, answer)
			}
		}
	}
	return found
}

// askAll asks an empty machine of the group about all open inquiries: in the zone in which it comes nearest to taking the pods.
func (s *stance) askAll(d *Growth, at int, open []*inquiry) {
	for i, zone := range s.Sites() {
		d.OnEmpty(s.Order.Incoming, zone, func(h scheduling.Handle) {
			s.free = d.Check.Free(h)
			for _, q := range open {
				if i > 0 && !q.depends {
					continue
				}
				if one := s.ask(d, q, h); i == 0 || one.compare(q.misses[at]) < 0 {
					q.misses[at] = one
				}
			}
		})
	}
	for _, q := range open {
		if len(q.misses[at].why) == 0 {
			continue
		}
		if why := d.passesOver(s.Order, q.pod); why != nil {
			q.misses[at] = miss{far: 2, why: []reason.Reason{*why}}
		}
	}
}

// inquiry is about pods of one kind.
type inquiry struct {
	pod     *cluster.Pod // one of them
	depends bool
	needs   []int64 // of one of them, by dimension
	of      []int   // the demands, by their place
	misses  []miss  // by group
}

// miss is how far a group is from holding the pods, and why.
type miss struct {
	far   int     // reasons that it refuses them for, and one; 0 when it would do and may not grow
	short float64 // the most that is asked of a resource for each one that is free
	why   []reason.Reason
}

func (a miss) compare(b miss) int {
	return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.short, b.short))
}

// ask asks an empty machine of the group, which is open, about the pods.
func (s *stance) ask(d *Growth, q *inquiry, h scheduling.Handle) miss {
	why := d.Check.Refusals(q.pod, d.Check.Name(h))
	if len(why) == 0 {
		return miss{}
	}
	one := miss{far: 1 + len(why), why: why}
	for i := range why {
		why[i].About = reason.Group(string(s.ID))
	}
	for dim, need := range q.needs {
		if need > s.free[dim] {
			one.short = max(one.short, float64(need)/float64(max(0, s.free[dim])))
		}
	}
	if r := s.remedy(d, q, why); r != nil {
		one.why = append(why, *r)
	}
	return one
}

// holds says whether what was found before would be found again.
func (m *Misses) holds(d *Growth, of *missed) bool {
	for i, at := range of.limited {
		if !sameReason(of.limits[i], m.stances[at].limited(d)) {
			return false
		}
	}
	return true
}

// known says whether an empty machine of the group can be asked: what it is is known, whether or not the group may grow now.
func (s *stance) known() bool { return s.Template != nil }

// unread says whether nothing is known of the group since it could not be read.
func (s *stance) unread() bool {
	return !s.known() && s.Blocked != nil && (s.Blocked.Code == reason.GroupUnreadable || s.Blocked.Code == reason.GroupIncomplete)
}

// limited says why the group may not add a machine, nil when it may.
func (s *stance) limited(d *Growth) *reason.Reason {
	if !s.asked {
		s.asked, s.limit = true, d.limit(s.Order, s.total, 0)
	}
	return s.limit
}

// answer sums up an inquiry, the groups that come nearest to holding the pods first: those that would do and may not grow, then those
// that refuse them, by how many reasons they have and how much they lack.
func (m *Misses) answer(d *Growth, q *inquiry) *missed {
	a := &missed{}
	all := make([]miss, 0, len(m.stances))
	count, held, unread := 1, false, []string(nil)
	for at, st := range m.stances {
		one := q.misses[at]
		held = held || len(one.why) == 0 && st.known()
		if st.unread() {
			unread = append(unread, string(st.ID))
		}
		switch {
		case st.Blocked != nil && len(one.why) == 0:
			one = miss{far: 1, why: []reason.Reason{*st.Blocked}}
		case st.Blocked != nil:
			one.far, one.why = one.far+1, append(slices.Clip(one.why), *st.Blocked)
		case len(one.why) == 0:
			limit := st.limited(d)
			a.limited, a.limits = append(a.limited, at), append(a.limits, limit)
			a.far = a.far || st.Rotation != nil
			if limit != nil {
				one = miss{why: []reason.Reason{*limit}}
			} else if st.PassedOver != nil {
				one = miss{far: 1, why: []reason.Reason{*st.PassedOver}}
			} else if far := d.tooFar(st.Order, q.pod); far != nil {
				one = miss{why: []reason.Reason{*far}}
			}
		}
		all = append(all, one)
		count += len(one.why)
	}
	slices.SortStableFunc(all, miss.compare)
	sum := reason.New(reason.NoGroupFits, reason.Ref{})
	switch {
	case len(m.stances) == 0:
		sum = reason.New(reason.NoGroupFound, reason.Ref{})
	case held:
		sum = reason.New(reason.NoGroupGrows, reason.Ref{})
	case len(unread) > 0:
		sum = reason.New(reason.NoGroupRead, reason.Ref{}, "groups", strings.Join(unread, ", "))
	}
	a.because = append(make([]reason.Reason, 0, count), sum)
	for _, one := range all {
		a.because = append(a.because, one.why...)
	}
	return a
}

func sameReason(a, b *reason.Reason) bool {
	return a == b || a != nil && b != nil && a.Code == b.Code && a.About == b.About && maps.Equal(a.Facts, b.Facts)
}

// passRefused leaves out groups on whose nodes pods of these classes were not bound, where another group would do.
func (d *Growth) passRefused(c *Candidates) {
	if len(d.Memory.Unbound) == 0 {
		return
	}
	for _, w := range c.wanted {
		refused := map[cluster.GroupID]bool{}
		for _, at := range w.Pods[w.Served:] {
			for _, g := range d.Memory.Unbound[string(d.Waiting[at].UID)].Refused {
				refused[g] = true
			}
		}
		if len(refused) > 0 && w.Claim == nil {
			w.leave(func(i int) bool { return !refused[c.sites[i].ID] })
		}
	}
}
