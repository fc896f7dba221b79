package agent

import (
	"context"
	"fmt"
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/guard"
)

// try makes a write that the agent has not decided on. The guard is asked as before any other.
func (a *Agent) try(ctx context.Context, seen guard.Local, w guard.Write) error {
	switch w := w.(type) {
	case guard.Announce:
		notice := cluster.Notice{ID: w.Notice}
		if i := slices.IndexFunc(a.observed, func(h guard.Announced) bool { return h.ID == w.Notice }); i >= 0 {
			notice = a.observed[i].Notice
		}
		return a.make(w, seen, "tried: "+w.Notice+" is announced", func() error { return a.writer().Announce(ctx, w.Node, w.UID, notice) })
	case guard.Withdraw:
		return a.make(w, seen, "tried: what was announced is taken back", func() error { return a.writer().Withdraw(ctx, w.Node, w.UID) })
	case guard.Agree:
		return a.make(w, seen, "tried: Azure may go on", func() error { return a.Metadata.Agree(ctx, w.Notice) })
	}
	return a.make(w, seen, "tried", func() error { return fmt.Errorf("try %T: the agent has no such write", w) })
}
