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
	"sluice.dev/sluice/policy"
)

// answer does what the notice asks for now, as far as the node does not show it done already: an agent that was started anew goes on where the one
// before stopped. A nil notice takes an earlier one back.
func (a *Agent) answer(ctx context.Context, notice *guard.Heard) (time.Duration, error) {
	seen, err := a.look(ctx)
	if err != nil {
		return 0, err
	}
	if a.Tempt != nil {
		a.Tempt(seen, func(w guard.Write) error { return a.try(ctx, seen, w) })
		if seen, err = a.look(ctx); err != nil {
			return 0, err
		}
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
		if seen, err = a.look(ctx); err != nil {
			return 0, err
		}
		defer a.report(ctx, seen, notice) // when the pods have been told: they have less time than people
	}
	return a.makeRoom(ctx, seen, notice)
}

// report puts an event on the node. One that cannot be sent is told in the log alone.
func (a *Agent) report(ctx context.Context, seen guard.Local, notice *guard.Heard) {
	at := "now"
	if !notice.Deadline.IsZero() {
		at = notice.Deadline.UTC().Format(time.RFC3339)
	}
	message := fmt.Sprintf("Azure has announced %s of machine %s for %s; the node takes no more pods, and those on it leave in time", notice.Kind, a.self.Name, at)
	write := guard.Tell{Node: seen.Node.Name, UID: seen.Node.UID}
	err := a.make(ctx, write, seen, fmt.Sprintf("node %s has an event that says so", a.Node), func() error {
		return a.writer().TellNode(ctx, seen.Node, notice.ID+at, notice.Kind+"Announced", message, seen.Time)
	})
	if err != nil {
		a.tell(slog.LevelWarn, err.Error())
	}
}

// look reads the node and its pods, and puts them beside what was heard.
func (a *Agent) look(ctx context.Context) (guard.Local, error) {
	node, pods, err := kube.Own(ctx, a.Client, a.Node)
	if err != nil {
		return guard.Local{}, err
	}
	return guard.Local{
		DryRun: a.DryRun, Time: a.Now(), Name: a.self.Name, Machine: a.machine, Notices: a.heard, Asked: a.asked, Node: node, Pods: pods,
	}, nil
}

func (a *Agent) writer() kube.Writer { return kube.Writer{Client: a.Client} }

func (a *Agent) announce(ctx context.Context, seen guard.Local, notice *guard.Heard) error {
	write := guard.Announce{Node: seen.Node.Name, UID: seen.Node.UID, Notice: notice.ID}
	return a.make(ctx, write, seen, fmt.Sprintf("node %s takes no more pods", a.Node), func() error {
		return a.writer().Announce(ctx, seen.Node.Name, seen.Node.UID, notice.Notice)
	})
}

func (a *Agent) withdraw(ctx context.Context, seen guard.Local) error {
	write := guard.Withdraw{Node: seen.Node.Name, UID: seen.Node.UID}
	return a.make(ctx, write, seen, fmt.Sprintf("nothing is announced any more, node %s takes pods again", a.Node), func() error {
		return a.writer().Withdraw(ctx, seen.Node.Name, seen.Node.UID)
	})
}

// makeRoom evicts the pods that may go, or that have to go to get their grace, and agrees to the notice once none is left. An eviction that is
// refused, as by a disruption budget, stops no other.
func (a *Agent) makeRoom(ctx context.Context, seen guard.Local, notice *guard.Heard) (time.Duration, error) {
	if !notice.Stops() {
		return calm, nil
	}
	var faults []error
	again, left := calm, 0
	for _, p := range seen.Pods {
		if p.Daemon() || p.Finished() {
			continue
		}
		if left++; p.Leaving() {
			continue
		}
		if _, keeps := a.Policy.Keeps(p, policy.Where{}, seen.Time); keeps {
			if last := a.Policy.LastCall(p, notice.Deadline); seen.Time.Before(last) {
				again = min(again, max(every, last.Sub(seen.Time)))
				continue
			}
		}
		grace := a.Policy.GraceBefore(p, seen.Time, notice.Deadline)
		write := guard.Expel{Namespace: p.Namespace, Pod: p.Name, UID: p.UID, Node: a.Node, Grace: grace}
		err := a.make(ctx, write, seen, fmt.Sprintf("pod %s leaves, with %s to stop", p, grace), func() error {
			return a.writer().Evict(ctx, p.Namespace, p.Name, p.UID, grace)
		})
		switch {
		case errors.Is(err, kube.ErrBudget):
			a.tell(slog.LevelInfo, err.Error())
			again = every
		case err != nil:
			faults = append(faults, err)
		}
	}
	if left == 0 {
		faults = append(faults, a.agree(ctx, seen, notice))
	}
	if left > 0 && notice.Deadline.Sub(seen.Time) < soon {
		again = every
	}
	return again, errors.Join(faults...)
}

// agree lets Azure begin what only this machine waits for. An agreement that was lost is given again: Azure takes it as often as it comes.
func (a *Agent) agree(ctx context.Context, seen guard.Local, notice *guard.Heard) error {
	if a.agreed[notice.ID] || len(notice.Machines) != 1 || notice.Deadline.IsZero() {
		return nil
	}
	return a.make(ctx, guard.Agree{Notice: notice.ID, Node: a.Node}, seen, fmt.Sprintf("node %s is empty, Azure may go on with %s", a.Node, notice.Kind), func() error {
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
func (a *Agent) make(ctx context.Context, w guard.Write, seen guard.Local, done string, send func() error) error {
	err := guard.CheckLocal(w, seen, a.Policy)
	var refusal *guard.Refusal
	if a.DryRun && errors.As(err, &refusal) && refusal.Property == "S-24" {
		a.tell(slog.LevelInfo, "would be done, if this were no dry run: "+done)
		return nil
	}
	if errors.As(err, &refusal) {
		a.refused(ctx, w, seen, refusal)
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
