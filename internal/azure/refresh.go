package azure

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
)

// parallelReads bounds the requests in flight, so that one slow scale set does not hold up the others (S-30).
const parallelReads = 5

// job is one group to read.
type job struct {
	group *group
	model *model // nil: it is asked for
	busy  bool   // it is being changed: only what decisions need is asked for
}

// refresh reads what is due: the models of all groups with one list when a calm one is stale, those that an operation changed or that are
// restless one by one, and then the machines of each.
func (p *Provider) refresh(ctx context.Context) {
	p.mu.Lock()
	stamp, wanted := p.stamp(), p.listWanted()
	p.mu.Unlock()

	var models []*model
	var fault *cloud.Error
	if wanted {
		var err error
		if models, err = p.source.models(ctx); err != nil {
			fault = p.wrap("", fmt.Sprintf("list the %ss of resource group %q", p.source.noun(), p.options.ResourceGroup), err)
		}
	}

	var work sync.WaitGroup
	slots := make(chan struct{}, parallelReads)
	for _, j := range p.plan(ctx, wanted, models, fault) {
		read := func() {
			slots <- struct{}{}
			r, fault := p.read(ctx, j.group.id, j.group.name, j.model)
			if fault == nil && !j.busy {
				p.addresses.ask(ctx, r.model, r.machines)
			}
			<-slots
			p.mu.Lock()
			defer p.mu.Unlock()
			_ = p.store(j.group, stamp, r, fault) // a fault is the group's problem
		}
		if p.options.InTurn {
			read()
		} else {
			work.Go(read)
		}
	}
	work.Wait()
	if p.options.InTurn {
		p.errands.Wait()
	}
}

// listWanted says whether the models must be listed: for a calm group that is stale, for two restless ones, which cost as much one by one,
// or for discovery. Provider.mu is held.
func (p *Provider) listWanted() bool {
	now := p.now()
	if now.Before(p.listAgain) {
		return false
	}
	restless := 0
	for _, g := range p.groups {
		switch {
		case !p.stale(g, now):
		case !p.restless(g):
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

// plan takes in what the list said, if there was one, and names the groups whose machines must be read.
func (p *Provider) plan(ctx context.Context, listed bool, found []*model, fault *cloud.Error) []job {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	models := map[string]*model{}
	for _, m := range found {
		models[key(m.name)] = m
	}
	known, beat := listed && fault == nil, p.beat(now)
	switch {
	case fault != nil:
		p.listFault, p.listAgain = fault, now.Add(max(retryEvery, fault.RetryAfter))
		if fault.Code == shareSpent {
			p.listFault = nil // a pause of our own
		}
	case listed:
		p.listFault, p.listed = nil, now
		p.lists++
		p.discover(found)
		p.takeOver(ctx)
	}
	var jobs []job
	for _, k := range slices.Sorted(maps.Keys(p.groups)) { // so that those who read in turn do so in one order
		g, m := p.groups[k], models[k]
		stale := p.stale(g, now)
		looks := stale || known && beat && p.joins(g, now)
		switch {
		case known && beat && !stale && m != nil && !p.busy(g.id) && p.unmoved(g, m, now):
			g.checked = now // the list has said so anyway, and the group keeps step with the others
		case stale && fault != nil && fault.Kind != cloud.Throttled:
			g.refuse(fault, now)
		case !looks && (g.due == nothing || now.Before(g.resting)):
			// not its turn
		case stale && !known && !p.restless(g) && !p.listShut(now):
			// its turn comes with the next list
		case known && m == nil:
			g.refuse(p.unlisted(g), now)
		case looks && known && p.unmoved(g, m, now):
			g.checked = now
		case !looks && g.due == machines && g.reading != nil && g.reading.whole:
			jobs = append(jobs, job{g, g.reading.model, p.busy(g.id)})
		default:
			jobs = append(jobs, job{g, m, p.busy(g.id)})
		}
	}
	return jobs
}

// beat says whether a calm group is stale, so that a list is made for all. Provider.mu is held.
func (p *Provider) beat(now time.Time) bool {
	for _, g := range p.groups {
		if p.stale(g, now) && !p.restless(g) {
			return true
		}
	}
	return false
}

// listShut says whether lists, and only they, are to rest now because too many were made: models are then asked for one by one.
// Provider.mu is held.
func (p *Provider) listShut(now time.Time) bool {
	return now.Before(p.listAgain) && (p.listFault == nil || cloud.KindOf(p.listFault) == cloud.Throttled)
}

// discover adds, changes and drops groups as tags say. A group whose sizes cannot be read is left out, with one warning for each new reason.
// One whose scale set is not listed is dropped when a second list agrees: until then it is shown as missing. Provider.mu is held.
func (p *Provider) discover(models []*model) {
	found, listed := map[string]bool{}, map[string]bool{}
	for _, m := range models {
		k := key(m.name)
		listed[k] = true
		if g := p.groups[k]; g != nil && !g.discovered || !matches(p.options.Discovery, m.tags) {
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
			p.remind(g)
		}
		g.min, g.max = limits.Min, limits.Max
	}
	p.drop(found, listed)
}

// drop forgets the discovered groups that are none any more. Provider.mu is held.
func (p *Provider) drop(found, listed map[string]bool) {
	for k, g := range p.groups {
		switch {
		case !g.discovered:
		case found[k]:
			g.missed = false
		case !listed[k] && !g.missed:
			g.missed = true
		default:
			delete(p.groups, k)
			p.facts.note(g.id, nil)
		}
	}
}

// obey has a discovered group keep the limits that the tags of a read say, where they say any. Provider.mu is held.
func (p *Provider) obey(g *group, m *model) {
	if !g.discovered || !matches(p.options.Discovery, m.tags) {
		return
	}
	if limits, err := sizes(p.options.Discovery, m.tags); err == nil {
		g.min, g.max = limits.Min, limits.Max
	}
}
