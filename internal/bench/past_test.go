package bench

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"sluice.dev/sluice/internal/history"
	"sluice.dev/sluice/internal/timeline"
)

func TestXWeek(t *testing.T) {
	dir := os.Getenv("PAST_DIR")
	if dir == "" {
		t.Skip()
	}
	long, _ := time.ParseDuration(os.Getenv("PAST_LONG"))
	begin := time.Now()
	p := newPast(pastNodes)
	t.Log("built", time.Since(begin), len(p.objects.Pods), len(p.groups))
	path := filepath.Join(dir, "journal.jsonl")
	w, err := history.Open(path, history.Limits{File: 64 << 20, Total: 1 << 30, Age: 1000000 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	k := timeline.NewKeeper(timeline.Beside(path), &timeline.Timeline{}, 168*time.Hour)
	for h := time.Duration(0); h < long; h += time.Hour {
		if err := p.turn(t.Context(), min(time.Hour, long-h), w, k); err != nil {
			t.Fatal(err)
		}
		if h%(6*time.Hour) == 0 {
			t.Log(h, time.Since(begin), p.gone, p.left)
		}
	}
	w.Close()
	k.Close()
	t.Log(time.Since(begin), p.gone, p.left, p.made, len(p.turning.made.Actions))
}

func TestXRead(t *testing.T) {
	path := os.Getenv("PAST_READ")
	if path == "" {
		t.Skip()
	}
	r, err := history.Read(path, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	line := &timeline.Timeline{}
	if err := line.Read(t.Context(), r, time.Time{}); err != nil {
		t.Fatal(err)
	}
}
