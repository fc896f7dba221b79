package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/guard"
	"sluice.dev/sluice/internal/kube"
)

// answer does what the notice asks for now, as far as the node does not show it done already: an agent that was started anew goes on where the one
// before stopped. A nil notice takes an earlier one back.
func (a *Agent) answer(ctx context.Context, notice *guard.Announced) (time.Duration, error) {
	seen, err := a.Look(ctx)
	if err != nil {
		return 0, err
	}
	stands, marked := cluster.NoticeOf(seen.Node)
	if notice == nil {
		if a.settled = !marked; marked {
			return every, a.withdraw(ctx, seen)
		}
		return every, nil
	}
	a.settled = false
	if !marked || stands.ID != notice.ID || !stands.Deadline.Equal(notice.Deadline) {
		if err := a.announce(ctx, seen, notice); err != nil {
			return 0, err
		}
		return every, nil
	}
	return a.goOn(ctx, seen, notice)
}

// Look reads the node, and puts it beside what was heard last: what the guard is shown.
func (a *Agent) Look(ctx context.Context) (guard.Local, error) {
	node, err := a.writer().Look(ctx, a.Node)
	if err != nil {
		return guard.Local{}, err
	}
	if node == nil {
		return guard.Local{}, fmt.Errorf("there is no node %s: name this machine's with --node-name", a.Node)
	}
	return guard.Local{DryRun: a.DryRun, Time: a.Now(), Name: a.self.Name, Machine: a.machine, Notices: a.observed, Asked: a.asked, Node: node}, nil
}

func (a *Agent) writer() kube.Writer { return kube.Writer{Client: a.Client} }

func (a *Agent) announce(ctx context.Context, seen guard.Local, notice *guard.Announced) error {
	write := guard.Announce{Node: seen.Node.Name, UID: seen.Node.UID, Notice: notice.ID}
	return a.make(write, seen, fmt.Sprintf("node %s takes no more pods", a.Node), func() error {
		return a.writer().Announce(ctx, seen.Node.Name, seen.Node.UID, notice.Notice)
	})
}

func (a *Agent) withdraw(ctx context.Context, seen guard.Local) error {
	write := guard.Withdraw{Node: seen.Node.Name, UID: seen.Node.UID}
	return a.make(write, seen, fmt.Sprintf("nothing is announced any more, node %s takes pods again", a.Node), func() error {
		return a.writer().Withdraw(ctx, seen.Node.Name, seen.Node.UID)
	})
}

// goOn agrees to the notice once sluice has said on the node that it is empty.
func (a *Agent) goOn(ctx context.Context, seen guard.Local, notice *guard.Announced) (time.Duration, error) {
	again := calm
	if notice.Deadline.Sub(seen.Time) < soon {
		again = every
	}
	if answer, said := cluster.AnswerOf(seen.Node); !said || answer.ID != notice.ID || !answer.Empty || !notice.Stops() {
		return again, nil
	}
	return again, a.agree(ctx, seen, notice)
}

// agree lets Azure begin what only this machine waits for. An agreement that was lost is given again: Azure takes it as often as it comes.
func (a *Agent) agree(ctx context.Context, seen guard.Local, notice *guard.Announced) error {
	if a.agreed[notice.ID] || len(notice.Machines) != 1 || notice.Deadline.IsZero() {
		return nil
	}
	return a.make(guard.Agree{Notice: notice.ID, Node: a.Node}, seen, fmt.Sprintf("node %s is empty, Azure may go on with %s", a.Node, notice.Kind), func() error {
		if err := a.Metadata.Agree(ctx, notice.ID); err != nil {
			return err
		}
		if a.agreed == nil {
			a.agreed = map[string]bool{}
		}
		a.agreed[notice.ID] = true
		return nil
	})
}

// make asks the guard, then sends, and tells what was done.
func (a *Agent) make(w guard.Write, seen guard.Local, done string, send func() error) error {
	err := guard.CheckLocal(w, seen)
	var refusal *guard.Refusal
	if a.DryRun && errors.As(err, &refusal) && refusal.Property == "S-24" {
		a.tell(slog.LevelInfo, "would be done, if this were no dry run: "+done)
		return nil
	}
	if errors.As(err, &refusal) {
		a.refused(w, seen, refusal)
	}
	if err != nil {
		return err
	}
	err = send()
	a.Metrics.made(w, err)
	if err != nil {
		return err
	}
	a.tell(slog.LevelInfo, done, "at", seen.Time.UTC().Format(time.RFC3339))
	return nil
}
