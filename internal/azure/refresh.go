package azure

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
)

// parallelReads bounds the questions that are asked at once and waited for.
const parallelReads = 5

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
func (p *Provider) job(g *group, m *model, busy bool) *job {
	j := &job{question: newQuestion(g.patience()), group: g, model: m, busy: busy, stamp: p.stamp()}
	g.asking = j.question
	return j
}

// reads is a job as a question.
func (p *Provider) reads(j *job) func(context.Context) func() {
	g := j.group
	return func(ctx context.Context) func() {
		r, fault := p.read(ctx, g, j.model)
		if fault == nil && !j.busy {
			p.addresses.ask(ctx, r.model, r.machines)
		}
		return func() {
			g.asking = nil
			if fault == nil {
				g.took = p.now().Sub(j.asked)
			}
			g.timedOut = fault != nil && fault.Code == noAnswer
			if fault != nil && fault.Kind == cloud.NotFound && g.absent == unlisted {
				fault, g.absent, g.since = p.unlisted(g), denied, j.asked
			}
			j.fault = p.store(g, j.stamp, r, fault) // a fault is the group's problem
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
func (p *Provider) refresh(ctx context.Context) {
	l := p.list(ctx)
	jobs := p.plan(ctx, l)
	questions := make([]*question, len(jobs))
	for i, j := range jobs {
		questions[i] = j.question
	}
	p.askAll(ctx, questions, func(i int) { p.ask(p.life, questions[i], p.reads(jobs[i])) })
	p.diagnostics.diagnose()
	p.options.Runner.Settle(&p.background)
}

// list is the answer to the question for all models, where one is due or one has come that nobody waited for; nil for none.
func (p *Provider) list(ctx context.Context) *listing {
	p.mu.Lock()
	l := p.listing
	begins := l == nil && p.listWanted()
	if begins {
		wait := min(mostWait, max(leastWait, 3*p.listTook))
		switch {
		case len(p.groups) == 0: // nothing else is to be decided
			wait = mostWait
		case p.listTimedOut:
			wait = 0
		case p.lists == 0:
			wait = firstWait
		}
		l = &listing{question: newQuestion(wait), stamp: p.stamp()}
		p.listing = l
	}
	p.mu.Unlock()
	if l == nil {
		return nil
	}
	if begins {
		p.ask(p.life, l.question, p.listsAll(l))
		p.await(ctx, l.question)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !l.over {
		return nil
	}
	p.listing = nil
	return l
}

// listsAll is the question for all models.
func (p *Provider) listsAll(l *listing) func(context.Context) func() {
	return func(ctx context.Context) func() {
		models, err := p.source.models(ctx)
		if err != nil && p.once(err) && !p.unlucky() {
			models, err = p.source.models(ctx)
		}
		var fault *cloud.Error
		if err != nil {
			fault = p.wrap("", p.listDoing(), err)
		}
		return func() {
			if l.models, l.fault = models, fault; fault == nil {
				p.listTook = p.now().Sub(l.asked)
			}
			p.listTimedOut = fault != nil && fault.Code == noAnswer
		}
	}
}

// unlucky says whether the last list of all models failed.
func (p *Provider) unlucky() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listFault != nil
}

func (p *Provider) listDoing() string {
	return fmt.Sprintf("list the %ss of resource group %q", p.source.noun(), p.options.ResourceGroup)
}

// listWanted says whether the models must be listed: for a calm group that is stale, for two restless ones, which cost as much one by one,
// or for discovery. state.mu is held.
func (p *Provider) listWanted() bool {
	now := p.now()
	if now.Before(p.listAgain) {
		return false
	}
	restless := 0
	for _, g := range p.groups {
		switch {
		case !p.stale(g, now):
		case !p.restless(g), g.absent == gone:
			return true
		default:
			restless++
		}
	}
	if restless > 1 {
		return true
	}
	if len(p.options.Discovery) == 0 {
		return false
	}
	ttl := p.options.period()
	if len(p.operations) > 0 {
		ttl *= busyFactor
	}
	return now.Sub(p.listed) >= ttl
}

// plan takes in what the list said, if there was one, and names the groups whose machines must be read. A list says nothing of a group about
// which a younger answer has come since it was asked for.
func (p *Provider) plan(ctx context.Context, l *listing) []*job {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	models := map[string]*model{}
	var fault *cloud.Error
	if l != nil {
		fault = l.fault
		for _, m := range l.models {
			models[key(m.name)] = m
		}
	}
	listed, beat := l != nil && fault == nil, p.beat(now)
	switch {
	case fault != nil:
		p.listFault, p.listAgain = fault, now.Add(max(retryAfterFault(fault), fault.RetryAfter))
		if fault.Code == shareSpent {
			p.listFault = nil // a pause of our own
		}
	case listed:
		p.listFault, p.listed = nil, l.asked
		p.lists++
		p.discover(l)
		p.takeOver(ctx)
	}
	var jobs []*job
	for _, k := range slices.Sorted(maps.Keys(p.groups)) { // so that those who read in turn do so in one order
		g, m := p.groups[k], models[k]
		known := listed && g.stamp <= l.stamp
		if !known {
			m = nil
		}
		stale := p.stale(g, now)
		looks := stale || known && beat && p.joins(g, now)
		switch {
		case g.asking != nil:
			// its answer is on its way
		case g.absent == gone && known:
			if fault := p.clear(g, l.asked); fault != nil {
				g.refuse(fault, now)
			}
		case g.absent == gone && (l == nil || fault == nil || fault.Kind == cloud.Throttled || fault.Code == noAnswer):
			// its turn comes with the next list
		case known && beat && !stale && m != nil && !p.busy(g.id) && p.unmoved(g, m, now):
			g.checked = l.asked // the list has said so anyway, and the group keeps step with the others
		case stale && fault != nil && fault.Kind != cloud.Throttled && fault.Code != noAnswer:
			g.refuse(fault, now)
		case !looks && (g.due == nothing || now.Before(g.resting)):
			// not its turn
		case stale && !known && !p.restless(g) && !p.listShut(now):
			// its turn comes with the next list
		case known && m == nil && g.absent == denied:
			g.refuse(p.unlisted(g), now)
		case known && m == nil: // one list may lie: the group itself is asked for
			jobs = append(jobs, p.job(g, nil, p.busy(g.id)))
		case looks && known && p.unmoved(g, m, now):
			g.checked = l.asked
		case !looks && g.due == machines && g.reading != nil && g.reading.whole:
			jobs = append(jobs, p.job(g, g.reading.model, p.busy(g.id)))
		default:
			jobs = append(jobs, p.job(g, m, p.busy(g.id)))
		}
	}
	return jobs
}

// beat says whether a calm group is stale, so that a list is made for all. state.mu is held.
func (p *Provider) beat(now time.Time) bool {
	for _, g := range p.groups {
		if p.stale(g, now) && !p.restless(g) {
			return true
		}
	}
	return false
}

// listShut says whether no list can be had now, and only no list, because too many were made or since it has no answer: models are then
// asked for one by one. state.mu is held.
func (p *Provider) listShut(now time.Time) bool {
	return p.listing != nil || p.listTimedOut || now.Before(p.listAgain) && (p.listFault == nil || cloud.KindOf(p.listFault) == cloud.Throttled)
}

// discover adds, changes and drops groups as tags say. A group whose sizes cannot be read is left out, with one warning for each new reason.
// state.mu is held.
func (p *Provider) discover(l *listing) {
	found, listed := map[string]bool{}, map[string]bool{}
	for _, m := range l.models {
		k := key(m.name)
		listed[k] = true
		if g := p.groups[k]; g != nil && (!g.discovered || g.stamp > l.stamp) || !matches(p.options.Discovery, m.tags) {
			continue
		}
		limits, err := sizes(p.options.Discovery, m.tags)
		if err != nil {
			if p.warned[k] != err.Error() {
				p.warned[k] = err.Error()
				p.options.Log.Warn("node group is left out of discovery", "group", m.name, "err", err)
			}
			found[k] = true // one that is managed already keeps the limits that could be read last (S-21)
			continue
		}
		delete(p.warned, k)
		found[k] = true
		g := p.groups[k]
		if g == nil {
			g = &group{id: cluster.GroupID(m.name), noun: p.source.noun(), name: m.name, discovered: true, facts: p.facts}
			p.groups[k] = g
		}
		g.min, g.max = limits.Min, limits.Max
	}
	p.drop(l, found, listed)
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
