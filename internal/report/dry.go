package report

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

const (
	// summaryEvery is how often a dry run says what it would have done until now.
	summaryEvery = time.Hour
	// intentionGone is how long no plan must have had an intention until the same one is another.
	intentionGone = 5 * time.Minute

	dryRunPrefix = "dry run: "
)

// intentions are what a dry run would do: each is said when it arises, and all of them are summed up once an hour. The zero value has none.
type intentions struct {
	since  time.Time // of the first entry
	summed time.Time // when they were last summed up, or since
	stand  map[intention]*standing
	groups map[cluster.GroupID]*tally
}

// intention is what makes one deed another. Of a growth that is the capacity from which the group grows.
type intention struct {
	act   string
	about reason.Ref
	from  int
}

// standing is an intention that was said.
type standing struct {
	last time.Time // when a plan last had it
	to   int       // the capacity to which a group grows
}

// tally is what would have been done to a group.
type tally struct{ growths, machines, removals int }

// report says what is new in the entry, and sums up when an hour is over.
func (in *intentions) report(ctx context.Context, to *slog.Logger, entry journal.Entry) {
	now := entry.Seen.Time
	if in.since.IsZero() {
		in.since, in.summed = now, now
		in.stand, in.groups = map[intention]*standing{}, map[cluster.GroupID]*tally{}
	}
	maps.DeleteFunc(in.stand, func(_ intention, s *standing) bool { return now.Sub(s.last) >= intentionGone })
	for _, d := range Deeds(entry) {
		if in.isNew(d, now) {
			to.LogAttrs(ctx, slog.LevelInfo, dryRunPrefix+"would "+d.Sentence, d.attrs(string(d.Because.Code))...)
		}
	}
	if now.Sub(in.summed) >= summaryEvery {
		in.summed = now
		to.LogAttrs(ctx, slog.LevelInfo, in.summary())
	}
}

// isNew says whether the deed is to be said, and counts it then.
func (in *intentions) isNew(d Deed, now time.Time) bool {
	key := intention{act: d.Action, about: d.about()}
	growth, grows := d.of.(action.SetCapacity)
	if grows {
		key.from = growth.From
	}
	s, stands := in.stand[key]
	if !stands {
		s = &standing{to: growth.From}
		in.stand[key] = s
	}
	s.last = now
	if stands && s.to >= growth.To {
		return false
	}
	t := in.groups[d.Group]
	if t == nil {
		t = &tally{}
		in.groups[d.Group] = t
	}
	switch d.of.(type) {
	case action.SetCapacity:
		t.machines += growth.To - s.to
		if s.to = growth.To; !stands {
			t.growths++
		}
	case action.Cordon:
		t.removals++
	case action.DeleteInstances:
		if _, counted := in.stand[intention{act: action.KindOf(action.Cordon{}), about: key.about}]; !counted {
			t.removals++
		}
	}
	return true
}

// summary says what would have been done since the start, by group.
func (in *intentions) summary() string {
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(in.groups)) {
		t := in.groups[id]
		if t.growths > 0 {
			parts = append(parts, fmt.Sprintf("grown group %s by %s in %s", id, plural(t.machines, "machine"), plural(t.growths, "request")))
		}
		if t.removals > 0 {
			parts = append(parts, fmt.Sprintf("removed %s of group %s", plural(t.removals, "machine"), id))
		}
	}
	did := strings.Join(parts, ", ")
	if did == "" {
		did = "grown and removed nothing"
	}
	return fmt.Sprintf(dryRunPrefix+"since %s sluice would have %s", stamp(in.since), did)
}
