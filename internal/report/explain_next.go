package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
)

// End is what ends a wait of a subject.
type End struct {
	About reason.Ref  `json:"about,omitzero"` // whose wait it is: the subject's own, or a group's on which it depends
	Code  reason.Code `json:"code"`           // of the reason that is waited out, or of the action that is tried again
	At    time.Time   `json:"at,omitzero"`    // zero for an event
	What  string      `json:"what"`           // what happens then, or the event, in one clause

	Said reason.Words `json:"-"` // What, in pieces
}

func (e End) sentence(subject reason.Ref, now time.Time) string {
	what := e.What
	if e.About != subject && e.About.Name != "" && !strings.Contains(what, e.About.Name) {
		what = e.About.String() + ": " + what
	}
	if e.At.IsZero() {
		return "when: " + what
	}
	return fmt.Sprintf("at %s (in %s): %s", stamp(e.At), e.At.Sub(now).Round(time.Second), what)
}

// await finds what the subject waits for: the ends of its own reasons, of what it does again, and of a group the next step of its nodes and machines.
// No timer of anything else is among them.
func (x *Explanation) await(entry journal.Entry) {
	now := entry.Seen.Time
	aborted := map[reason.Code]bool{} // what was done for these reasons came to nothing
	for _, d := range x.Deeds {
		aborted[d.Because.Code] = d.Status() == memory.Failed || d.Status() == memory.Refused
	}
	for _, r := range x.Because {
		if at, what := r.Ends(now); what != "" && !aborted[r.Code] {
			x.Ends = append(x.Ends, End{cmp.Or(r.About, x.Subject), r.Code, at, what, r.EndsWords()})
		}
	}
	for _, d := range x.Deeds {
		if d.Status() == memory.Failed || d.Status() == memory.Refused || d.Status() == memory.Deferred {
			x.Ends = append(x.Ends, again("the next cycle decides anew: "+d.Sentence, x.Subject, d.Because.Code))
		}
	}
	if x.Subject.Kind == reason.KindGroup {
		if step, found := x.nextStep(now); found {
			x.Ends = append(x.Ends, step)
		}
	}
	slices.SortStableFunc(x.Ends, func(a, b End) int {
		switch {
		case a.At.IsZero() == b.At.IsZero():
			return a.At.Compare(b.At)
		case a.At.IsZero():
			return 1
		}
		return -1
	})
	x.Ends = slices.CompactFunc(x.Ends, func(a, b End) bool { return a.About == b.About && a.At.Equal(b.At) && a.What == b.What })
	if len(x.Ends) > 0 {
		x.Next = x.Ends[0].At
	}
}

// again is the end of a wait for the next cycle.
func again(what string, about reason.Ref, code reason.Code) End {
	return End{About: about, Code: code, What: what, Said: reason.Plain(what)}
}

// nextStep is the earliest time at which a node or a machine of the group goes on by itself.
func (x *Explanation) nextStep(now time.Time) (first End, found bool) {
	for _, v := range x.Related {
		if v.Subject.Kind != reason.KindNode && v.Subject.Kind != reason.KindInstance {
			continue
		}
		for _, r := range v.Because {
			if r.About != v.Subject && r.About.Kind != "" && r.About != x.Subject {
				continue
			}
			if at, what := r.Ends(now); !at.IsZero() && (!found || at.Before(first.At)) {
				first, found = End{v.Subject, r.Code, at, what, r.EndsWords()}, true
			}
		}
	}
	return first, found
}
