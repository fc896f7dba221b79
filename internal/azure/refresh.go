package azure

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"sluice.dev/sluice/cloud"
)

// parallelReads bounds the questions that are asked at once and waited for.
const parallelReads = 5

// rounds read all groups, each as often as it needs.
type rounds struct {
	*state
	*questions
	*pacer
	*reader
	takeOver func(ctx context.Context, listed bool) // what an earlier process was at; state.mu is held

	// state.mu guards what follows.

	listed       time.Time         // when the models of all groups were last listed
	listAgain    time.Time         // after a failed list: no other before
	listFault    error             // of the last list, nil when it was good
	listing      *listing          // under way, or not looked at yet; nil when there is none
	listTook     time.Duration     // the last good one
	listTimedOut bool              // the last one had no answer in time
	warned       map[string]string // what was said of discovered scale sets that are left out, by key
}

// job is one group to read.
type job struct {
	*question
	group *group
	model *model // nil: it is asked for
	busy  bool   // it is being changed: only what decisions need is asked for
	stamp uint64
	fault *cloud.Error // of the answer
}

// job is a read of the group that is to begin: there is no other until its answer has come. state.mu is held.
func (rs *rounds) job(g *group, m *model, busy bool) *job {
	j := &job{question: newQuestion(g.patience()), group: g, model: m, busy: busy, stamp: rs.stamp()}
	g.asking = j.question
	return j
}

// reads is a job as a question.
func (rs *rounds) reads(j *job) func(context.Context) func() {
	g := j.group
	return func(ctx context.Context) func() {
		r, fault := rs.read(ctx, g, j.model)
		if fault == nil && !j.busy {
			rs.addresses.ask(ctx, r.model, r.machines)
		}
		return func() {
			g.asking = nil
			if fault == nil {
				g.reads.took = rs.now().Sub(j.asked)
			}
			g.reads.timedOut = fault != nil && fault.Code == noAnswer
			if fault != nil && fault.Kind == cloud.NotFound && g.presence.how == unlisted {
				fault, g.presence.how, g.presence.since = rs.unlisted(g), denied, j.asked
			}
			j.fault = rs.store(g, j.stamp, r, fault) // a fault is the group's problem
		}
	}
}

// listing is a list of the models of all groups that was asked for.
type listing struct {
	*question
	stamp  uint64
	models []*model
	fault  *cloud.Error // of the answer, nil when it was good
}

// refresh reads what is due: the models of all groups with one list when a calm one is stale, those that an operation changed or that are
// restless one by one, and then the machines of each. A list that has no answer yet does without one: models are then asked for one by one.
func (rs *rounds) refresh(ctx context.Context) {
	l := rs.list(ctx)
	jobs := rs.plan(ctx, l)
	questions := make([]*question, len(jobs))
	for i, j := range jobs {
		questions[i] = j.question
	}
	rs.askAll(ctx, questions, func(i int) { rs.ask(rs.life, questions[i], rs.reads(jobs[i])) })
}

// list is the answer to the question for all models, where one is due or one has come that nobody waited for; nil for none.
func (rs *rounds) list(ctx context.Context) *listing {
	rs.mu.Lock()
	l := rs.listing
	begins := l == nil && rs.listWanted()
	if begins {
		wait := min(mostWait, max(leastWait, 3*rs.listTook))
		switch {
		case len(rs.groups) == 0: // nothing else is to be decided
			wait = mostWait
		case rs.listTimedOut:
			wait = 0
		case rs.lists == 0:
			wait = firstWait
		}
		l = &listing{question: newQuestion(wait), stamp: rs.stamp()}
		rs.listing = l
	}
	rs.mu.Unlock()
	if l == nil {
		return nil
	}
	if begins {
		rs.ask(rs.life, l.question, rs.listsAll(l))
		rs.await(ctx, l.question)
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if !l.over {
		return nil
	}
	rs.listing = nil
	return l
}

// listsAll is the question for all models.
func (rs *rounds) listsAll(l *listing) func(context.Context) func() {
	return func(ctx context.Context) func() {
		models, err := rs.source.models(ctx)
		if err != nil && rs.once(err) && !rs.unlucky() {
			models, err = rs.source.models(ctx)
		}
		var fault *cloud.Error
		if err != nil {
			fault = rs.wrap("", rs.listDoing(), err)
		}
		return func() {
			if l.models, l.fault = models, fault; fault == nil {
				rs.listTook = rs.now().Sub(l.asked)
			}
			rs.listTimedOut = fault != nil && fault.Code == noAnswer
		}
	}
}

// unlucky says whether the last list of all models failed.
func (rs *rounds) unlucky() bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.listFault != nil
}

func (rs *rounds) listDoing() string {
	return fmt.Sprintf("list the %ss of resource group %q", rs.source.noun(), rs.options.ResourceGroup)
}

// listWanted says whether the models must be listed: for a calm group that is stale, for two restless ones, which cost as much one by one,
// or for discovery. state.mu is held.
func (rs *rounds) listWanted() bool {
	now := rs.now()
	if now.Before(rs.listAgain) {
		return false
	}
	restless := 0
	for _, g := range rs.groups {
		switch {
		case !rs.stale(g, now):
		case !rs.restless(g), g.presence.how == gone:
			return true
		default:
			restless++
		}
	}
	if restless > 1 {
		return true
	}
	if len(rs.options.Discovery) == 0 {
		return false
	}
	ttl := rs.options.period()
	if len(rs.operations) > 0 {
		ttl *= busyFactor
	}
	return now.Sub(rs.listed) >= ttl
}

// plan takes in what the list said, if there was one, and names the groups whose machines must be read. A list says nothing of a group about
// which a younger answer has come since it was asked for.
func (rs *rounds) plan(ctx context.Context, l *listing) []*job {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	now := rs.now()
	models := map[string]*model{}
	var fault *cloud.Error
	if l != nil {
		fault = l.fault
		for _, m := range l.models {
			models[key(m.name)] = m
		}
	}
	listed, beat := l != nil && fault == nil, rs.beat(now)
	switch {
	case fault != nil:
		rs.listFault, rs.listAgain = fault, now.Add(max(retryAfterFault(fault), fault.RetryAfter))
		if fault.Code == shareSpent {
			rs.listFault = nil // a pause of our own
		}
	case listed:
		rs.listFault, rs.listed = nil, l.asked
		rs.lists++
		rs.discover(l)
		rs.takeOver(ctx, true)
	}
	var jobs []*job
	for _, k := range slices.Sorted(maps.Keys(rs.groups)) { // so that those who read in turn do so in one order
		g, m := rs.groups[k], models[k]
		known := listed && g.reads.stamp <= l.stamp
		if !known {
			m = nil
		}
		stale := rs.stale(g, now)
		looks := stale || known && beat && rs.joins(g, now)
		switch {
		case g.asking != nil:
			// its answer is on its way
		case g.presence.how == gone && known:
			if fault := rs.clear(g, l.asked); fault != nil {
				g.refuse(fault, now)
			}
		case g.presence.how == gone && (l == nil || fault == nil || fault.Kind == cloud.Throttled || fault.Code == noAnswer):
			// its turn comes with the next list
		case known && beat && !stale && m != nil && !rs.busy(g.id) && rs.unmoved(g, m, now):
			g.reads.checked = l.asked // the list has said so anyway, and the group keeps step with the others
		case stale && fault != nil && fault.Kind != cloud.Throttled && fault.Code != noAnswer:
			g.refuse(fault, now)
		case !looks && (g.reads.due == nothing || now.Before(g.reads.resting)):
			// not its turn
		case stale && !known && !rs.restless(g) && !rs.listShut(now):
			// its turn comes with the next list
		case known && m == nil && g.presence.how == denied:
			g.refuse(rs.unlisted(g), now)
		case known && m == nil: // one list may lie: the group itself is asked for
			jobs = append(jobs, rs.job(g, nil, rs.busy(g.id)))
		case looks && known && rs.unmoved(g, m, now):
			g.reads.checked = l.asked
		case !looks && g.reads.due == machines && g.reading != nil && g.reading.whole:
			jobs = append(jobs, rs.job(g, g.reading.model, rs.busy(g.id)))
		default:
			jobs = append(jobs, rs.job(g, m, rs.busy(g.id)))
		}
	}
	return jobs
}

// beat says whether a calm group is stale, so that a list is made for all. state.mu is held.
func (rs *rounds) beat(now time.Time) bool {
	for _, g := range rs.groups {
		if rs.stale(g, now) && !rs.restless(g) {
			return true
		}
	}
	return false
}

// listShut says whether no list can be had now, and only no list, because too many were made or since it has no answer: models are then
// asked for one by one. state.mu is held.
func (rs *rounds) listShut(now time.Time) bool {
	return rs.listing != nil || rs.listTimedOut || now.Before(rs.listAgain) && (rs.listFault == nil || cloud.KindOf(rs.listFault) == cloud.Throttled)
}

// discover adds, changes and drops groups as tags say. A group whose sizes cannot be read is left out, with one warning for each new reason.
// state.mu is held.
func (rs *rounds) discover(l *listing) {
	found, listed := map[string]bool{}, map[string]bool{}
	for _, m := range l.models {
		k := key(m.name)
		listed[k] = true
		if g := rs.groups[k]; g != nil && (!g.discovered || g.reads.stamp > l.stamp) || !matches(rs.options.Discovery, m.tags) {
			continue
		}
		limits, err := sizes(rs.options.Discovery, m.tags)
		if err != nil {
			if rs.warned[k] != err.Error() {
				rs.warned[k] = err.Error()
				rs.options.Log.Warn("node group is left out of discovery", "group", m.name, "err", err)
			}
			found[k] = true // one that is managed already keeps the limits that could be read last (S-21)
			continue
		}
		delete(rs.warned, k)
		found[k] = true
		g := rs.groups[k]
		if g == nil {
			g = rs.newGroup(m.name)
			g.discovered = true
			rs.groups[k] = g
		}
		g.min, g.max = limits.Min, limits.Max
	}
	rs.drop(l, found, listed)
}

// obey has a discovered group keep the limits that the tags of a read say, where they say any. state.mu is held.
func (s *state) obey(g *group, m *model) {
	if !g.discovered || !matches(s.options.Discovery, m.tags) {
		return
	}
	if limits, err := sizes(s.options.Discovery, m.tags); err == nil {
		g.min, g.max = limits.Min, limits.Max
	}
}
