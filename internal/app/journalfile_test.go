package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

func TestJournalStaysWithinItsBound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "journal.jsonl")
	const most = 20_000
	j, err := OpenJournal(path, most)
	if err != nil {
		t.Fatal(err)
	}
	allowed := policy.Default()
	longest := int64(0)
	for i := range 100 {
		s := cluster.New(Start, Objects(Node("a-0"), Pod("p")), []*cluster.Group{Group("a", 0, 5, Machine("0", "a-0"))})
		p, _ := plan.Decide(s, allowed, memory.Memory{})
		before := j.written
		if err := j.Report(t.Context(), journal.Entry{Cycle: uint64(i + 1), Seen: s, Policy: allowed, Plan: p}, 0); err != nil {
			t.Fatal(err)
		}
		longest = max(longest, j.written-before)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + ".1"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(data)) > most+longest {
			t.Errorf("%s has %d bytes, bound %d and an entry of %d", name, len(data), most, longest)
		}
		e, err := journal.NewDecoder(strings.NewReader(string(data))).Next()
		if err != nil || e.Seen.Node("a-0") == nil {
			t.Errorf("%s does not begin with a full entry: %v", name, err)
		}
	}
}

func TestJournalKeepsWhatAnEarlierProcessLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	if err := os.WriteFile(path, []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	j, err := OpenJournal(path, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close() //nolint:errcheck // nothing was written
	if old, err := os.ReadFile(path + ".1"); err != nil || string(old) != "old\n" {
		t.Errorf("the earlier journal holds %q (%v)", old, err)
	}
}

func TestBadJournalSettingsAreNamed(t *testing.T) {
	if _, err := OpenJournal(filepath.Join(t.TempDir(), "j"), 0); err == nil || !strings.Contains(err.Error(), "--journal-max-bytes=0") {
		t.Errorf("error %v, want one that names the flag and value", err)
	}
	if _, err := OpenJournal("/proc/none/journal", 1); err == nil || !strings.Contains(err.Error(), "--journal=/proc/none/journal") {
		t.Errorf("error %v, want one that names the flag and value", err)
	}
}
