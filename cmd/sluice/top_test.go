package main

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/timeline"
	"sluice.dev/sluice/internal/view"
	"sluice.dev/sluice/reason"
)

func TestTopPrintsOneScreenWhereThereIsNoTerminal(t *testing.T) {
	path := idleNight(t)
	got := sluice(t.Context(), "top", "--journal="+path)
	got.expect(t, exitNothing, "journal LAST", "GROUP ", " agents ", "NEEDS YOU 0", "FLEET ", "PODS THAT WAIT 0", "NEXT", "the last is of 2026-01-01 00:50:00 UTC")
	if strings.Contains(got.out, "\x1b") {
		t.Errorf("a pipe gets escape sequences:\n%q", got.out)
	}
	var n view.Now
	asData := sluice(t.Context(), "top", "--journal="+path, "-o", "json")
	if err := json.Unmarshal([]byte(asData.out), &n); err != nil {
		t.Fatal(err)
	}
	entry, err := entryOf(path, moment{}, tellAside(os.Stderr))
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := view.Write(&want, view.New(entry)); err != nil || want.String() != asData.out {
		t.Errorf("it is not what the page shows (%v):\n%s\nwant\n%s", err, asData.out, want.String())
	}
}

func TestTopOfAJournalKnowsThePastAndWhatIsGone(t *testing.T) {
	s := journalSource(idleNight(t))
	defer s.Close()
	seen, err := s.Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	gone := reason.Node("agents000000")
	found, err := s.Find(t.Context(), "000000", time.Time{})
	if err != nil || !slices.ContainsFunc(found, func(f timeline.Found) bool { return f.Ref == gone && !f.Gone.IsZero() }) {
		t.Errorf("the node that went is not found: %+v (%v)", found, err)
	}
	why, err := s.Why(t.Context(), gone, time.Time{})
	if err != nil || !strings.HasPrefix(why, "It went at 2026-01-01 00:1") || !strings.Contains(why, "delete machine 0 of group agents") {
		t.Errorf("it is not told why the node went (%v):\n%s", err, why)
	}
	before, err := s.At(t.Context(), seen.Now.Time.Add(-time.Nanosecond))
	if err != nil || before.Now.Cycle != seen.Now.Cycle-1 {
		t.Fatalf("before cycle %d is %+v (%v)", seen.Now.Cycle, before.Now, err)
	}
	if again, err := s.After(t.Context(), before.Now.Time); err != nil || again.Now.Cycle != seen.Now.Cycle {
		t.Errorf("after cycle %d is %+v (%v)", before.Now.Cycle, again.Now, err)
	}
	if _, err := s.After(t.Context(), seen.Now.Time); err == nil {
		t.Error("there is a cycle after the last one")
	}
}

func TestTopFollowsAJournalThatGrows(t *testing.T) {
	whole, err := os.ReadFile(idleNight(t))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	path := file(t, "journal", string(bytes.Join(lines[:4], nil)))
	s := journalSource(path)
	defer s.Close()
	first, err := s.Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if last, err := s.Newest(t.Context()); err != nil || !last.Now.Time.After(first.Now.Time) {
		t.Errorf("after %s comes %+v (%v)", first.Now.Time, last.Now, err)
	}
}

func TestTopOfTheFileBefore(t *testing.T) {
	path := idleNight(t)
	if err := os.Rename(path, path+"-20260101T005000Z"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	sluice(t.Context(), "top", "--journal="+path).expect(t, exitNothing, "the last is of 2026-01-01 00:50:00 UTC")
}
