package world

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/kubesim"
	"sluice.dev/sluice/internal/observer"
	"sluice.dev/sluice/journal"
)

// What every scenario has: one resource group, and in it a control-plane machine on which sluice runs.
const (
	subscription  = "00000000-0000-0000-0000-000000000001"
	tenant        = "00000000-0000-0000-0000-000000000002"
	client        = "00000000-0000-0000-0000-000000000003" // of sluice's managed identity
	resourceGroup = "Farm"                                 // not all lower case, as nodes' provider ids are
	location      = "westeurope"
	controlPlane  = "server-0"
	identityID    = "/subscriptions/" + subscription + "/resourceGroups/" + resourceGroup + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/sluice"
)

// world is one scenario while it runs. One goroutine drives it; only the clock is read by others.
type world struct {
	clock    *simClock
	azure    *azuresim.Server
	cluster  *kubesim.Cluster
	fixtures map[string][]byte

	config   configuration
	groups   *nodeGroups
	prepared bool // what a script does not name is set up

	machines   *machines
	agents     agents
	finalizing finalizing
	api        apiServer
	wire       *wire
	beside     beside
	endings    endings
	procs      processes

	news      *clusterNews
	out       *transcript
	judges    judges
	tally     tally
	recording recording
}

func newWorld(o Options, fixtures map[string][]byte, out io.Writer) *world {
	w := &world{
		clock: newClock(), fixtures: fixtures, config: newConfiguration(), api: apiServer{carry: o.Kubernetes},
		procs: processes{main: process{told: told{}}}, tally: tally{refused: map[string]int{}}, recording: recording{sparse: o.NoJournal},
	}
	w.api.clock, w.endings.clock, w.beside.clock = w.clock, w.clock, w.clock
	w.azure = &azuresim.Server{
		Now: w.now, Seed: o.Seed, AnyToken: true, // its clock runs faster than the one that the client's token cache goes by
		Boot: azuresim.Fixed(90 * time.Second), Delete: azuresim.Fixed(45 * time.Second),
	}
	w.groups = &nodeGroups{azure: w.azure, sizes: map[string]machineSize{}, tags: map[string]map[string]string{}}
	w.cluster = &kubesim.Cluster{Now: w.now, Seed: o.Seed}
	w.out = &transcript{w: out, names: newNames()}
	w.news = &clusterNews{
		clock: w.clock, cluster: w.cluster, out: w.out,
		pods: map[string]*podSeen{}, nodes: map[string]*nodeSeen{}, conditions: map[string]string{},
	}
	w.machines = &machines{
		clock: w.clock, azure: w.azure, cluster: w.cluster, groups: w.groups, out: w.out,
		join: 30 * time.Second, all: map[string]*machine{}, born: map[string]int{},
	}
	w.agents = agents{clock: w.clock, azure: w.azure, machines: w.machines, api: &w.api, config: &w.config, notices: map[string]string{}}
	home := &azuresim.Transport{Server: w.azure, Machine: controlPlane}
	w.wire = &wire{clock: w.clock, home: home, next: home}
	if o.Trace {
		w.wire.trace = &trace{}
	}
	w.azure.Sleep = w.wire.wait
	w.judges.rule = w.rules()
	w.judges.sound = sound{
		clock: w.clock, config: &w.config, groups: w.groups, machines: w.machines, api: &w.api, procs: &w.procs, facts: map[string]*fact{},
	}
	w.judges.rule.Acts = w.judges.sound.acted
	w.judges.observer = observer.New(w.azure, w.cluster, w.now, w.judges.rule)
	w.judges.sound.observer = w.judges.observer
	w.recording.encoder = journal.NewEncoder(&w.recording.journal)
	return w
}

func (w *world) close() {
	w.procs.end()
	w.beside.end()
}

func (w *world) now() time.Time { return w.clock.now() }

// elapsed is the time since the start.
func (w *world) elapsed() time.Duration { return w.clock.elapsed() }

// begin starts sluice, or another one in its place: with an empty memory and a new client, as a new process has them, and the record that the one
// before has left.
func (w *world) begin(ctx context.Context, left legacy) error {
	main := &w.procs.main
	if main.stop != nil {
		main.stop()
	}
	ctx, main.stop = context.WithCancel(ctx)
	main.ctx, w.procs.saved, main.breakers, main.leads = ctx, left, left.breakers, time.Time{}
	main.reading = w.procs.reads(w.clock)
	config := w.cluster.RESTConfig()
	config.UserAgent = userAgent
	config.Transport = mortal{&w.procs, sluggish{w.clock, &w.api, w.api.carried(config.Transport)}, ctx}
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("start sluice: %w", err)
	}
	if len(w.groups.specs) == 0 {
		return errors.New("start sluice: the script has no node group: give it one with group")
	}
	farm := w.farm(mortal{&w.procs, w.wire, ctx}, main.reading)
	main.notes = &notes{wrote: left.operations}
	farm.Ahead = w.procs.ahead(main.notes)
	main.provider, err = azure.New(ctx, farm)
	if err != nil {
		return fmt.Errorf("start sluice: %w", err)
	}
	main.notes.provider = main.provider
	if err := main.provider.ResumeOperations(left.operations); err != nil {
		return fmt.Errorf("start sluice: %w", err)
	}
	main.book = farm.Ledger
	w.judges.sound.begins(left.operations != nil)
	parts := app.Parts{
		Client: api, Cloud: main.provider, Ledger: main.book, Policy: w.config.policy, DryRun: w.config.dryRun, Now: main.reading,
		Timing: w.config.timing, Expander: &w.config.advice, Background: untimed{}, Wall: noWall, Silent: w.api.silence,
		Leads: func() time.Time { return main.leaseEnds(w.now()) }, Learned: left.learned, Breakers: left.breakers,
	}
	if w.config.whims != nil {
		parts.Around = w.config.whims.around
	}
	if err := w.lead(app.New(parts)); err != nil {
		return err
	}
	if left.operations == nil {
		w.judges.observer.Forgot()
	}
	return nil
}

// lead has the process begin to lead, or to lead again.
func (w *world) lead(sluice *app.Autoscaler) error {
	main := &w.procs.main
	w.api.speak()
	main.life, main.hold = context.WithCancel(main.ctx)
	main.sluice, main.held, w.out.begun = sluice, false, true
	if err := sluice.Start(main.life); err != nil {
		return fmt.Errorf("start sluice: %w", err)
	}
	w.judges.observer.Began()
	main.pace, w.news.stirred, main.stir, main.told, main.due = app.NewPace(w.config.timing), false, app.Stir{}, told{}, w.now()
	return nil
}

// prepare sets up, once, what a script does not name.
func (w *world) prepare() error {
	if w.prepared {
		return nil
	}
	w.prepared = true
	if err := w.groups.tagAll(); err != nil {
		return err
	}
	if err := w.azure.AddIdentity(azuresim.Identity{ID: identityID, TenantID: tenant, ClientID: client}); err != nil {
		return err
	}
	if err := w.azure.AddMachine(azuresim.Machine{
		Subscription: subscription, ResourceGroup: resourceGroup, Name: controlPlane, Location: location, Identities: []string{identityID},
	}); err != nil {
		return err
	}
	return w.groups.deployPools()
}

// perform does one statement.
func (w *world) perform(ctx context.Context, s statement) error {
	if s.verb.setup && w.procs.started() {
		return fmt.Errorf("%s: sluice has started: it must stand before the first advance, until or restart", s.verb.name)
	}
	if s.verb.time {
		if !w.procs.started() {
			if err := w.wake(ctx); err != nil {
				return err
			}
		}
	}
	if w.procs.started() && !s.verb.quiet {
		w.out.script(w.elapsed(), s.text)
	}
	if s.verb.name == "advance" || s.verb.name == "until" {
		return w.pass(ctx, &s)
	}
	if s.verb.name == "restart" {
		return w.restart(ctx, &s)
	}
	if s.verb.act != nil {
		return s.verb.act(ctx, w, &s)
	}
	return s.verb.do(w, &s)
}

// wake lets the world that the script describes come to rest, and starts sluice in it.
func (w *world) wake(ctx context.Context) error {
	if err := w.prepare(); err != nil {
		return err
	}
	if err := w.settle(); err != nil {
		return err
	}
	return w.begin(ctx, legacy{})
}

// restart has another process take over.
func (w *world) restart(ctx context.Context, s *statement) error {
	operations, err := s.oneOf("operations", "kept", "lost")
	if err != nil {
		return err
	}
	if operations == "lost" {
		return w.begin(ctx, legacy{})
	}
	return w.begin(ctx, w.procs.legacy(w.now()))
}

// pass lets time pass: for a while, or until something is so.
func (w *world) pass(ctx context.Context, s *statement) error {
	if s.verb.name == "advance" {
		d, err := timed(s.names[0])
		switch {
		case err != nil:
			return fmt.Errorf("advance %s: %w", s.names[0], err)
		case d == 0:
			return fmt.Errorf("advance %s: give a duration above zero, such as 90s or 11m", s.names[0])
		case w.elapsed()+d > longest:
			return fmt.Errorf("advance %s: a scenario lasts at most %.0fh, and this one %.0fh until here", s.names[0], longest.Hours(), w.elapsed().Hours())
		}
		return w.turn(ctx, w.now().Add(d), nil)
	}
	within, err := s.duration("within", 2*time.Hour)
	if err != nil {
		return err
	}
	reached, err := w.condition(s)
	if err != nil {
		return err
	}
	if err := w.turn(ctx, w.now().Add(within), reached); err != nil {
		return err
	}
	if !reached() {
		return fmt.Errorf("%s: it was not so within %s", s.text, within)
	}
	return nil
}

// turn lets everybody act and then jumps to the next event, until a time or until something is so.
func (w *world) turn(ctx context.Context, end time.Time, reached func() bool) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		w.beside.wake()
		if err := w.endings.end(false); err != nil {
			return err
		}
		if err := w.rest(ctx); err != nil {
			return err
		}
		if reached != nil && reached() || !w.now().Before(end) {
			return w.out.err
		}
		next := end
		for _, t := range []time.Time{
			w.machines.nextJoin(), w.finalizing.next(), w.agents.next(), w.procs.main.turnsAt(w.config.timing), w.endings.next(),
			w.procs.rival.turnsAt(), w.beside.wakes(),
		} {
			if t.After(w.now()) && t.Before(next) {
				next = t
			}
		}
		if t, ok := w.azure.NextChange(); ok && t.Before(next) {
			next = t
		}
		if t, ok := w.cluster.NextChange(); ok && t.Before(next) {
			next = t
		}
		w.clock.set(next)
	}
}

// mostRounds bounds what may happen within one instant.
const mostRounds = 1000

// rest lets everybody act until nobody has anything left to do at this instant.
func (w *world) rest(ctx context.Context) error {
	for range mostRounds {
		if err := w.settle(); err != nil {
			return err
		}
		if err := w.agents.turn(ctx); err != nil {
			return err
		}
		if err := w.settle(); err != nil {
			return err
		}
		w.judges.sound.judge()
		if w.procs.hearAnswers(w.now()) || w.news.stirred {
			w.procs.main.stir.Note(w.now())
			w.news.stirred = false
		}
		if err := w.turnRival(ctx); err != nil {
			return err
		}
		if err := w.inherit(ctx); err != nil { // killed by what it waited for beside its cycle
			return err
		}
		if w.procs.main.held || w.now().Before(w.procs.main.turnsAt(w.config.timing)) {
			return w.listen(ctx)
		}
		w.procs.main.stir = app.Stir{}
		if err := w.cycle(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("at %s the world does not come to rest", clock(w.elapsed()))
}

// settle lets machines and the cluster act until nothing changes, and tells what happened.
func (w *world) settle() error {
	for range mostRounds {
		if err := w.machines.move(); err != nil {
			return err
		}
		if err := w.finalizing.turn(w.cluster, w.now()); err != nil {
			return err
		}
		if w.cluster.Step() {
			continue
		}
		w.news.tell()
		w.out.flush()
		return nil
	}
	return fmt.Errorf("at %s the cluster does not come to rest", clock(w.elapsed()))
}
