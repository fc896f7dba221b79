package world

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/kubesim"
	"sluice.dev/sluice/internal/ledger"
	"sluice.dev/sluice/internal/observer"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
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
	clock *simClock

	azure    *azuresim.Server
	cluster  *kubesim.Cluster
	fixtures map[string][]byte

	allowed  policyFlags
	policy   *policy.Policy // what allowed came to after the last statement
	said     said           // the statements' own words
	dryRun   bool
	prepared bool
	timing   app.Timing
	advice   advice
	groups   *nodeGroups
	machines *machines

	news  *clusterNews
	names *names

	out      *transcript
	wire     *wire
	beside   beside
	observer *observer.Observer
	rule     *observer.Rules

	skew    time.Duration    // how far the clock of the next process is ahead
	reading func() time.Time // the clock of the process
	silent  func()           // ends the silence of watches; nil while they speak
	slow    time.Duration    // what the API server takes to answer a write of sluice's
	leads   time.Time        // when the process's lease ends; zero while it renews it
	endings []ending

	silentSince time.Time
	rival       *rival            // nil when there is none
	refused     map[string]int    // writes, by the property that forbade them
	forbidden   map[string]string // nodes and machines that it keeps now, by their names, with the property
	actions     int               // of plans, whatever became of them
	sparse      bool              // no journal is kept
	whims       *whims            // nil for a sluice that does what it plans

	finalizing finalizing
	backup     *backup   // of the cluster's store; nil for none
	restored   time.Time // when that was put back last

	agents  map[string]*hearing  // by vmId; nil when the machines have none
	stops   map[string]time.Time // when machines to which something was announced are affected, by computer name
	notices map[string]string    // the last event that a script announced, by what it calls the machine

	sluice   *app.Autoscaler // nil before the first passage of time
	provider *azure.Provider
	process  context.Context
	stop     context.CancelFunc // of the process
	life     context.Context    // of what it does while it leads
	hold     context.CancelFunc // ends that
	held     bool               // its lease has ended, and nobody else has it
	kill     kill
	killed   string // what a process did last that was killed and has no successor yet
	notes    *notes
	saved    legacy          // after its last whole cycle, or ahead of a growth
	breakers memory.Breakers // as its last cycle leaves them
	pace     *app.Pace
	due      time.Time // of the next cycle, if nothing happens before
	stir     app.Stir  // since the last cycle
	told     told
	cycles   int
	journal  bytes.Buffer
	encoder  *journal.Encoder
	book     *ledger.Book                              // of the process
	sound    sound                                     // judges that
	carry    func(http.RoundTripper) http.RoundTripper // nil for none
}

func newWorld(o Options, fixtures map[string][]byte, out io.Writer) *world {
	w := &world{
		clock: newClock(), fixtures: fixtures, allowed: newPolicy(), policy: policy.Default(), said: said{},
		timing: app.Timing{Resync: 10 * time.Second, Most: 2 * time.Second, Retry: time.Second},

		carry: o.Kubernetes, told: told{}, refused: map[string]int{}, sparse: o.NoJournal, notices: map[string]string{},
	}
	w.policy.Installation = installation
	w.azure = &azuresim.Server{
		Now: w.now, Seed: o.Seed, AnyToken: true, // its clock runs faster than the one that the client's token cache goes by
		Boot: azuresim.Fixed(90 * time.Second), Delete: azuresim.Fixed(45 * time.Second),
	}
	w.groups = &nodeGroups{azure: w.azure, sizes: map[string]machineSize{}, tags: map[string]map[string]string{}}
	w.cluster = &kubesim.Cluster{Now: w.now, Seed: o.Seed}
	w.names = newNames()
	w.out = &transcript{w: out, names: w.names}
	w.news = &clusterNews{
		clock: w.clock, cluster: w.cluster, out: w.out, pods: map[string]*podSeen{}, nodes: map[string]*nodeSeen{}, conditions: map[string]string{},
	}
	w.machines = &machines{
		clock: w.clock, azure: w.azure, cluster: w.cluster, groups: w.groups, out: w.out,
		join: 30 * time.Second, all: map[string]*machine{}, born: map[string]int{},
	}
	home := &azuresim.Transport{Server: w.azure, Machine: controlPlane}
	w.wire = &wire{clock: w.clock, home: home, next: home}
	if o.Trace {
		w.wire.trace = &trace{}
	}
	w.azure.Sleep = w.wire.wait
	w.rule = w.rules()
	w.sound = sound{world: w, facts: map[string]*fact{}}
	w.rule.Acts = w.sound.acted
	w.beside.clock = w.clock
	w.observer = observer.New(w.azure, w.cluster, w.now, w.rule)
	w.encoder = journal.NewEncoder(&w.journal)
	return w
}

func (w *world) close() {
	if w.stop != nil {
		w.stop()
	}
	if w.rival != nil {
		w.rival.stop()
	}
	w.beside.end()
}

// carried is a way to the API server, as [Options.Kubernetes] has it.
func (w *world) carried(next http.RoundTripper) http.RoundTripper {
	if w.carry == nil {
		return next
	}
	return w.carry(next)
}

func (w *world) now() time.Time { return w.clock.now() }

// elapsed is the time since the start.
func (w *world) elapsed() time.Duration { return w.clock.elapsed() }

// legacy is what a process leaves to the next one in the status ConfigMap.
type legacy struct {
	operations []byte // in flight
	learned    cluster.Lessons
	breakers   memory.Breakers
}

// legacy is what sluice would leave now.
func (w *world) legacy() legacy {
	return legacy{w.notes.cycle(w.saved.operations, w.now()), w.sluice.Learned(), w.breakers}
}

// Notes are what one process knows of the operations in the status ConfigMap, where each process that leads writes its own.
type notes struct {
	provider *azure.Provider
	wrote    []byte    // last, or read when it began
	at       time.Time // of the last cycle that wrote
}

// keep puts the process's operations there, in place of those that are. Those of another process it heeds first; ahead of a growth it then writes nothing.
func (n *notes) keep(there []byte, ahead bool) error {
	if !bytes.Equal(there, n.wrote) {
		n.wrote = there
		if err := n.provider.MergeOperations(there); err != nil && ahead {
			return err
		}
	}
	n.wrote = n.provider.SaveOperations()
	return nil
}

// cycle has the process write at the end of a cycle, once a minute or when it knows something else, and returns what is there then.
func (n *notes) cycle(there []byte, now time.Time) []byte {
	if now.Sub(n.at) < time.Minute && bytes.Equal(n.provider.SaveOperations(), n.wrote) {
		return there
	}
	_ = n.keep(there, false)
	n.at = now
	return n.wrote
}

// ahead is what a process writes there before a growth: it does not wait for the cycle's end.
func (w *world) ahead(n *notes) func(context.Context) error {
	return func(context.Context) error {
		err := n.keep(w.saved.operations, true)
		w.saved.operations = n.wrote
		return err
	}
}

// begin starts sluice, or another one in its place: with an empty memory and a new client, as a new process has them, and the record that the one
// before has left.
func (w *world) begin(ctx context.Context, left legacy) error {
	if w.stop != nil {
		w.stop()
	}
	ctx, w.stop = context.WithCancel(ctx)
	w.process, w.saved, w.breakers, w.leads = ctx, left, left.breakers, time.Time{}
	w.reading = w.reads()
	config := w.cluster.RESTConfig()
	config.UserAgent = userAgent
	config.Transport = mortal{w, sluggish{w, w.carried(config.Transport)}, ctx}
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("start sluice: %w", err)
	}
	if len(w.groups.specs) == 0 {
		return errors.New("start sluice: the script has no node group: give it one with group")
	}
	farm := w.farm(mortal{w, w.wire, ctx}, w.reading)
	w.notes = &notes{wrote: left.operations}
	farm.Ahead = w.ahead(w.notes)
	w.provider, err = azure.New(ctx, farm)
	if err != nil {
		return fmt.Errorf("start sluice: %w", err)
	}
	w.notes.provider = w.provider
	if err := w.provider.ResumeOperations(left.operations); err != nil {
		return fmt.Errorf("start sluice: %w", err)
	}
	w.book = farm.Ledger
	w.sound.begins(left.operations != nil)
	parts := app.Parts{Client: api, Cloud: w.provider, Ledger: w.book, Policy: w.policy, DryRun: w.dryRun, Now: w.reading, Timing: w.timing, Expander: &w.advice,
		Background: untimed{}, Wall: noWall, Silent: w.silence, Leads: w.ownLease, Learned: left.learned, Breakers: left.breakers,
	}
	if w.whims != nil {
		parts.Around = w.around
	}
	if err := w.lead(app.New(parts)); err != nil {
		return err
	}
	if left.operations == nil {
		w.observer.Forgot()
	}
	return nil
}

// lead has the process begin to lead, or to lead again.
func (w *world) lead(sluice *app.Autoscaler) error {
	w.speak()
	w.life, w.hold = context.WithCancel(w.process)
	w.sluice, w.held, w.out.begun = sluice, false, true
	if err := sluice.Start(w.life); err != nil {
		return fmt.Errorf("start sluice: %w", err)
	}
	w.observer.Began()
	w.pace, w.news.stirred, w.stir, w.told, w.due = app.NewPace(w.timing), false, app.Stir{}, told{}, w.now()
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
	if s.verb.setup && w.sluice != nil {
		return fmt.Errorf("%s: sluice has started: it must stand before the first advance, until or restart", s.verb.name)
	}
	if s.verb.time {
		if w.sluice == nil {
			if err := w.wake(ctx); err != nil {
				return err
			}
		}
	}
	if w.sluice != nil && !s.verb.quiet {
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
	return w.begin(ctx, w.legacy())
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
		if err := w.endDue(false); err != nil {
			return err
		}
		if err := w.rest(ctx); err != nil {
			return err
		}
		if reached != nil && reached() || !w.now().Before(end) {
			return w.out.err
		}
		next := end
		for _, t := range []time.Time{w.machines.nextJoin(), w.finalizing.next(), w.nextHearing(), w.turnsAt(), w.nextEnding(), w.rivalTurns(), w.beside.wakes()} {
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

// hearAnswers has loops turn for answers of Azure that no cycle waited for.
func (w *world) hearAnswers() {
	select {
	case <-w.provider.Triggers():
		w.news.stirred = true
	default:
	}
	if w.rival == nil {
		return
	}
	select {
	case <-w.rival.provider.Triggers():
		w.rival.due = w.now()
	default:
	}
}

// turnsAt is when the next cycle is due, by the rules of app.Autoscaler.Run; zero while none is.
func (w *world) turnsAt() time.Time {
	if w.held {
		return time.Time{}
	}
	if due, stirred := w.stir.Due(w.timing); stirred {
		return due
	}
	return w.due
}

// mostRounds bounds what may happen within one instant.
const mostRounds = 1000

// rest lets everybody act until nobody has anything left to do at this instant.
func (w *world) rest(ctx context.Context) error {
	for range mostRounds {
		if err := w.settle(); err != nil {
			return err
		}
		if err := w.turnAgents(ctx); err != nil {
			return err
		}
		if err := w.settle(); err != nil {
			return err
		}
		w.sound.judge()
		w.hearAnswers()
		if w.news.stirred {
			w.stir.Note(w.now())
			w.news.stirred = false
		}
		if err := w.turnRival(ctx); err != nil {
			return err
		}
		if err := w.inherit(ctx); err != nil { // killed by what it waited for beside its cycle
			return err
		}
		if w.held || w.now().Before(w.turnsAt()) {
			return w.listen(ctx)
		}
		w.stir = app.Stir{}
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
