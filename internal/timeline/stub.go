package timeline

import (
	"time"

	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/reason"
)

// Timeline is what is remembered. The zero value remembers nothing yet. One goroutine notes; any may read meanwhile.
type Timeline struct{}

// Note takes in the next cycle.
func (t *Timeline) Note(journal.Entry) {}

// Points are those of a stretch of time, the oldest first: each cycle of the last six hours, one a minute of the last day, one in ten minutes of
// the last week.
func (t *Timeline) Points(_, _ time.Time) []Point { return nil }

// Tellings are what happened in a stretch of time, the newest first: at most so many, about one thing, or about everything for nil.
func (t *Timeline) Tellings(_, _ time.Time, _ *reason.Ref, _ int) []Telling { return nil }

// Lives are those of machines that were there in a stretch of time, by group and then by when they began.
func (t *Timeline) Lives(_, _ time.Time) []Life { return nil }

// Gaps are those that overlap a stretch of time, the oldest first.
func (t *Timeline) Gaps(_, _ time.Time) []Gap { return nil }

// Find finds pods, nodes, machines and groups by a part of their name: the nearest first, those that are there before those that are gone.
func (t *Timeline) Find(_ string, _ int) []Found { return nil }
