package timeline

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/internal/history"
)

// keptNight is a night that a process has written, in a journal and the file beside it.
type keptNight struct {
	*story
	journal string
	want    shown
	ended   time.Time
}

func keepNight(t *testing.T) *keptNight {
	t.Helper()
	n := &keptNight{story: newStory(t), journal: filepath.Join(t.TempDir(), "journal.jsonl")}
	n.run(n.story.line, func(turn func(time.Duration)) { nightly(n.story, turn) })
	n.want, n.ended = n.line.shown(at(0), n.now), n.now
	return n
}

// run has a process record a story, and returns what it logged.
func (n *keptNight) run(line *Timeline, tell func(turn func(time.Duration))) string {
	n.t.Helper()
	w, err := history.Open(n.journal, history.Limits{File: 1 << 20, Total: 1 << 30, Age: 200 * 365 * 24 * time.Hour})
	if err != nil {
		n.t.Fatal(err)
	}
	var log bytes.Buffer
	k := NewKeeper(Beside(n.journal), line, week)
	k.Journal, k.Log = n.journal, slog.New(slog.NewTextHandler(&log, nil))
	tell(func(after time.Duration) {
		e := n.entry(after)
		if err := w.Report(context.Background(), e, 0); err != nil {
			n.t.Fatal(err)
		}
		if err := k.Report(context.Background(), e, 0); err != nil {
			n.t.Fatal(err)
		}
	})
	k.Close()
	if err := w.Close(); err != nil {
		n.t.Fatal(err)
	}
	return log.String()
}

// TestWhatStrikesOneFileIsMadeUpForByTheOther restarts after files were lost or damaged: what either of them has is remembered, and what is not is
// told.
func TestWhatStrikesOneFileIsMadeUpForByTheOther(t *testing.T) {
	change := func(path string, to func([]byte) []byte) func(*testing.T) {
		return func(t *testing.T) {
			t.Helper()
			text, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, to(text), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(path string) func(*testing.T) {
		return func(t *testing.T) {
			t.Helper()
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		strike func(n *keptNight) func(*testing.T)
		says   string // in the log, "" for nothing
		lost   bool   // something may be
	}{
		"nothing happened": {func(*keptNight) func(*testing.T) { return func(*testing.T) {} }, "", false},
		"the summary is lost": {func(n *keptNight) func(*testing.T) { return remove(Beside(n.journal)) },
			"the past is read from the journal", false},
		"the summary is empty, as after a crash": {func(n *keptNight) func(*testing.T) {
			return change(Beside(n.journal), func([]byte) []byte { return nil })
		}, "the past is read from the journal", false},
		"the summary ends in the middle": {func(n *keptNight) func(*testing.T) {
			return change(Beside(n.journal), func(text []byte) []byte { return text[:len(text)/3] })
		}, "the past is read from the journal", false},
		"the summary is damaged in the middle": {func(n *keptNight) func(*testing.T) {
			return change(Beside(n.journal), func(text []byte) []byte {
				text[len(text)/2], text[len(text)/2+1] = '\n', 0
				return text
			})
		}, "lines of the past cannot be read and are left out", false},
		"the summary is of a later version": {func(n *keptNight) func(*testing.T) {
			return change(Beside(n.journal), func([]byte) []byte { return []byte(`{"v":9}` + "\n" + `{"moment":{}}` + "\n") })
		}, "format version 9, this sluice reads up to 1: use the version that wrote it", false},
		"the journal is lost": {func(n *keptNight) func(*testing.T) { return remove(n.journal) }, "", false},
		"the journal is damaged in the middle": {func(n *keptNight) func(*testing.T) {
			return change(n.journal, func(text []byte) []byte { text[len(text)*3/4] = 0; return text })
		}, "the journal is damaged", false},
		"both are damaged": {func(n *keptNight) func(*testing.T) {
			both := []func(*testing.T){
				remove(Beside(n.journal)),
				change(n.journal, func(text []byte) []byte { text[len(text)*3/4] = 0; return text }),
			}
			return func(t *testing.T) { both[0](t); both[1](t) }
		}, "the journal is damaged", true},
		"the journal is of a later version": {func(n *keptNight) func(*testing.T) {
			return change(n.journal, func([]byte) []byte { return []byte(`{"v":9}` + "\n") })
		}, "format version 9", false},
	} {
		t.Run(name, func(t *testing.T) {
			n := keepNight(t)
			c.strike(n)(t)
			line := &Timeline{}
			n.cycle = 0
			log := n.run(line, func(turn func(time.Duration)) { turn(40 * time.Minute); turn(10 * time.Second) })
			if c.says == "" && log != "" || !strings.Contains(log, c.says) {
				t.Errorf("the log says %q, want %q", log, c.says)
			}
			got := line.shown(at(0), n.ended)
			if len(line.Points(all())) < 2 {
				t.Error("what is new is not remembered")
			}
			if c.lost {
				return
			}
			if len(got.Points) != len(n.want.Points) {
				t.Errorf("%d points are left of %d", len(got.Points), len(n.want.Points))
			}
			if diff := cmp.Diff(n.want.Tellings, got.Tellings); diff != "" {
				t.Errorf("tellings (-want +got):\n%s", diff)
			}
			for i := range n.want.Lives {
				if i >= len(got.Lives) || len(got.Lives[i].Spans) < len(n.want.Lives[i].Spans) || got.Lives[i].Requested != n.want.Lives[i].Requested || got.Lives[i].Gone != n.want.Lives[i].Gone {
					t.Errorf("lives (-want +got):\n%s", cmp.Diff(n.want.Lives, got.Lives))
					break
				}
			}
		})
	}
}

// TestADiskThatIsFullCostsTheFileNothing has the file written anew onto a full disk, and once that has room again.
func TestADiskThatIsFullCostsTheFileNothing(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no /dev/full")
	}
	path := filepath.Join(t.TempDir(), "summary")
	if err := os.Symlink("/dev/full", path+".tmp"); err != nil {
		t.Fatal(err)
	}
	s := machineStory(t)
	k := NewKeeper(path, s.line, week)
	_ = k.Report(t.Context(), s.entry(0), 0)
	var told error
	for i := 0; i < 1000 && told == nil; i++ {
		told = k.Report(t.Context(), s.entry(time.Minute), 0)
	}
	k.Close()
	if told == nil || !strings.Contains(told.Error(), "no space left on device") {
		t.Errorf("it is told: %v", told)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read
	line := &Timeline{}
	if err := line.Load(file, time.Time{}); err != nil || len(line.Points(all())) == 0 || len(line.Lives(all())) != 1 {
		t.Errorf("the file has %d points and %d lives (%v)", len(line.Points(all())), len(line.Lives(all())), err)
	}
}
