package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sluice.dev/sluice/internal/history"
	"sluice.dev/sluice/internal/progress"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/internal/timeline"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/reason"
)

// A moment is a cycle of a journal: that of a number, or the last one at a time; the last one of all for the zero moment. Each process counts its cycles
// anew: of several of a number the last one is meant.
type moment struct {
	cycle uint64
	at    time.Time
}

// aside is what a verb that reads a journal tells beside its answer: how far it is, and what of the journal is left out, as it is damaged.
type aside struct {
	*progress.Line
	w io.Writer
}

func tellAside(w io.Writer) aside { return aside{progress.NewLine(w), w} }

// again is for what is read once more: what is left out of it has been told.
func (a aside) again() aside {
	a.w = io.Discard
	return a
}

// entryOf reads one cycle of a journal.
func entryOf(path string, which moment, left aside) (e journal.Entry, err error) {
	if which.cycle != 0 {
		e, newest, err := lastLine(path, search{left: left}, func(line journal.Line, _ *history.Reader) bool { return line.Cycle == which.cycle })
		if err == nil && e.Seen == nil {
			err = fmt.Errorf("--cycle=%d: the journal %s does not hold it; its last cycle is %d", which.cycle, path, newest.Cycle)
		}
		return e, err
	}
	e, out, err := history.Last(path, which.at, 0)
	switch {
	case errors.Is(err, history.ErrNone) && len(out) > 0:
		return e, fmt.Errorf("journal %s: %s; %s", path, out[0], history.Which)
	case errors.Is(err, history.ErrNone) && !which.at.IsZero():
		return e, fmt.Errorf("--at: the journal %s holds no cycle within %s before %s; sluice log --since says which it holds",
			path, history.Reach, which.at.Local().Format(time.DateTime))
	case errors.Is(err, history.ErrNone):
		return e, fmt.Errorf("journal %s: %w; %s", path, err, history.Which)
	}
	left.tell(out)
	return e, err
}

// tell writes what is left out of a journal.
func (a aside) tell(sentences []string) {
	a.Clear()
	for _, sentence := range sentences {
		_, _ = fmt.Fprintf(a.w, "sluice: journal: %s\n", sentence)
	}
}

// search says where a line is looked for.
type search struct {
	until   time.Time       // zero: to the end
	nothing history.Stretch // where there is none
	has     string          // what files have that hold one
	left    aside
}

// lastLine is the last entry whose line is one that is looked for, an empty one when none is, and the last line of all that was read. Of the file that
// holds it it reads the lines twice: to look at a line is cheap, to read all that its cycle saw is not.
func lastLine(path string, where search, is func(journal.Line, *history.Reader) bool) (e journal.Entry, newest journal.Line, err error) {
	some := false
	err = history.Back(path, where.until, where.nothing, where.has, func(r *history.Reader) (bool, error) {
		best := 0 // the number of the last line that is one
		for n := 1; ; n++ {
			line, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return true, err
			}
			if some = true; is(line, r) {
				best = n
			}
			if !line.Time.Before(newest.Time) {
				newest = line
			}
		}
		where.left.tell(r.Left())
		if best == 0 {
			return false, nil
		}
		again := r.Again()
		defer again.Close()
		for range best {
			if _, err := again.Next(); err != nil {
				return true, err
			}
		}
		var err error
		e, err = again.Entry()
		return true, err
	})
	if err == nil && !some && where.has == "" {
		err = fmt.Errorf("journal %s: %w; %s", path, history.ErrNone, history.Which)
	}
	return e, newest, err
}

// eachLine goes through a journal until visit fails.
func eachLine(path string, since time.Time, left aside, visit func(journal.Line, *history.Reader) error) error {
	return read(path, since, time.Time{}, left, visit)
}

// read goes through the part of a journal between two times until visit fails. A zero time is no bound.
func read(path string, since, until time.Time, left aside, visit func(journal.Line, *history.Reader) error) error {
	r, err := history.Read(path, since)
	if err != nil {
		return err
	}
	defer r.Close()
	r.Until(until)
	some := false
	far := howFar(left, path)
	defer func() {
		left.Clear()
		for _, sentence := range r.Left() {
			if some {
				_, _ = fmt.Fprintf(left.w, "sluice: journal: %s\n", sentence)
			}
		}
	}()
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) && !some && len(r.Left()) > 0 {
			return fmt.Errorf("journal %s: %s; %s", path, r.Left()[0], history.Which)
		}
		if errors.Is(err, io.EOF) && !some {
			return fmt.Errorf("journal %s: %w; %s", path, history.ErrNone, history.Which)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		some = true
		far(r)
		if err == nil {
			err = visit(line, r)
		}
		if err != nil {
			return err
		}
	}
}

// howFar tells how much of a journal has been read.
func howFar(left aside, path string) func(*history.Reader) {
	meter := left.Meter()
	return func(r *history.Reader) {
		read, all := r.Position()
		meter.At(read, all, func() string {
			return fmt.Sprintf("reading %s, %s of %s", filepath.Base(path), progress.Bytes(read), progress.Bytes(all))
		})
	}
}

// explainFrom explains a thing from a journal: as of a moment, or, where its last cycle knows no such thing, as of the last one that speaks of it.
func explainFrom(path string, which moment, about reason.Ref, left aside) (report.Explanation, error) {
	entry, err := entryOf(path, which, left)
	if err != nil {
		return report.Explanation{}, err
	}
	x, err := report.NewExplanation(entry, about)
	var unknown *report.NotFoundError
	if !errors.As(err, &unknown) || which.cycle != 0 {
		return x, err
	}
	where := search{until: which.at, nothing: timeline.Quiet(path, about, which.at), has: about.Name, left: left.again()}
	if about.Kind == reason.KindPod { // a line has its namespace elsewhere
		where.has = about.Name[strings.LastIndexByte(about.Name, '/')+1:]
	}
	last, _, readErr := lastLine(path, where, func(line journal.Line, r *history.Reader) bool {
		return report.Mentions(line, r.Known(), about)
	})
	if readErr != nil || last.Seen == nil {
		return x, errors.Join(err, readErr)
	}
	if x, err = report.NewExplanation(last, about); err == nil {
		x.Gone = entry.Seen.Time
	}
	return x, err
}

// parseMoment reads a time of day or a date, as clocks here show it, a time of RFC 3339, or how long ago it was.
func parseMoment(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	if days, err := strconv.Atoi(strings.TrimSuffix(text, "d")); err == nil && strings.HasSuffix(text, "d") && days >= 0 {
		return now.AddDate(0, 0, -days), nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 UTC"} { // as sluice prints them, too
		if at, err := time.Parse(form, text); err == nil {
			return at, nil
		}
	}
	for _, form := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02"} {
		if at, err := time.ParseInLocation(form, text, now.Location()); err == nil {
			return at, nil
		}
	}
	for _, form := range []string{"15:04:05", "15:04"} {
		if clock, err := time.Parse(form, text); err == nil {
			at := time.Date(now.Year(), now.Month(), now.Day(), clock.Hour(), clock.Minute(), clock.Second(), 0, now.Location())
			if at.After(now) {
				at = at.AddDate(0, 0, -1)
			}
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("--%s=%s: give a time of the local zone such as 02:13 or 2026-03-02 02:13, one of UTC such as 2026-03-02T02:13:00Z, or 90m for so long ago", flag, text)
}
