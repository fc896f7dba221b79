package world

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan"
)

// A rival is a second process of sluice that believes that it leads, as after a lease that was lost and not noticed.
type rival struct {
	sluice   *app.Autoscaler
	provider *azure.Provider
	pace     *app.Pace
	due      time.Time
	stop     context.CancelFunc
	life     context.Context
}

// doRival lets a second process lead besides, for a while.
func doRival(ctx context.Context, w *world, s *statement) error {
	lasts, err := s.duration("for", 0)
	if err != nil {
		return err
	}
	if lasts == 0 {
		return fmt.Errorf("rival: give how long, such as for=30s")
	}
	if w.rival != nil {
		return nil
	}
	w.speak()
	life, stop := context.WithCancel(ctx)
	made, err := w.newRival(life)
	if err != nil {
		stop()
		return err
	}
	made.stop, made.life = stop, life
	w.rival, w.rule.Several = made, true
	w.observer.Began()
	w.until(lasts, func() {
		if w.rival == made {
			stop()
			w.rival = nil
		}
	})
	return nil
}

func (w *world) newRival(ctx context.Context) (*rival, error) {
	api, err := kubernetes.NewForConfig(w.cluster.RESTConfig())
	if err != nil {
		return nil, fmt.Errorf("start a rival: %w", err)
	}
	provider, err := azure.New(ctx, w.farm(w.wire, w.now))
	if err != nil {
		return nil, fmt.Errorf("start a rival: %w", err)
	}
	made := &rival{provider: provider, pace: app.NewPace(w.timing), due: w.now()}
	made.sluice = app.New(app.Parts{Client: api, Cloud: provider, Policy: w.policy, DryRun: w.dryRun, Now: w.now, Timing: w.timing, Expander: &w.advice, Simulated: true, Silent: w.silence})
	return made, made.sluice.Start(ctx)
}

// rivalTurns is when the rival's loop is due; zero when there is none.
func (w *world) rivalTurns() time.Time {
	if w.rival == nil {
		return time.Time{}
	}
	return w.rival.due
}

// turnRival turns the rival's loop when it is due.
func (w *world) turnRival(ctx context.Context) error {
	r := w.rival
	if r == nil || w.now().Before(r.due) {
		return nil
	}
	if err := w.hearBy(ctx, r.sluice); err != nil {
		return err
	}
	entry, err := w.step(r.life, r.sluice)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.observer.Turn()
	r.due = w.now().Add(r.pace.Wait(w.now(), entry, err, r.provider.NextPoll()))
	w.count(entry)
	return nil
}

// count notes what the guard refused.
func (w *world) count(entry journal.Entry) {
	for _, r := range entry.Results {
		w.tally(r)
	}
}

func (w *world) tally(r plan.Result) {
	w.actions++
	if r.Property != "" {
		w.refused[r.Property]++
	}
}
