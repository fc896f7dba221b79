package world

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/azure"
)

// A rival is a second process of sluice: one that believes that it leads, as after a lease that was lost and not noticed, one that only looks, or
// one that has the configuration of another cluster. It begins with the record that the other one has left, as any process does, and one that believes that it
// leads writes its own in its place.
type rival struct {
	kind     string
	sluice   *app.Autoscaler
	provider *azure.Provider
	notes    *notes
	pace     *app.Pace
	due      time.Time
	stop     context.CancelFunc
	life     context.Context
}

// The kinds of rivals.
const (
	leader   = "leader"
	watcher  = "watcher"
	stranger = "stranger"
)

// otherCluster is the id of a cluster that is not the world's.
const otherCluster = "00000000-0000-4000-8000-00000000c0de"

// idle says whether the rival may change nothing at all.
func (r *rival) idle() bool { return r.kind != leader }

// doRival lets a second process act besides, for a while.
func doRival(ctx context.Context, w *world, s *statement) error {
	lasts, err := s.duration("for", 0)
	if err != nil {
		return err
	}
	if lasts == 0 {
		return fmt.Errorf("rival: give how long, such as for=30s")
	}
	kind, err := s.oneOf("as", leader, watcher, stranger)
	if err != nil {
		return err
	}
	if w.procs.rival != nil {
		return nil
	}
	w.api.speak()
	life, stop := context.WithCancel(ctx)
	made, err := w.newRival(life, kind)
	if err != nil {
		stop()
		return err
	}
	made.stop, made.life = stop, life
	w.procs.rival, w.judges.rule.Several = made, true
	if !made.idle() {
		w.judges.observer.Began()
	}
	w.endings.until(lasts, func() {
		if w.procs.rival == made {
			stop()
			w.procs.rival, w.judges.rule.Several = nil, false
		}
	})
	return nil
}

func (w *world) newRival(ctx context.Context, kind string) (*rival, error) {
	api, err := kubernetes.NewForConfig(w.cluster.RESTConfig())
	if err != nil {
		return nil, fmt.Errorf("start a rival: %w", err)
	}
	own := &notes{wrote: w.procs.saved.operations}
	farm := w.farm(w.wire, w.now)
	farm.Ahead = w.procs.ahead(own)
	provider, err := azure.New(ctx, farm)
	if err != nil {
		return nil, fmt.Errorf("start a rival: %w", err)
	}
	if err := provider.ResumeOperations(w.procs.saved.operations); err != nil {
		return nil, fmt.Errorf("start a rival: %w", err)
	}
	allowed := *w.config.policy
	if kind == stranger {
		allowed.ClusterID = otherCluster
	}
	own.provider = provider
	made := &rival{kind: kind, provider: provider, notes: own, pace: app.NewPace(w.config.timing), due: w.now()}
	parts := app.Parts{
		Client: api, Cloud: provider, Ledger: farm.Ledger, Policy: &allowed, DryRun: w.config.dryRun || kind == watcher, Now: w.now,
		Timing: w.config.timing, Expander: &w.config.advice, Background: untimed{}, Wall: noWall, Silent: w.api.silence, Learned: w.procs.saved.learned, Breakers: w.procs.saved.breakers,
	}
	if w.config.whims != nil && made.idle() {
		parts.Around = w.config.whims.around
	}
	made.sluice = app.New(parts)
	return made, made.sluice.Start(ctx)
}

// turnsAt is when the rival's loop is due; zero when there is none.
func (r *rival) turnsAt() time.Time {
	if r == nil {
		return time.Time{}
	}
	return r.due
}

// turnRival turns the rival's loop when it is due.
func (w *world) turnRival(ctx context.Context) error {
	r := w.procs.rival
	if r == nil || w.now().Before(r.due) {
		return nil
	}
	if err := w.hearBy(ctx, r.sluice); err != nil {
		return err
	}
	w.judges.rule.Guest, w.judges.rule.Idle = true, r.idle()
	entry, err := w.step(r.life, r.sluice)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.judges.observer.Turn()
	w.judges.rule.Guest, w.judges.rule.Idle = false, false
	if !r.idle() {
		w.procs.saved.operations = r.notes.cycle(w.procs.saved.operations, w.now())
	}
	r.due = w.now().Add(r.pace.Wait(w.now(), entry, err, r.provider.NextPoll()))
	w.tally.count(entry)
	return nil
}
