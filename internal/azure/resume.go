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

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
)

// SaveOperations is the record of the operations in flight, of those of an earlier process that wait for their groups, of the growths of pools that answers may
// not show yet, and of machines: for [Provider.ResumeOperations] of the process that comes after this one. It holds addresses at Azure and no secret.
func (p *Provider) SaveOperations() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	saved := slices.Clone(p.watch.earlier)
	for _, o := range p.operations {
		if o.Token != "" {
			saved = append(saved, o.Operation)
		}
	}
	if t, ok := p.source.(teller); ok {
		for _, name := range slices.Sorted(maps.Keys(p.groups)) {
			g := p.groups[name]
			tokens := t.asked(g.name)
			if g.writing.ahead != "" {
				tokens = append(tokens, g.writing.ahead)
			}
			for _, token := range tokens {
				saved = append(saved, Operation{Group: g.id, Verb: verbAsked, Token: token})
			}
		}
	}
	saved = append(saved, Operation{Verb: verbLedger, Token: base64.StdEncoding.EncodeToString(p.options.Ledger.Record())})
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
	_, err := p.watch.learn(saved)
	return err
}

// ErrAccompanied says that a process beside this one has written to Azure.
var ErrAccompanied = errors.New("another process that leads as well has written to Azure in the meantime")

// MergeOperations takes over, as [Provider.ResumeOperations] does, what another process has put where this one keeps its own record: both believe that they
// lead. A write that this one has not heard of yet makes the error ErrAccompanied: a decision that was made without it had better be made again. A record
// that cannot be read says nothing.
func (p *Provider) MergeOperations(saved []byte) error {
	if len(saved) == 0 {
		return nil
	}
	if news, err := p.watch.learn(saved); err == nil && news {
		return ErrAccompanied
	}
	return nil
}

// learn takes in a record: the ledger what it says of machines, and the rest is followed once its groups are known. News says that it has a write that the
// ledger did not know. What cannot be read of machines is as good as nothing.
func (w *watch) learn(saved []byte) (news bool, _ error) {
	var said []Operation
	if err := json.Unmarshal(saved, &said); err != nil {
		return false, fmt.Errorf("read the operations of an earlier process: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	t, tells := w.source.(teller)
	for _, o := range said {
		switch {
		case o.Verb == verbAsked:
			if tells {
				t.merge(o.Token)
			}
		case o.Verb == verbLedger:
			some, err := w.merge(o.Token)
			if err != nil {
				w.options.Log.Warn("what another process knew of machines is not known", "err", err)
			}
			news = news || some
		case o.Token != "" && !slices.ContainsFunc(w.earlier, func(known Operation) bool { return known.Token == o.Token }):
			o.Asked = min(o.Asked, w.options.Ledger.Now()) // as the ledger has it, where the clock of that process was ahead
			w.earlier = append(w.earlier, o)
		}
	}
	return news, nil
}

// merge has the ledger take in the record of another process, in base64. A growth that it tells of is to be told once. state.mu is held.
func (w *watch) merge(record string) (news bool, _ error) {
	raw, err := base64.StdEncoding.DecodeString(record)
	if err != nil {
		return false, err
	}
	before := w.options.Ledger.Ledger()
	news, err = w.options.Ledger.Merge(raw)
	for _, g := range w.groups {
		w.options.Ledger.Spell(g.id)
	}
	after := w.options.Ledger.Ledger()
	for _, id := range after.Groups() {
		to, at := after.Grown(id)
		if _, was := before.Grown(id); to > 0 && at != was {
			w.inherited[cluster.GroupID(id)] = cloud.Takeover{Group: cluster.GroupID(id), Capacity: to, At: at.Time()}
		}
	}
	if news {
		for _, g := range w.groups {
			w.showAgain(g)
		}
	}
	return news, err
}

// TookOver is [cloud.Heir].
func (p *Provider) TookOver() []cloud.Takeover {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := slices.SortedFunc(maps.Values(p.watch.inherited), func(a, b cloud.Takeover) int { return cmp.Compare(a.Group, b.Group) })
	clear(p.watch.inherited)
	return all
}

// takeOver follows the earlier operations whose groups are known by now. The others wait for the first list of all groups, and are followed
// before the machines of any are read. state.mu is held.
func (w *watch) takeOver(ctx context.Context, listed bool) {
	waiting := w.earlier[:0:0]
	for _, o := range w.earlier {
		g := w.groups[key(string(o.Group))]
		switch {
		case g == nil && !listed:
			waiting = append(waiting, o)
		case g == nil || w.watches(o.Token):
		case w.now().Sub(o.Accepted) <= watchFor:
			if err := w.follow(ctx, g, o); err != nil {
				w.options.Log.Warn("operation of an earlier process is not followed", "group", o.Group, "action", o.Action, "err", err)
			}
		}
	}
	w.earlier = waiting
}

// follow watches one operation of an earlier process. state.mu is held; nothing is asked of Azure.
func (w *watch) follow(ctx context.Context, g *group, o Operation) error {
	a, err := w.source.resume(ctx, g.name, o.Verb, o.Token)
	if err != nil {
		return err
	}
	if a.poller.Done() {
		return errors.New("its record says that it has ended") // and not how: the reads tell
	}
	o.Group = g.id // that process may have spelled it in another letter case
	for i := range o.Named {
		o.Named[i].Group = g.id
	}
	if now := w.now().UTC(); o.Accepted.After(now) {
		o.Accepted = now // by the clock of another machine
	}
	w.operations = append(w.operations, &operation{Operation: o, poller: a.poller, result: a.result, next: w.now(), polled: true})
	w.showAgain(g)
	return nil
}

// watches says whether the operation with this token is followed. state.mu is held.
func (s *state) watches(token string) bool {
	return token != "" && slices.ContainsFunc(s.operations, func(o *operation) bool { return o.Token == token })
}

func unresumable(v verb) error {
	return fmt.Errorf("an operation of kind %q cannot be resumed", v)
}
