package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// idleNight is the journal of a night in which an idle node goes.
func idleNight(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal")
	story := file(t, "story.txtar", "group agents size=Standard_D4s_v5 min=0 max=3 machines=1\nadvance 20m\npod web-0 cpu=3\nadvance 30m\n")
	sluice(t.Context(), "simulate", story, "--journal="+path).expect(t, exitNothing)
	return path
}

func TestHistoryTellsOfWhatIsGone(t *testing.T) {
	path := idleNight(t)
	got := sluice(t.Context(), "history", "node", "agents000000", "--journal="+path)
	got.expect(t, exitNothing, "node agents000000, from 2026-01-01 00:00:00 UTC", "00:00:00Z  idle", "cordon node agents000000", "delete machine 0 of group agents (node agents000000)", "nothing is decided about it any more")
	sluice(t.Context(), "history", "pod", "web-0", "--journal="+path, "-o", "json").expect(t, exitNothing, `"outcome": "grows"`, `"sentence": "grow group agents 0 -\u003e 1"`, `"is": "is on node agents`)
	sluice(t.Context(), "history", "node", "nobody", "--journal="+path).complains(t, "it tells nothing of node nobody")
	sluice(t.Context(), "history", "node", "nobody").complains(t, "--journal")
}

func TestExplainFindsWhatIsGone(t *testing.T) {
	path := idleNight(t)
	sluice(t.Context(), "explain", "node", "agents000000", "--journal="+path).expect(t, exitNothing,
		"this is the last cycle that knows it; that of 2026-01-01 00:50:00 UTC does not. Its history: sluice history node agents000000")
	sluice(t.Context(), "explain", "pod", "web-0", "--journal="+path, "--at=2026-01-01 00:40:00 UTC").expect(t, exitNothing, "runs on node agents000001", "seen 2026-01-01 00:40:00 UTC")
	sluice(t.Context(), "explain", "node", "agents000000", "--journal="+path, "--at=2026-01-01T00:05:00Z").expect(t, exitNothing, "node agents000000: idle", "seen 2026-01-01 00:05:00 UTC")
	sluice(t.Context(), "explain", "node", "agents000009", "--journal="+path, "--at=2026-01-01T00:05:00Z").complains(t, "did you mean agents000000?")
	sluice(t.Context(), "explain", "node", "agents000000", "--journal="+path, "--at=2025-12-01T00:05:00Z").complains(t, "holds no cycle within 24h0m0s before")
	sluice(t.Context(), "explain", "node", "agents000000", "--at=02:13").complains(t, "give --journal too")
	sluice(t.Context(), "explain", "node", "agents000000", "--journal="+path, "--at=yesterday").complains(t, "--at=yesterday: give a time of the local zone such as 02:13")
}

// TestTheLastCycleIsInTheFileBefore has a process begin a new file, and be asked before its first cycle.
func TestTheLastCycleIsInTheFileBefore(t *testing.T) {
	path := idleNight(t)
	if err := os.Rename(path, path+"-20260101T005000Z"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	sluice(t.Context(), "explain", "group", "agents", "--journal="+path).expect(t, exitNothing, "seen 2026-01-01 00:50:00 UTC")
}

func TestLogTellsWhatWasDone(t *testing.T) {
	path := idleNight(t)
	got := sluice(t.Context(), "log", "--journal="+path, "--since=2026-01-01")
	got.expect(t, exitNothing, "  cordon node agents000000: idle for 10m0s", "  grow group agents 0 -> 1: capacity 0 -> 1")
	if lines := strings.Count(got.out, "\n"); lines > 12 {
		t.Errorf("%d lines are told of a quiet night:\n%s", lines, got.out)
	}
	sluice(t.Context(), "log", "--journal="+path, "--since=0s").complains(t, "its last cycle is of 2026-01-01 00:50:00Z")

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	sluice(ctx, "log", "--journal="+path, "--since=2026-01-01", "-f").expect(t, exitNothing, "grow group agents 0 -> 1")
}

func TestLogTellsUpToATime(t *testing.T) {
	path := idleNight(t)
	const cordon, grow = "cordon node agents000000", "grow group agents 0 -> 1"
	for name, c := range map[string]struct {
		args      []string
		has, miss string
	}{
		"the first half": {[]string{"--since=2026-01-01", "--until=2026-01-01 00:19:00 UTC"}, cordon, grow},
		"the second":     {[]string{"--since=2026-01-01 00:20:00 UTC", "--until=2026-01-01 00:50:00 UTC"}, grow, cordon},
	} {
		got := sluice(t.Context(), append([]string{"log", "--journal=" + path}, c.args...)...)
		if got.expect(t, exitNothing, c.has); strings.Contains(got.out, c.miss) {
			t.Errorf("%s tells %q:\n%s", name, c.miss, got.out)
		}
	}
	sluice(t.Context(), "log", "--journal="+path, "--since=2025-12-01", "--until=2025-12-02").complains(t, "it holds no whole cycle")
	sluice(t.Context(), "log", "--journal="+path, "--since=2026-01-01 00:20:00 UTC", "--until=2026-01-01").complains(t, "is before --since")
	sluice(t.Context(), "log", "--journal="+path, "--until=2026-01-01", "-f").complains(t, "--until and --follow: give one of them")
	sluice(t.Context(), "log", "--journal="+path, "-o", "yaml").complains(t, "--output=yaml: give text or json")
	sluice(t.Context(), "log").complains(t, "a sluice run without --journal remembers only what its page shows")
}

// TestLogSaysThatATroubleBeganBefore and does not give it the time from which it was asked to tell.
func TestLogSaysThatATroubleBeganBefore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	story := file(t, "story.txtar", "group agents size=Standard_D4s_v5 min=0 max=3 machines=2\npod a cpu=3 on=agents_0\npod b cpu=3 on=agents_1\nadvance 10m\ndelete node agents_1\nadvance 20m\n")
	sluice(t.Context(), "simulate", story, "--journal="+path).expect(t, exitNothing)
	const trouble, before = "group in trouble group agents: nodes lost", "(since before)"
	for since, begins := range map[string]bool{"2026-01-01": true, "2026-01-01 00:20:00 UTC": false} {
		got := sluice(t.Context(), "log", "--journal="+path, "--since="+since)
		if got.expect(t, exitNothing, trouble); strings.Contains(got.out, before) == begins {
			t.Errorf("from %s:\n%s", since, got.out)
		}
	}
}

func TestLogIsAnObjectALine(t *testing.T) {
	got := sluice(t.Context(), "log", "--journal="+idleNight(t), "--since=2026-01-01", "-o", "json")
	got.expect(t, exitNothing)
	grown := 0
	for line := range strings.Lines(got.out) {
		var told struct {
			Time           time.Time
			Cycle          uint64
			Kind, Sentence string
			About          []struct{ Kind, Name string }
		}
		if err := json.Unmarshal([]byte(line), &told); err != nil || told.Time.IsZero() || told.Cycle == 0 || told.Kind == "" || told.Sentence == "" {
			t.Errorf("line %s: %v", line, err)
		}
		if told.Kind == "scale-up" {
			grown++
		}
	}
	if grown != 1 {
		t.Errorf("%d scale-ups are told, want 1:\n%s", grown, got.out)
	}
}

// TestExplainAtReadsTheFileOfThatTime has a damaged file beside it, which is not read, and explains what went in an earlier file, with and without the
// summary that says when.
func TestExplainAtReadsTheFileOfThatTime(t *testing.T) {
	path := idleNight(t)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	closed := strings.TrimSuffix(path, filepath.Ext(path)) + "-20260101T005000Z" + filepath.Ext(path)
	later := bytes.ReplaceAll(text, []byte(`"time":"2026-01-01T`), []byte(`"time":"2026-01-02T`))
	later = bytes.ReplaceAll(later, []byte("agents000000"), []byte("agents000007"))
	rubbish := strings.TrimSuffix(path, filepath.Ext(path)) + "-20260101T120000Z" + filepath.Ext(path)
	for name, text := range map[string][]byte{closed: text, path: later, rubbish: []byte("rubbish\n")} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := sluice(t.Context(), "explain", "node", "agents000000", "--journal="+path, "--at=2026-01-01T00:05:00Z")
	if got.expect(t, exitNothing, "node agents000000: idle", "seen 2026-01-01 00:05:00 UTC"); got.complaint != "" {
		t.Errorf("it is told of files that are not needed: %q", got.complaint)
	}
	for range 2 {
		sluice(t.Context(), "explain", "node", "agents000000", "--journal="+path).expect(t, exitNothing, "this is the last cycle that knows it; that of 2026-01-02")
		summary := `{"point":{"time":"2026-01-02T00:50:00Z"}}` + "\n" + `{"life":{"group":"agents","instance":"0","node":"agents000000","gone":"2026-01-01T00:14:00Z"}}` + "\n"
		if err := os.WriteFile(path+".summary.jsonl", []byte(summary), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sluice(t.Context(), "explain", "node", "nobody", "--journal="+path).complains(t, "no node \"nobody\" in this cycle")
}

func TestMomentsAreReadAsClocksShowThem(t *testing.T) {
	zone := time.FixedZone("", 3600)
	now := time.Date(2026, 3, 2, 9, 30, 0, 0, zone)
	for text, want := range map[string]time.Time{
		"02:13": time.Date(2026, 3, 2, 2, 13, 0, 0, zone), "23:59:10": time.Date(2026, 3, 1, 23, 59, 10, 0, zone), "2026-02-01 02:13": time.Date(2026, 2, 1, 2, 13, 0, 0, zone),
		"2026-02-01": time.Date(2026, 2, 1, 0, 0, 0, 0, zone), "2026-02-01T02:13:00Z": time.Date(2026, 2, 1, 2, 13, 0, 0, time.UTC), "90m": now.Add(-90 * time.Minute), "": {},
	} {
		if got, err := parseMoment("at", text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v (%v), want %v", text, got, err, want)
		}
	}
}

func TestADamagedJournalIsReadAsFarAsItGoes(t *testing.T) {
	lines := bytes.SplitAfter(night(t), []byte("\n"))
	missing := sluice(t.Context(), "replay", file(t, "journal", string(bytes.Join(append(lines[:3:3], lines[4:]...), nil))))
	missing.expect(t, exitNothing, "3 cycles with")
	if !strings.Contains(missing.complaint, "line 4 does not follow the line before it") {
		t.Errorf("it is not told that a line is missing: %q", missing.complaint)
	}
	path := file(t, "journal", string(bytes.Join(lines[:3], nil))+"garbage\n"+string(bytes.Join(lines[3:], nil)))
	got := sluice(t.Context(), "replay", path)
	got.expect(t, exitNothing, "3 cycles with")
	if !strings.Contains(got.complaint, "line 4 is not a journal entry") {
		t.Errorf("it is not told what is left out: %q", got.complaint)
	}
}
