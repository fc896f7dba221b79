// Package azure is the [cloud.Provider] over Azure Resource Manager: node groups are scale sets of one resource group, with
// uniform or flexible orchestration, or pools of machines in availability sets. What a group is and how it is read is the same for every kind of it (model.go); a kind knows the calls.
//
// It asks little: within the cache's time one list of scale sets, and one list of machines for each group that is not steady (steady.go); after a write of its
// own only when the operation has begun and when it has ended. It believes nothing but answers: a capacity changes in its eyes when Azure
// says so (S-03), and a list of machines that its scale set's capacity contradicts is no evidence (S-14, S-20). A group's Read is about the
// machines it shows: At is when they were listed, and Complete that nothing contradicts them. While newer reads are incomplete, the
// machines of the last complete one stay, with its time, under the newest capacity and version. No call sleeps. A read
// whose first answer is a bad one looks again at once; whatever else failed is asked again in a later cycle.
package azure

import (
	"context"
	"sort"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azure/config"
)

// Provider is the node groups that [Options] name. It is safe for concurrent use.
type Provider struct {
	*state
	*questions
	pace         *pacer
	rounds       *rounds
	watch        *watch
	writes       *writes
	housekeeping *housekeeping
	diagnostics  *diagnostics
	identity     *managedIdentity // nil for an application
	background   sync.WaitGroup   // the questions that nobody waits for

	refreshing sync.Mutex // held by the one caller of Groups that asks Azure

	hasty bool // a group has ceased to be steady, and is to be asked about now; state.mu guards it
}

var _ cloud.Provider = (*Provider)(nil)

// New makes a Provider. It asks instance metadata for the subscription and the resource group when Options leave them out, and
// for the machine that it runs on, the Resource Manager of a custom cloud for its endpoints when the configuration says so, and nothing else; identity and groups are tried by the
// first call of Groups. Errors name the field and the remedy. What is asked besides, while nobody waits for it,
// ends with the context.
func New(ctx context.Context, options Options) (*Provider, error) {
	o, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	for _, note := range o.Notes {
		o.Log.Warn("configuration", "note", note)
	}
	if o, err = o.locate(ctx); err != nil {
		return nil, err
	}
	o.self = o.whoAmI(ctx)
	if o, err = o.find(ctx); err != nil {
		return nil, err
	}
	c, cred, err := o.connect()
	if err != nil {
		return nil, err
	}
	factory, err := o.clients(c.gate, c.tokens)
	if err != nil {
		return nil, err
	}
	st := newState(c)
	q := &questions{state: st, life: ctx, triggers: make(chan struct{}, 1)}
	p := &Provider{
		state: st, questions: q, pace: &pacer{state: st}, watch: &watch{state: st, questions: q, inherited: map[cluster.GroupID]cloud.Takeover{}},
		writes: &writes{state: st, questions: q}, housekeeping: &housekeeping{state: st, questions: q},
	}
	p.source = c.find(ctx, factory)
	p.identity, _ = cred.(*managedIdentity)
	p.diagnostics = &diagnostics{client: c, resource: p.resourceOf, of: map[string]*told{}, task: &backgroundTask{ctx: ctx, running: &p.background}}
	if p.facts, err = c.makeFacts(ctx, factory.NewResourceSKUsClient(), &p.background); err != nil {
		return nil, err
	}
	p.rounds = &rounds{state: st, questions: q, pacer: p.pace, reader: &reader{state: st, addresses: c.makeAddresses()}, warned: map[string]string{}, takeOver: p.watch.takeOver}
	for _, g := range o.Groups {
		p.groups[key(g.Name)] = p.newGroup(g.Name)
		p.groups[key(g.Name)].min, p.groups[key(g.Name)].max = g.Min, g.Max
	}
	return p, nil
}

// find is the source of node groups that the configuration's vmType says.
func (c *client) find(life context.Context, factory *armcompute.ClientFactory) source {
	if c.options.Kind == config.Standard {
		return newStandard(c.options, factory, c.pipeline)
	}
	return &ownership{source: newScaleSets(c.options, factory), options: c.options, pipeline: c.pipeline, life: life, wrap: c.wrap}
}

// Groups follows the operations in flight, reads what is due, and returns every group, sorted by ID. It does not wait long for answers: a
// group whose read has none yet has a Problem that says so, and the answer is taken in when it comes; see [Provider.Triggers].
func (p *Provider) Groups(ctx context.Context) ([]*cluster.Group, error) {
	p.refreshing.Lock()
	defer p.refreshing.Unlock()
	p.mu.Lock()
	p.watch.takeOver(ctx, !p.rounds.listed.IsZero())
	p.hasty = false
	p.mu.Unlock()
	p.watch.pollOperations(ctx)
	p.housekeeping.carryOn(ctx)
	p.rounds.refresh(ctx)
	p.diagnostics.diagnose()
	p.options.Runner.Settle(&p.background)

	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.triggers: // what has come until now is in the answer
	default:
	}
	out := make([]*cluster.Group, 0, len(p.groups))
	for _, g := range p.groups {
		out = append(out, p.answer(g))
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	if len(out) == 0 && p.rounds.listing != nil {
		return nil, &cloud.Error{Kind: cloud.Transient, Code: unansweredYet, Message: p.rounds.listDoing() + ": " + p.host() + " has not answered yet"}
	}
	return out, p.rounds.listFault
}

// answer is a group as callers get it. state.mu is held.
func (p *Provider) answer(g *group) *cluster.Group {
	out := g.answer()
	if g.asking != nil && g.asking.late && out.Problem == "" {
		out.Problem, out.Unanswered, out.Asked = p.unanswered(g, g.asking).Message, true, g.writing.wanted
	}
	out.Taken = p.taken(g)
	p.diagnostics.tell(out)
	p.recognize(g, out)
	if out.Problem != "" || !out.Usable() {
		out.Again = p.pace.again(g)
	}
	return out
}

// Unread are the groups whose Problem is that Azure did not answer well, with what came instead.
func (p *Provider) Unread() map[cluster.GroupID]*cloud.Error {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[cluster.GroupID]*cloud.Error{}
	for _, g := range p.groups {
		switch {
		case g.problem.text != "":
			all[g.id] = g.problem.fault
		case g.asking != nil && g.asking.late:
			all[g.id] = p.unanswered(g, g.asking)
		}
	}
	return all
}

// Remains are sentences about what belongs to removed machines and could not be deleted, each with the id of the resource, sorted. They
// stand until it is gone.
func (p *Provider) Remains() []string {
	if c, ok := p.source.(tasks); ok {
		return c.remains()
	}
	return nil
}

// Refused is [cloud.Refuser]: interfaces and disks that bear the tag of a removed machine and are left alone, since something uses them (S-37), and what is not
// cleared away when the lease might end before (S-23).
func (p *Provider) Refused() []cloud.Refusal {
	if c, ok := p.source.(tasks); ok {
		return c.refusals()
	}
	return nil
}

// Group reads one group past the cache: its model and the whole list of its machines. While a read of the group has no answer in time, there is no
// other: the error says so.
func (p *Provider) Group(ctx context.Context, id cluster.GroupID) (*cluster.Group, error) {
	p.mu.Lock()
	g := p.groups[key(string(id))]
	if g == nil {
		p.mu.Unlock()
		return nil, unknown(id)
	}
	if !p.others(ctx, g) {
		defer p.mu.Unlock()
		return nil, p.unanswered(g, g.asking)
	}
	j := p.rounds.job(g, nil, true)
	j.patience = max(leastWait, j.patience)
	if !g.reads.timedOut && p.now().Sub(g.reads.asked) > p.options.period() { // nobody knows how long a read of it takes by now
		j.patience = max(firstWait, j.patience)
	}
	p.mu.Unlock()

	p.ask(asEvidence(p.life), j.question, p.rounds.reads(j))
	answered := p.await(ctx, j.question)

	p.mu.Lock()
	defer p.mu.Unlock()
	switch id = g.id; {
	case !answered:
		return nil, p.unanswered(g, j.question)
	case j.fault != nil:
		return nil, j.fault
	}
	out := g.answer()
	switch {
	case out.Problem != "":
		return nil, &cloud.Error{Kind: cloud.Invalid, Group: id, Code: "NotManageable", Message: out.Problem}
	case g.reading.unknown != nil:
		unknown := *g.reading.unknown // the caller's own
		return nil, &unknown
	}
	return out, nil
}
