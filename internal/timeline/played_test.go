package timeline_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/history"
	"sluice.dev/sluice/internal/timeline"
	"sluice.dev/sluice/internal/world"
	"sluice.dev/sluice/reason"
)

// played is the journal of a scenario.
func played(t *testing.T, story string) []byte {
	t.Helper()
	r, err := world.Run(t.Context(), []byte(story), io.Discard, world.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Journal
}

// read is the timeline of a journal.
func read(t *testing.T, journal []byte) *timeline.Timeline {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	if err := os.WriteFile(path, journal, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := history.Read(path, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	line := &timeline.Timeline{}
	if err := line.Read(t.Context(), r, time.Time{}); err != nil {
		t.Fatal(err)
	}
	return line
}

// always is before and after every scenario.
func always() (from, to time.Time) { return time.Unix(0, 0), time.Unix(1<<32, 0) }

// TestLivesOfAPlayedNight has the real sluice grow a group for a Job, keep its node while the Job runs, and delete it when it is idle.
func TestLivesOfAPlayedNight(t *testing.T) {
	line := read(t, played(t, "group agents size=Standard_D4s_v5 min=0 max=3 machines=0\nadvance 2m\npod frame-0 cpu=3 owner=job runs=20m\nadvance 45m\n"))
	lives := line.Lives(always())
	if len(lives) != 1 {
		t.Fatalf("%d lives: %+v", len(lives), lives)
	}
	l := lives[0]
	var does []timeline.SpanKind
	for i, span := range l.Spans {
		does = append(does, span.Kind)
		if i > 0 && !l.Spans[i-1].To.Equal(span.From) {
			t.Errorf("the span before %v ends at %s", span, l.Spans[i-1].To)
		}
	}
	if l.Requested.IsZero() || !l.Joined.After(l.Requested) || !l.Gone.After(l.Joined) || l.Code != reason.NodeIdleFor || l.Node != "agents000000" {
		t.Errorf("its life is %+v", l)
	}
	if got := fmt.Sprint(does); !strings.HasPrefix(got, "[boot ") || !strings.HasSuffix(got, " job idle draining]") {
		t.Errorf("it does %s", got)
	}
	grown, removed, waited := 0, 0, 0
	for _, p := range line.Points(always()) {
		grown, removed, waited = grown+p.Grown, removed+p.Removed, max(waited, p.Waiting)
	}
	if grown != 1 || removed != 1 || waited != 1 {
		t.Errorf("grown %d, removed %d, waited %d", grown, removed, waited)
	}
}

func TestADamagedJournalHasAGap(t *testing.T) {
	lines := bytes.SplitAfter(played(t, "group agents size=Standard_D4s_v5 min=1 max=3 machines=1\nadvance 10m\n"), []byte("\n"))
	later := bytes.SplitAfter(played(t, "group agents size=Standard_D4s_v5 min=1 max=3 machines=1\nadvance 20m\n"), []byte("\n"))
	whole := slices.IndexFunc(later, func(line []byte) bool { return bytes.Contains(line, []byte(`"full":true`)) })
	if whole != 0 {
		t.Fatalf("line %d is the first whole one", whole)
	}
	damaged := slices.Concat(bytes.Join(lines[:5], nil), []byte("rubbish\n"), bytes.Join(later, nil))
	if got := read(t, damaged).Gaps(always()); len(got) != 1 || got[0].Why != timeline.JournalDamaged {
		t.Errorf("gaps: %v", got)
	}
	if got := read(t, slices.Concat(bytes.Join(lines[:5], nil), bytes.Join(later, nil))).Gaps(always()); len(got) != 0 {
		t.Errorf("gaps of a whole one: %v", got)
	}
}
