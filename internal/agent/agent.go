// Package agent is sluice on each node: it hears what Azure announces to its machine, writes that on its node, which keeps new pods away, and
// lets Azure go on once sluice has said there that the node is empty. It evicts nothing, and changes nothing but the notice on its own node.
//
// While nothing is announced it asks the machine's metadata service once a second, and the API server nothing.
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/guard"
	"sluice.dev/sluice/internal/imds"
)

const (
	// every is the pause between two looks at the notices. The service answers five questions a second, other programs' included.
	every = time.Second
	// calm is the pause while sluice's word is waited for, and the machine does not stop soon.
	calm = 5 * time.Second
	// soon is when it does.
	soon = time.Minute
	// slowest bounds the pause after failures in a row. A notice may be of 30 s.
	slowest = 4 * time.Second
	// silent is how many documents in a row must lack a notice before it counts as taken back.
	silent = 3
)

// Metadata is what the agent asks its machine's metadata service: [imds.Client] answers it.
type Metadata interface {
	Instance(context.Context) (imds.Instance, error)
	Events(context.Context) ([]imds.Event, error)
	Agree(ctx context.Context, event string) error
}

// Agent hears for one machine. Its fields are set before its first use and not changed after.
type Agent struct {
	Metadata Metadata
	Client   kubernetes.Interface
	Node     string   // its own; "" for the one that is named as the machine's computer
	Heeds    []string // kinds of events that the machine makes room for; others are only told
	DryRun   bool     // nothing is changed; what would be is told
	Now      func() time.Time
	Log      *slog.Logger
	Metrics  *Metrics // nil: nothing is counted

	self     *imds.Instance
	machine  cluster.Instance
	observed []guard.Announced // in the last document
	asked    time.Time         // when it was read; zero before the first
	lacking  int               // documents in a row without a notice to heed
	settled  bool              // the node bears no notice, as far as is known
	agreed   map[string]bool
	reported map[string]bool // sentences that were logged already
	faults   int             // in a row

	refusals map[string]time.Time // when a refusal was put on record last, by the property and what was refused
}

// DefaultHeeds are the kinds of events that stop what runs on a machine. A Freeze is over within seconds.
var DefaultHeeds = []string{"Preempt", "Terminate", "Redeploy", "Reboot"}

// Run hears until ctx ends, and returns its error. What fails is told and tried again.
func (a *Agent) Run(ctx context.Context) error {
	for {
		pause := time.NewTimer(a.Cycle(ctx))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		}
	}
}

// Cycle looks once at the notices, does what they ask for, and says when to look again.
func (a *Agent) Cycle(ctx context.Context) time.Duration {
	again, err := a.cycle(ctx)
	if err == nil {
		a.faults = 0
		return again
	}
	a.tell(slog.LevelWarn, fmt.Sprintf("%v; tried again within %s", err, slowest))
	a.faults++
	return min(every<<min(a.faults-1, 4), slowest)
}

// Quiet says whether, as far as the agent knows, nothing is announced to its machine and its node bears no notice.
func (a *Agent) Quiet() bool { return a.settled && a.worst() == nil }

func (a *Agent) cycle(ctx context.Context) (time.Duration, error) {
	if err := a.learn(ctx); err != nil {
		return 0, err
	}
	deaf := a.listen(ctx)
	notice := a.worst()
	switch {
	case notice != nil:
		a.lacking = 0
	case deaf == nil:
		a.lacking++
	}
	if notice == nil && (a.settled || a.lacking < silent) {
		return every, deaf
	}
	again, err := a.answer(ctx, notice)
	return again, errors.Join(err, deaf)
}

// learn finds out which machine this is.
func (a *Agent) learn(ctx context.Context) error {
	if a.self != nil {
		return nil
	}
	self, err := a.Metadata.Instance(ctx)
	if err != nil {
		return err
	}
	a.machine = cluster.Instance{UID: strings.ToLower(self.VMID), ComputerName: self.ComputerName, PrivateIPs: self.PrivateIPs}
	if a.Node == "" {
		a.Node = strings.ToLower(self.ComputerName) // as kubelets do; the guard compares machine and node before each write
	}
	a.self = &self
	a.Log.Info("hears for", "machine", self.Name, "node", a.Node)
	return nil
}

// listen reads the document of notices. While the service does not answer, what it said last stands.
func (a *Agent) listen(ctx context.Context) error {
	asked := a.Now()
	events, err := a.Metadata.Events(ctx)
	if err != nil {
		return err
	}
	a.asked, a.observed = asked, a.observed[:0:0]
	for _, e := range events {
		h := guard.Announced{Notice: cluster.Notice{ID: e.ID, Kind: e.Kind, Deadline: e.NotBefore}, Machines: e.Machines}
		a.observed = append(a.observed, h)
		if h.Names(a.self.Name) {
			a.tell(slog.LevelInfo, fmt.Sprintf("Azure announces %s", e.Kind), "event", e.ID, "not before", e.NotBefore, "says", e.Description)
		}
	}
	return nil
}

// worst is the notice that leaves the machine the least: one that ends it before one that stops it, and of those the first to come. Nil
// when there is none that the agent heeds.
func (a *Agent) worst() *guard.Announced {
	var worst *guard.Announced
	for i := range a.observed {
		h := &a.observed[i]
		if !h.Names(a.self.Name) || !slices.Contains(a.Heeds, h.Kind) {
			continue
		}
		if worst == nil || h.Ends() && !worst.Ends() || h.Ends() == worst.Ends() && h.Deadline.Before(worst.Deadline) {
			worst = h
		}
	}
	return worst
}

// tell logs a sentence once.
func (a *Agent) tell(level slog.Level, sentence string, args ...any) {
	key := sentence + fmt.Sprint(args...)
	if a.reported[key] {
		return
	}
	if a.reported == nil || len(a.reported) > 1000 {
		a.reported = map[string]bool{}
	}
	a.reported[key] = true
	a.Log.Log(context.Background(), level, sentence, args...)
}
