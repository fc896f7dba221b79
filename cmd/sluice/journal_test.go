package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"sluice.dev/sluice/internal/world"
)

// scenario grows a group for a pod, and then lets time pass.
const scenario = `group agents size=Standard_D4s_v5 min=1 max=3 machines=1
pod base-0 cpu=3 on=agents_0
pod web-0 cpu=3
advance 10m
`

var played = sync.OnceValues(func() (world.Result, error) {
	return world.Run(context.Background(), []byte(scenario), io.Discard, world.Options{})
})

// night is the journal of a night in which sluice acts.
func night(t *testing.T) []byte {
	t.Helper()
	r, err := played()
	if err != nil {
		t.Fatal(err)
	}
	return r.Journal
}

func TestReplayOfItsOwnJournalIsTheSame(t *testing.T) {
	path := file(t, "journal", string(night(t)))
	sluice(t.Context(), "replay", path).expect(t, exitNothing, "0 differently")
	sluice(t.Context(), "replay", "--cycles", path).expect(t, exitNothing, "cycle 1 ", "1 actions  same=true")
}

func TestReplayShowsWhatAForgedJournalDecidedOtherwise(t *testing.T) {
	forged := bytes.Replace(night(t), []byte(`"outcome":"grows"`), []byte(`"outcome":"fits"`), 1)
	got := sluice(t.Context(), "replay", file(t, "journal", string(forged)))
	got.expect(t, exitActs, "cycle 1 at ", "differs", `"fits"`, `"grows"`, "1 differently")
}

func TestReplayOfACutJournalTellsOfTheCut(t *testing.T) {
	journal := night(t)
	got := sluice(t.Context(), "replay", file(t, "journal", string(journal[:len(journal)-10])))
	got.expect(t, exitNothing, "0 differently")
	if !strings.Contains(got.complaint, "the last line is cut off") {
		t.Errorf("the cut is not told: %q", got.complaint)
	}
	if whole := sluice(t.Context(), "replay", file(t, "journal", string(journal))); strings.Contains(whole.complaint, "cut") {
		t.Errorf("a whole journal is said to be cut:\n%s", whole.out)
	}
}

func TestExplainReadsAJournal(t *testing.T) {
	path := file(t, "journal", string(night(t)))
	for name, c := range map[string]struct {
		args []string
		says []string
	}{
		"a pod by its full name":    {[]string{"pod", "default/web-0", "--cycle=1"}, []string{"pod default/web-0: grows", "Why", "agents", "cycle 1"}},
		"a pod of a namespace":      {[]string{"pods", "web-0", "-n", "default", "--cycle=1"}, []string{"pod default/web-0: grows"}},
		"a node":                    {[]string{"node", "agents000000"}, []string{"node agents000000: keep", "cpu"}},
		"a group":                   {[]string{"group", "agents", "--cycle=1"}, []string{"group agents: grow", "1 -> 2", "In this cycle"}},
		"a group in the last cycle": {[]string{"group", "agents"}, []string{"group agents: steady", "capacity 2"}},
		"a machine":                 {[]string{"instance", "agents/0"}, []string{"instance agents/0", "agents000000"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := append(append([]string{"explain"}, c.args...), "--journal="+path)
			sluice(t.Context(), args...).expect(t, exitNothing, c.says...)
			got := sluice(t.Context(), append(args, "-o", "json")...)
			got.expect(t, exitNothing)
			var x struct {
				Subject struct{ Kind, Name string }
				Is      string
			}
			if err := json.Unmarshal([]byte(got.out), &x); err != nil || x.Subject.Name == "" || x.Is == "" {
				t.Errorf("as JSON: %v, subject %v, is %q; want an explanation:\n%s", err, x.Subject, x.Is, got.out)
			}
		})
	}
}

func TestExplainOfAnUnknownNameListsThoseLikeIt(t *testing.T) {
	path := file(t, "journal", string(night(t)))
	for name, c := range map[string]struct{ kind, name, near string }{
		"a pod":     {"pod", "web-9", "did you mean default/web-0"},
		"a node":    {"node", "agents00000", "agents000000"},
		"a group":   {"group", "agens", "did you mean agents?"},
		"a machine": {"instance", "agents/7", "agents/0"},
	} {
		t.Run(name, func(t *testing.T) {
			sluice(t.Context(), "explain", c.kind, c.name, "--journal="+path).complains(t, c.kind, c.name, c.near)
		})
	}
}

func TestSimulateComparesAndUpdatesTheTranscript(t *testing.T) {
	const other = scenario + "-- transcript --\n00:00 nothing of the kind\n"
	path := file(t, "night.txtar", other)

	got := sluice(t.Context(), "simulate", path)
	got.expect(t, exitActs, "machine agents_1")
	for _, want := range []string{"night.txtar", "the transcript is another one", "- 00:00 nothing of the kind"} {
		if !strings.Contains(got.complaint, want) {
			t.Errorf("standard error does not say %q:\n%s", want, got.complaint)
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != other {
		t.Fatalf("comparing changed the file: %v", err)
	}

	updated := sluice(t.Context(), "simulate", "--update", path)
	updated.expect(t, exitNothing, "machine agents_1")
	again := sluice(t.Context(), "simulate", path, path)
	again.expect(t, exitNothing, "== "+path)
	lines := strings.Count(updated.out, "\n")
	if want := fmt.Sprintf("%s: written: %d lines\n", path, lines); updated.complaint != want {
		t.Errorf("--update says %q, want %q", updated.complaint, want)
	}
	if want := strings.Repeat(fmt.Sprintf("%s: ok: %d lines as expected\n", path, lines), 2); again.complaint != want {
		t.Errorf("after --update standard error says %q, want %q", again.complaint, want)
	}
	if unchanged := sluice(t.Context(), "simulate", "--update", path); !strings.Contains(unchanged.complaint, "unchanged") {
		t.Errorf("a second --update says %q", unchanged.complaint)
	}
}

func TestSimulateWithoutATranscriptOnlyTells(t *testing.T) {
	got := sluice(t.Context(), "simulate", file(t, "night.txtar", scenario))
	got.expect(t, exitNothing, "group agents", "1 -> 2")
	if !strings.Contains(got.complaint, "the file expects no transcript") || strings.Contains(got.complaint, "ok") {
		t.Errorf("standard error says %q", got.complaint)
	}
}
