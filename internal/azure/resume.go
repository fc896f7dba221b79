package azure

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
)

// SaveOperations is the record of the operations in flight, of those that ended and capacities that were accepted so lately that answers may not
// show it yet, of those of an earlier process that wait for their groups, and of the machines that are switched off or may not have joined yet: for [Provider.ResumeOperations] of the process that comes after this one; nil when there is
// none. It holds addresses at Azure and no secret.
func (p *Provider) SaveOperations() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	saved := slices.DeleteFunc(slices.Concat(p.ended, p.earlier), p.shown)
	for _, o := range p.operations {
		if o.Token != "" {
			saved = append(saved, o.Operation)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.groups)) {
		g := p.groups[name]
		if p.now().Before(g.granted.until) {
			at := g.granted.until.Add(-believeFor).UTC()
			saved = append(saved, Operation{Group: g.id, Verb: verbGranted, Capacity: g.granted.capacity, Accepted: at, Ended: at})
		}
		if t, ok := p.source.(teller); ok {
			for _, o := range t.asked(g.name) {
				o.Group, o.Verb = g.id, verbAsked
				saved = append(saved, o)
			}
		}
		saved = append(saved, g.ahead...)
		if rest := g.rest(p.now()); len(rest) > 0 {
			saved = append(saved, Operation{Group: g.id, Verb: verbRests, UIDs: rest})
		}
	}
	p.said(saved)
	if p.options.Ledger != nil {
		saved = append(saved, Operation{Verb: verbLedger, Token: base64.StdEncoding.EncodeToString(p.options.Ledger.Record())})
	}
	if len(saved) == 0 {
		return nil
	}
	raw, err := json.Marshal(saved)
	if err != nil {
		panic("azure: write operations: " + err.Error()) // strings, numbers and times always encode
	}
	return raw
}

// ResumeOperations takes over the operations that an earlier process recorded, and asks Azure nothing: calls of Groups follow them
// once their groups are known. An operation of a group that is not managed any more, one that is watched already and one that is too
// old to be running are passed over. The error says that the record could not be read; a group whose operation is not followed is watched
// by its reads.
func (p *Provider) ResumeOperations(saved []byte) error {
	if len(saved) == 0 {
		return nil
	}
	var earlier []Operation
	if err := json.Unmarshal(saved, &earlier); err != nil {
		return fmt.Errorf("read the operations of an earlier process: %w", err)
	}
	earlier = p.learn(earlier)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said(earlier)
	p.earlier = append(p.earlier, earlier...)
	return nil
}

// learn has the ledger take in the record of machines that is among these, and leaves it out. One that cannot be read is as good as none.
func (p *Provider) learn(saved []Operation) []Operation {
	return slices.DeleteFunc(saved, func(o Operation) bool {
		if o.Verb != verbLedger {
			return false
		}
		raw, err := base64.StdEncoding.DecodeString(o.Token)
		if err == nil && p.options.Ledger != nil {
			_, err = p.options.Ledger.Merge(raw)
		}
		if err != nil {
			p.options.Log.Warn("what another process knew of machines is not known", "err", err)
		}
		return true
	})
}

// ErrAccompanied says that a process beside this one has written to Azure.
var ErrAccompanied = errors.New("another process that leads as well has written to Azure in the meantime")

// HeedOperations takes over, as [Provider.ResumeOperations] does, what another process has put where this one keeps its own record: both believe that they
// lead. What this one has not heard of yet makes the error ErrAccompanied: a decision that was made without it had better be made again. A record
// that cannot be read says nothing.
func (p *Provider) HeedOperations(saved []byte) error {
	var theirs []Operation
	if len(saved) == 0 || json.Unmarshal(saved, &theirs) != nil {
		return nil
	}
	theirs = p.learn(theirs)
	p.mu.Lock()
	defer p.mu.Unlock()
	theirs = slices.DeleteFunc(theirs, func(o Operation) bool {
		return o.Verb == verbRests || p.heard[sayingOf(o)] || p.shown(o) || p.now().Sub(o.Accepted) > watchFor
	})
	if len(theirs) == 0 {
		return nil
	}
	p.said(theirs)
	p.earlier = append(p.earlier, theirs...)
	return ErrAccompanied
}

// unread says whether a record told of the group since it was read last: what is decided now was decided without that. Provider.mu is held.
func (p *Provider) unread(own *group) bool {
	return slices.ContainsFunc(p.earlier, func(o Operation) bool { return o.Verb != verbRests && p.groups[key(string(o.Group))] == own })
}

// A saying is what one operation of a record is known by, whoever wrote it, and whether it is in flight or has ended.
type saying struct {
	group    cluster.GroupID
	verb     verb
	capacity int
	accepted int64 // Unix nanoseconds
}

func sayingOf(o Operation) saying {
	return saying{o.Group, o.Verb, o.Capacity, o.Accepted.UnixNano()}
}

// said notes what a record says, and forgets what none will say again. Provider.mu is held.
func (p *Provider) said(record []Operation) {
	past := p.now().Add(-watchFor).UnixNano()
	maps.DeleteFunc(p.heard, func(s saying, _ bool) bool { return s.accepted < past })
	for _, o := range record {
		if o.Verb != verbRests {
			p.heard[sayingOf(o)] = true
		}
	}
}

// takeOver follows the earlier operations whose groups are known by now. The others wait for the first list of all groups, and are followed
// before the machines of any are read. Provider.mu is held.
func (p *Provider) takeOver(ctx context.Context) {
	waiting := p.earlier[:0:0]
	for _, o := range p.earlier {
		g := p.groups[key(string(o.Group))]
		switch {
		case g != nil && o.Verb == verbRests:
			g.rested = o.UIDs
		case p.listed.IsZero() && o.Verb == verbRests:
			waiting = append(waiting, o)
		case p.now().Sub(o.Accepted) > watchFor || p.shown(o) || p.watches(o.Token):
		case g != nil && o.Verb == verbGranted:
			p.grant(g, o)
			p.inherit(o)
		case g != nil && o.Verb == verbAsked:
			if t, ok := p.source.(teller); ok {
				t.heed(o.Token)
			}
		case g != nil && !o.Ended.IsZero():
			does := o.Verb
			if does == verbPark {
				does = verbParked
			}
			g.mark(does, o.Named)
			g.woke(o)
			p.believe(g, o)
		case g != nil:
			if err := p.follow(ctx, g, o); err != nil {
				p.options.Log.Warn("operation of an earlier process is not followed", "group", o.Group, "action", o.Action, "err", err)
			}
		case p.listed.IsZero():
			waiting = append(waiting, o)
		}
	}
	p.earlier = waiting
}

// follow watches one operation of an earlier process. Provider.mu is held; nothing is asked of Azure.
func (p *Provider) follow(ctx context.Context, g *group, o Operation) error {
	a, err := p.source.resume(ctx, g.name, o.Verb, o.Token)
	if err != nil {
		return err
	}
	if a.poller.Done() {
		return errors.New("its record says that it has ended") // and not how: the reads tell
	}
	if now := p.now().UTC(); o.Accepted.After(now) {
		o.Accepted = now // by the clock of another machine
	}
	resumed := &operation{Operation: o, poller: a.poller, result: a.result, next: p.now(), polled: true}
	p.operations = append(p.operations, resumed)
	p.inherit(o)
	if len(o.Named) > 0 {
		g.mark(o.Verb, o.Named)
		g.woke(o)
	}
	return nil
}

// inherit notes a growth that another process has asked for, to be told of once: of several records about a group the one that asks for most. Provider.mu
// is held.
func (p *Provider) inherit(o Operation) {
	if o.Capacity > p.inherited[o.Group].Capacity {
		p.inherited[o.Group] = cloud.Takeover{Group: o.Group, Capacity: o.Capacity, At: o.Accepted}
	}
}

// TookOver is [cloud.Heir].
func (p *Provider) TookOver() []cloud.Takeover {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := slices.SortedFunc(maps.Values(p.inherited), func(a, b cloud.Takeover) int { return cmp.Compare(a.Group, b.Group) })
	clear(p.inherited)
	return all
}

// woke notes of machines that an earlier process started that they were switched off until then.
func (g *group) woke(o Operation) {
	if o.Verb != verbStart {
		return
	}
	if g.slept == nil {
		g.slept = map[string]time.Time{}
	}
	for _, m := range o.Named {
		g.slept[strings.ToLower(m.UID)] = o.Accepted
	}
}

// grant remembers a capacity that an earlier process has been granted, or has asked for. Provider.mu is held.
func (p *Provider) grant(g *group, o Operation) {
	if until := p.until(o); until.After(g.granted.until) {
		g.granted = grant{capacity: o.Capacity, until: until}
	}
}

// until is how long what an earlier process says of its last write stands against lists.
func (p *Provider) until(o Operation) time.Time {
	until := o.Ended.Add(believeFor)
	if most := p.now().Add(believeFor); until.After(most) {
		return most // by the clock of another machine
	}
	return until
}

// believe remembers that a removal or a start has ended, and has the group shown so for as long as lists may not. Of the machines it
// keeps the UIDs, so that the record stays small. Provider.mu is held.
func (p *Provider) believe(g *group, o Operation) {
	o.Token, o.Named = "", slices.Clone(o.Named)
	for i, m := range o.Named {
		o.Named[i] = cluster.Machine{UID: m.UID}
	}
	if now := p.now().UTC(); o.Ended.After(now) {
		o.Ended = now // by the clock of another machine
	}
	if until := o.Ended.Add(believeFor); g.believed.Before(until) {
		g.believed = until
	}
	p.ended = append(slices.DeleteFunc(p.ended, p.shown), o)
}

// remind shows a group that was out of sight as the operations say that are known. Provider.mu is held.
func (p *Provider) remind(g *group) {
	for _, o := range slices.DeleteFunc(slices.Clone(p.ended), p.shown) {
		if o.Group == g.id {
			g.mark(o.Verb, o.Named)
			g.believed = o.Ended.Add(believeFor) // the last is the latest
		}
	}
	for _, o := range p.operations { // these came after what has ended
		if o.Group == g.id && len(o.Named) > 0 {
			g.mark(o.Verb, o.Named)
		}
	}
}

// shown says whether the record of an operation tells nothing that reads do not: it has ended long ago, or cannot be followed.
func (p *Provider) shown(o Operation) bool {
	switch {
	case o.Verb == verbRests:
		return false
	case o.Ended.IsZero():
		return o.Token == ""
	}
	return p.now().Sub(o.Ended) >= believeFor
}

// watches says whether the operation with this token is followed. Provider.mu is held.
func (p *Provider) watches(token string) bool {
	return token != "" && slices.ContainsFunc(p.operations, func(o *operation) bool { return o.Token == token })
}

func unresumable(v verb) error {
	return fmt.Errorf("an operation of kind %q cannot be resumed", v)
}
