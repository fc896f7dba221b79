package timeline

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cluster"
	ct "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/internal/history"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// shown is all that a timeline shows of a stretch of time.
type shown struct {
	Points   []Point
	Tellings []Telling
	Lives    []Life
	Gaps     []Gap
}

func (t *Timeline) shown(from, to time.Time) shown {
	return shown{t.Points(from, to), t.Tellings(from, to, nil, mostTellings), t.Lives(from, to), t.Gaps(from, to)}
}

// nightly turns a story with something of everything.
func nightly(s *story, turn func(time.Duration)) {
	second := ct.Machine("2", "a-2")
	job := ct.Pod("frame-1", ct.On("a-2"), ct.OwnedBy("Job", "frame"))
	s.groups, s.nodes = []*cluster.Group{ct.Group("a", 0, 9, ct.Machine("1", "a-1"))}, append(s.nodes, ct.Node("a-1"))
	turn(0)
	s.acts = []action.Action{action.SetCapacity{Group: "a", From: 1, To: 2, Adds: 1, Because: reason.New(reason.NodeBusy, reason.Group("a"))}}
	turn(time.Minute)
	s.groups = []*cluster.Group{ct.Group("a", 0, 9, ct.Machine("1", "a-1"), second)}
	turn(time.Minute)
	s.nodes, s.pods = append(s.nodes, ct.Node("a-2")), []*cluster.Pod{job}
	turn(time.Minute)
	s.pods = nil
	turn(time.Hour)
	s.acts = []action.Action{action.DeleteInstances{Group: "a", Machines: []action.Leaving{{Machine: second.Machine(), Node: "a-2", Because: reason.New(reason.NodeIdleFor, reason.Ref{}, "idle", "10m0s")}}}}
	turn(time.Minute)
	s.groups, s.nodes = []*cluster.Group{ct.Group("a", 0, 9, ct.Machine("1", "a-1"))}, s.nodes[:1]
	turn(time.Minute)
}

func TestAJournalMakesTheTimelineThatItsProcessHad(t *testing.T) {
	s := newStory(t)
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	w, err := history.Open(path, history.Limits{File: 1 << 20, Total: 1 << 20, Age: 200 * 365 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	var last *cluster.Snapshot
	nightly(s, func(after time.Duration) {
		e := s.entry(after)
		if last != nil { // as a running process has it
			e.Seen = last.Next(e.Seen.Time, e.Seen.Objects, s.groups)
		}
		last = e.Seen
		s.line.Note(e)
		if err := w.Report(t.Context(), e, 0); err != nil {
			t.Fatal(err)
		}
	})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := s.line.shown(all())
	if len(want.Lives) != 2 || len(want.Gaps) != 1 || len(want.Tellings) < 5 {
		t.Fatalf("the story tells too little: %+v", want)
	}
	if diff := cmp.Diff(want, reread(t, path).shown(all())); diff != "" {
		t.Errorf("-live +read:\n%s", diff)
	}
}

// reread is the timeline of a journal.
func reread(t *testing.T, path string) *Timeline {
	t.Helper()
	r, err := history.Read(path, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	line := &Timeline{}
	if err := line.Read(t.Context(), r, time.Time{}); err != nil {
		t.Fatal(err)
	}
	return line
}

// keep runs a story under a keeper of that file, and closes it.
func keep(t *testing.T, path string, s *story, tell func(turn func(time.Duration))) {
	t.Helper()
	k := NewKeeper(path, s.line, week)
	tell(func(after time.Duration) {
		if err := k.Report(context.Background(), s.entry(after), 0); err != nil {
			t.Fatal(err)
		}
	})
	k.Close()
}

func TestATimelineOutlivesItsProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl.summary.jsonl")
	s := newStory(t)
	keep(t, path, s, func(turn func(time.Duration)) { nightly(s, turn) })
	ended := s.now
	want := s.line.shown(at(0), ended)

	s.line, s.cycle = &Timeline{}, 0
	keep(t, path, s, func(turn func(time.Duration)) { turn(2 * time.Hour); turn(10 * time.Second) })
	got := s.line.shown(at(0), s.now)
	if diff := cmp.Diff(want.Points, got.Points[:len(got.Points)-2]); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Tellings, s.line.Tellings(at(0), ended, nil, 99)); diff != "" {
		t.Errorf("tellings (-want +got):\n%s", diff)
	}
	if len(got.Gaps) != 2 || got.Gaps[1] != (Gap{ended, ended.Add(2 * time.Hour), noLeader}) {
		t.Errorf("gaps: %v", got.Gaps)
	}
	if len(got.Lives) != 2 {
		t.Fatalf("%d lives", len(got.Lives))
	}
	stays := want.Lives[0]
	stays.Spans = append(stays.Spans, Span{ended.Add(2 * time.Hour), s.now, SpanIdle, "NodeBusy"})
	if diff := cmp.Diff([]Life{stays, want.Lives[1]}, got.Lives); diff != "" {
		t.Errorf("lives (-want +got):\n%s", diff)
	}
	if found := s.line.Find("frame", 9); len(found) != 1 || found[0].Gone.IsZero() {
		t.Errorf("a pod that went before the restart: %v", found)
	}
}

func TestAMachineThatWentWhileNobodyLookedIsGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "summary")
	s := machineStory(t)
	keep(t, path, s, func(turn func(time.Duration)) { turn(0); turn(time.Minute) })
	s.line, s.cycle = &Timeline{}, 0
	s.groups, s.nodes = []*cluster.Group{ct.Group("a", 0, 9)}, nil
	keep(t, path, s, func(turn func(time.Duration)) { turn(time.Hour) })
	s.line.Note(s.entry(time.Minute))
	if l := s.line.Lives(all())[0]; l.Code != ByAnother || l.Gone.IsZero() || len(l.Spans) != 1 || !l.Spans[0].To.Equal(at(time.Minute)) {
		t.Errorf("%+v", l)
	}
}

func TestWhatOfAFileIsDamagedIsLeftOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "summary")
	s := newStory(t)
	keep(t, path, s, func(turn func(time.Duration)) { nightly(s, turn) })
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	points := bytes.Count(text, []byte(`{"point":`))
	for name, damaged := range map[string][]byte{
		"a line of rubbish":      slices.Concat([]byte("rubbish\n"), text),
		"a last line cut off":    slices.Concat(text, []byte(`{"point":{"time":"2026-01-05T09:30:00Z"`)),
		"a line of another kind": slices.Concat(text, []byte(`{"later":{}}`+"\n")),
	} {
		line := &Timeline{}
		if err := line.Load(bytes.NewReader(damaged), time.Time{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := len(line.Points(all())); got != points || len(line.Lives(all())) != 2 {
			t.Errorf("%s: %d points and %d lives are left of %d and 2", name, got, len(line.Lives(all())), points)
		}
	}
}

func TestAFileThatCannotBeWrittenIsTold(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "no", "such", "folder")
	s := machineStory(t)
	k := NewKeeper(filepath.Join(folder, "summary"), s.line, week)
	_ = k.Report(t.Context(), s.entry(0), 0)
	var told error
	for i := 0; i < 1000 && told == nil; i++ {
		told = k.Report(t.Context(), s.entry(time.Minute), 0)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	k.Close()
	if told == nil || !strings.Contains(told.Error(), "is not written") {
		t.Errorf("it is told: %v", told)
	}
	if text, err := os.ReadFile(filepath.Join(folder, "summary")); err != nil || !bytes.Contains(text, []byte(`"life"`)) {
		t.Errorf("once the folder is there the file is written: %v", err)
	}
}

func TestALongRunStaysWithinItsBounds(t *testing.T) {
	s := machineStory(t)
	flips := []action.Outcome{action.NodeKeep, action.NodeIdle, action.NodeDraining}
	for i := range mostTellings + 500 {
		s.is["a-1"] = verdict(flips[i%3], reason.NodeIdle)
		s.acts = []action.Action{action.SetCapacity{Group: "a", From: i, To: i + 1, Adds: 1}}
		s.turn(time.Second)
	}
	if got := len(s.line.told); got != mostTellings {
		t.Errorf("%d tellings, want %d", got, mostTellings)
	}
	if got := len(s.line.points.exact); got > mostExact {
		t.Errorf("%d exact points, want %d at most", got, mostExact)
	}
	l := s.line.Lives(all())[0]
	if len(l.Spans) != mostSpans {
		t.Errorf("%d spans, want %d", len(l.Spans), mostSpans)
	}
	for i := 1; i < len(l.Spans); i++ {
		if !l.Spans[i].From.Equal(l.Spans[i-1].To) {
			t.Errorf("span %d begins at %s, the one before ends at %s", i, l.Spans[i].From, l.Spans[i-1].To)
		}
	}
	if !l.Spans[0].From.Equal(at(time.Second)) {
		t.Errorf("the life begins at %s", l.Spans[0].From)
	}
	ls := &lives{open: map[string]*life{}, past: make([]*life, mostLives+10)}
	for i := range ls.past {
		ls.past[i] = &life{Life: Life{Gone: at(time.Duration(i) * time.Second)}}
	}
	if ls.forget(at(0)); len(ls.past) != mostLives {
		t.Errorf("%d lives, want %d", len(ls.past), mostLives)
	}
	if ls.forget(at(time.Hour)); !ls.past[0].Gone.Equal(at(time.Hour)) {
		t.Errorf("the oldest life ended at %s", ls.past[0].Gone)
	}
}

func TestAnybodyMayReadMeanwhile(t *testing.T) {
	s := newStory(t)
	path := filepath.Join(t.TempDir(), "summary")
	var readers sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					shown := s.line.shown(all())
					for i := range shown.Points {
						_ = len(shown.Points[i].ByGroup)
					}
					s.line.Find("a", 9)
				}
			}
		})
	}
	keep(t, path, s, func(turn func(time.Duration)) {
		for range 20 {
			nightly(s, turn)
			s.nodes, s.pods = nil, nil
		}
	})
	close(done)
	readers.Wait()
}
