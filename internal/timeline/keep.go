package timeline

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"sluice.dev/sluice/journal"
)

// Beside is the file in which a process keeps its timeline beside the journal of that path.
func Beside(path string) string { return path + ".summary.jsonl" }

// Keeper notes cycles in a timeline, and keeps that in a file of JSON lines over restarts. Each minute it appends what is new. Lives of machines that are
// there are written now and then, and at the end: a crash costs what they did since. The file is written anew when it has grown
// by what no longer counts.
//
// What the file lacks and the journal has, such as what a killed process had not written yet, or all where the file is lost, is read from the journal,
// of the last [Rebuilt] at most.
//
// It reads and writes beside the caller. Nothing is touched before the first cycle: until then another process may write there.
type Keeper struct {
	Journal string       // path of the journal that the file is beside, "" for none
	Log     *slog.Logger // is told what was read, and what could not be; nil for nobody

	path  string
	line  *Timeline
	keep  time.Duration
	begun bool
	fault atomic.Pointer[error] // of the file, which was not told yet
	due   time.Time             // when the file is to be written next, by the clock of cycles
	wake  chan time.Time
	done  sync.WaitGroup
}

// How often the file is written, lives that go on among it, and by how much it grows until it is written anew.
const (
	keepsEvery  = time.Minute
	livesEvery  = 30 * time.Minute
	growsUpto   = 16 << 20
	summaryMode = 0o640
)

// NewKeeper keeps a timeline in the file of that path, for so long.
func NewKeeper(path string, line *Timeline, keep time.Duration) *Keeper {
	return &Keeper{path: path, line: line, keep: min(keep, week), wake: make(chan time.Time, 1)}
}

// Report notes a cycle. Its error is what became of the file meanwhile.
func (k *Keeper) Report(_ context.Context, e journal.Entry, _ time.Duration) (err error) {
	k.line.Note(e)
	if fault := k.fault.Swap(nil); fault != nil {
		err = fmt.Errorf("timeline: %s is not written: %w", k.path, *fault)
	}
	if !k.begun {
		k.begun = true
		k.due = e.Seen.Time.Add(keepsEvery)
		k.done.Go(func() { (&keeping{Keeper: k}).run(e.Seen.Time) })
		return err
	}
	if now := e.Seen.Time; !now.Before(k.due) {
		k.due = now.Add(keepsEvery)
		select {
		case k.wake <- now:
		default: // the last time is not done yet
		}
	}
	return err
}

// Close writes what is left, and ends.
func (k *Keeper) Close() {
	close(k.wake)
	k.done.Wait()
}

// keeping is what the goroutine of a [Keeper] knows.
type keeping struct {
	*Keeper
	mark  time.Time // all that is later is in no file yet
	lives time.Time // when those that go on were written last
	size  int64     // of the file
	anew  int64     // at which size it is written anew
	whole bool      // the file is there, and its last line is whole
}

// run reads what an earlier process left, and writes until the timeline ends. First is the time of the first cycle.
func (k *keeping) run(first time.Time) {
	if k.Log == nil {
		k.Log = slog.New(slog.DiscardHandler)
	}
	if err := k.read(first); err != nil {
		k.fault.Store(&err)
	}
	k.write(first, true)
	last := first
	for now := range k.wake {
		last = now
		k.write(now, now.Sub(k.lives) >= livesEvery)
	}
	k.write(last, true)
}

// write appends what is new, or writes the file anew where it is not whole or too large. What cannot be written is tried again the next time.
func (k *keeping) write(now time.Time, lives bool) {
	var err error
	if k.whole && k.size <= k.anew {
		err = k.append(now, lives)
	} else {
		err = k.rewrite(now)
	}
	if k.whole = err == nil; err != nil {
		k.fault.Store(&err)
	}
}

func (k *keeping) append(now time.Time, lives bool) error {
	file, err := os.OpenFile(k.path, os.O_WRONLY|os.O_APPEND, summaryMode)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 1<<16)
	upto := k.line.save(w, k.mark, lives)
	err = w.Flush()
	if info, fault := file.Stat(); fault == nil {
		k.size = info.Size()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		if k.mark = upto; lives {
			k.lives = now
		}
	}
	return err
}

// rewrite writes the file anew, with all that is remembered. It is there under its name only when it is whole.
func (k *keeping) rewrite(now time.Time) error {
	upto, size, err := k.replace()
	if err == nil {
		k.mark, k.lives, k.size, k.anew = upto, now, size, size+growsUpto
	}
	return err
}

func (k *keeping) replace() (upto time.Time, size int64, err error) {
	temporary := k.path + ".tmp"
	file, err := os.OpenFile(temporary, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, summaryMode)
	if err != nil {
		return upto, 0, err
	}
	defer os.Remove(temporary) //nolint:errcheck // it is there no more when all went well
	w := bufio.NewWriterSize(file, 1<<20)
	_ = json.NewEncoder(w).Encode(saved{Version: summaryVersion}) // the writer's error comes again with Flush
	upto = k.line.save(w, time.Time{}, true)
	if err = errors.Join(w.Flush(), file.Sync()); err == nil {
		var info os.FileInfo
		if info, err = file.Stat(); err == nil {
			size = info.Size()
		}
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return upto, 0, err
	}
	return upto, size, os.Rename(temporary, k.path)
}

// summaryVersion is that of the lines of a file, which says it first. A file without it is of version 1.
const summaryVersion = 1

// saved is one line of a file: one of its fields is there.
type saved struct {
	Version int      `json:"v,omitempty"`
	Point   *Point   `json:"point,omitempty"`
	Telling *Telling `json:"told,omitempty"`
	Life    *Life    `json:"life,omitempty"` // the last one of a machine holds
	Gap     *Gap     `json:"gap,omitempty"`
	Left    *leaver  `json:"pod,omitempty"`
}

// save writes what is later than a time: points by the minute, but for the minute that goes on. With all, the lives that go on, too. It returns up to when
// all is written. Errors are those that the writer returns later as well.
func (t *Timeline) save(w io.Writer, since time.Time, all bool) (upto time.Time) {
	lines, upto := t.unsaved(since, all)
	to := json.NewEncoder(w)
	for i := range lines {
		if to.Encode(&lines[i]) != nil {
			break
		}
	}
	return upto
}

func (t *Timeline) unsaved(since time.Time, all bool) (lines []saved, upto time.Time) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.seen == nil {
		return nil, since
	}
	upto = t.seen.Time
	later := func(at time.Time) bool { return at.After(since) }
	var points []Point
	for _, p := range t.points.between(since.Add(1), upto) {
		points = merged(points, p, minutely)
	}
	for i := range points {
		lines = append(lines, saved{Point: &points[i]})
	}
	for _, s := range t.told {
		if later(s.Time) {
			lines = append(lines, saved{Telling: &s})
		}
	}
	for _, g := range t.gaps {
		if later(g.To) {
			lines = append(lines, saved{Gap: &g})
		}
	}
	for _, p := range t.left {
		if later(p.At) {
			lines = append(lines, saved{Left: &p})
		}
	}
	add := func(l *life) {
		told := l.told(upto)
		lines = append(lines, saved{Life: &told})
	}
	for _, l := range t.lives.past {
		if later(l.end(upto)) {
			add(l)
		}
	}
	if all {
		for _, l := range t.lives.open {
			add(l)
		}
	}
	return lines, upto
}
