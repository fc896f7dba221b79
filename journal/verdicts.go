package journal

import (
	"fmt"
	"maps"
	"slices"

	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// verdicts are some of a cycle's verdicts, in their order: either as they stand in the line before, or the same for each of some subjects.
// A pod that waits for days for the same reason so costs its verdict once, and pods that are alike share theirs.
type verdicts struct {
	From int `json:"from,omitempty"` // the place of the first of them in the line before
	Same int `json:"same,omitempty"` // how many stand there; 0 for those that are told here

	Subjects []reason.Ref    `json:"subjects,omitempty"`
	Outcome  action.Outcome  `json:"outcome,omitempty"`
	Because  []reason.Reason `json:"because,omitempty"`
}

// verdictsSince is what a line tells of the verdicts after those that the line before has told of.
func verdictsSince(before, after []action.Verdict) []verdicts {
	var told []verdicts
	var places map[reason.Ref]int // of subjects in before, once one is not where it is expected
	next := 0                     // where the next subject is expected there
	for i, v := range after {
		at := next
		if at >= len(before) || before[at].Subject != v.Subject {
			if places == nil {
				places = make(map[reason.Ref]int, len(before))
				for k, b := range before {
					places[b.Subject] = k
				}
			}
			known := false
			if at, known = places[v.Subject]; !known {
				at = -1
			}
		}
		last := len(told) - 1
		switch {
		case at >= 0 && sameVerdict(before[at], v):
			if last >= 0 && told[last].Same > 0 && told[last].From+told[last].Same == at {
				told[last].Same++
			} else {
				told = append(told, verdicts{From: at, Same: 1})
			}
		case last >= 0 && told[last].Same == 0 && v.Outcome == told[last].Outcome && sameReasons(after[i-1].Because, v.Because):
			told[last].Subjects = append(told[last].Subjects, v.Subject)
		default:
			told = append(told, verdicts{Subjects: []reason.Ref{v.Subject}, Outcome: v.Outcome, Because: v.Because})
		}
		if at >= 0 {
			next = at + 1
		}
	}
	return told
}

func sameVerdict(a, b action.Verdict) bool {
	return a.Subject == b.Subject && a.Outcome == b.Outcome && sameReasons(a.Because, b.Because)
}

// sameReasons looks at what the reasons say only where they are not the same ones.
func sameReasons(a, b []reason.Reason) bool {
	if len(a) != len(b) || (a == nil) != (b == nil) {
		return false
	}
	if len(a) == 0 || &a[0] == &b[0] {
		return true
	}
	return slices.EqualFunc(a, b, func(a, b reason.Reason) bool {
		return a.Code == b.Code && a.About == b.About && maps.Equal(a.Facts, b.Facts)
	})
}

// verdictsAfter are the verdicts of a line that tells this, after a line with those before.
func verdictsAfter(before []action.Verdict, told []verdicts) ([]action.Verdict, error) {
	var all []action.Verdict
	left := len(before) // to be repeated: each has one subject, of which a line tells once
	for _, t := range told {
		if t.Same > 0 {
			if t.From < 0 || t.From > len(before)-t.Same || t.Same > left {
				return nil, fmt.Errorf("it repeats %d verdicts from %d on of a line that has %d", t.Same, t.From, len(before))
			}
			left -= t.Same
			all = append(all, before[t.From:t.From+t.Same]...)
			continue
		}
		for _, s := range t.Subjects {
			all = append(all, action.Verdict{Subject: s, Outcome: t.Outcome, Because: t.Because})
		}
	}
	return all, nil
}
