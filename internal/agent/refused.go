package agent

import (
	"fmt"
	"time"

	"sluice.dev/sluice/guard"
)

// repeatAfter is how long a refusal of the same write, for the same property, is not logged again. It counts each time.
const repeatAfter = 5 * time.Minute

// refused puts a write that the guard stopped on record, with the property's id: it is counted, and from time to time logged.
func (a *Agent) refused(w guard.Write, seen guard.Local, r *guard.Refusal) {
	a.Metrics.refused(w, r.Property)
	about := r.Property + " " + deed(w)
	if last, said := a.refusals[about]; said && seen.Time.Sub(last) < repeatAfter {
		return
	}
	if a.refusals == nil || len(a.refusals) > 1000 {
		a.refusals = map[string]time.Time{}
	}
	a.refusals[about] = seen.Time
	a.Log.Warn("refused", "action", deed(w), "node", a.Node, "code", r.Reason.Code, "err", r.Reason.String())
}

// deed is what a write does, in words.
func deed(w guard.Write) string {
	switch w := w.(type) {
	case guard.Announce:
		return "announce notice " + w.Notice + " on node " + w.Node
	case guard.Withdraw:
		return "take the notice off node " + w.Node
	case guard.Agree:
		return "agree to notice " + w.Notice
	}
	return fmt.Sprintf("make a write of kind %s", kind(w))
}
