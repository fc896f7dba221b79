package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"sluice.dev/sluice/guard"
)

const (
	// refusedEvent is the reason of Events about refusals, the same as the autoscaler's.
	refusedEvent = "GuardRefused"
	// repeatAfter is how long a refusal of the same write, for the same property, is not put on record again. It counts each time.
	repeatAfter = 5 * time.Minute
)

// refused puts a write that the guard stopped on record, with the property's id: it is counted, and from time to time logged and told in an Event on the node.
// An Event that cannot be sent is told in the log alone.
func (a *Agent) refused(ctx context.Context, w guard.Write, seen guard.Local, r *guard.Refusal) {
	a.Metrics.refused(w, r.Property)
	about := r.Property + " " + deed(w)
	if last, said := a.refusals[about]; said && seen.Time.Sub(last) < repeatAfter {
		return
	}
	if a.refusals == nil || len(a.refusals) > 1000 {
		a.refusals = map[string]time.Time{}
	}
	a.refusals[about] = seen.Time
	a.Log.Warn("refused", "action", deed(w), "node", a.Node, "code", r.Property, "err", r.Why)
	if seen.Node == nil {
		return
	}
	err := guard.CheckLocal(guard.Tell{Node: seen.Node.Name, UID: seen.Node.UID}, seen, a.Policy)
	if err != nil {
		return
	}
	message := fmt.Sprintf("%s: refused by %s: %s", deed(w), r.Property, r.Why)
	if err := a.writer().TellNode(ctx, seen.Node, about, refusedEvent, message, seen.Time); err != nil && !errors.Is(err, context.Canceled) {
		a.tell(slog.LevelWarn, err.Error())
	}
}

// deed is what a write does, in words.
func deed(w guard.Write) string {
	switch w := w.(type) {
	case guard.Announce:
		return "announce notice " + w.Notice + " on node " + w.Node
	case guard.Withdraw:
		return "take the notice off node " + w.Node
	case guard.Expel:
		return "evict pod " + w.Namespace + "/" + w.Pod + " from node " + w.Node
	case guard.Agree:
		return "agree to notice " + w.Notice
	}
	return fmt.Sprintf("make a write of kind %s", kind(w))
}
