package top

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"sluice.dev/sluice/internal/history"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/internal/timeline"
	"sluice.dev/sluice/internal/view"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// remembers is how far back a terminal knows what happened.
const remembers = 24 * time.Hour

// Journal is the source that reads a journal, which may grow.
type Journal struct {
	Path    string
	Explain func(about reason.Ref, at time.Time) (report.Explanation, error) // also of what is gone

	mu     sync.Mutex // one reads at a time
	lines  *history.Reader
	times  []time.Time // of the cycles
	newest *view.Now
	entry  journal.Entry

	past sync.Mutex      // of all and line: reading a day of a large cluster must keep nobody from the newest cycle
	all  *history.Reader // behind line
	line timeline.Timeline
}

// Close ends reading.
func (j *Journal) Close() {
	for _, r := range []*history.Reader{j.lines, j.all} {
		if r != nil {
			r.Close()
		}
	}
}

func follow(path string, since time.Time) (*history.Reader, error) {
	r, err := history.Read(path, since)
	if err == nil {
		r.Follow()
	}
	return r, err
}

// Newest reads on to the end of the journal.
func (j *Journal) Newest(ctx context.Context) (s Seen, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.lines == nil {
		if j.lines, err = follow(j.Path, time.Now().Add(-remembers)); err != nil {
			return s, err
		}
	}
	more, err := j.readOn(ctx)
	if err == nil && j.newest == nil && !more { // a process has just begun the newest file
		j.lines.Close()
		if j.lines, err = follow(j.Path, time.Time{}); err == nil {
			more, err = j.readOn(ctx)
		}
	}
	if err != nil {
		return s, err
	}
	if more {
		if j.entry, err = j.lines.Entry(); err != nil {
			return s, err
		}
		j.newest = view.New(j.entry)
	}
	if j.newest == nil {
		return s, fmt.Errorf("The journal %s holds no whole cycle yet", j.Path)
	}
	return Seen{Now: j.newest, Every: j.every()}, nil
}

// every is how often a cycle has come lately. The longest of the last gaps is left out: it may be a time without sluice.
func (j *Journal) every() time.Duration {
	const lately = 20
	var gaps []time.Duration
	for i := max(1, len(j.times)-lately); i < len(j.times); i++ {
		gaps = append(gaps, j.times[i].Sub(j.times[i-1]))
	}
	slices.Sort(gaps)
	if len(gaps) < 2 {
		return 0
	}
	return gaps[len(gaps)-2]
}

// readOn goes to the end, and says whether there was a line.
func (j *Journal) readOn(ctx context.Context) (more bool, err error) {
	for ctx.Err() == nil {
		line, err := j.lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return more, err
		}
		j.times = append(j.times, line.Time)
		more = true
	}
	return more, ctx.Err()
}

// At is the last cycle at a time.
func (j *Journal) At(_ context.Context, at time.Time) (Seen, error) {
	e, err := history.At(j.Path, at, 0)
	if err != nil {
		return Seen{}, err
	}
	return Seen{Now: view.New(e)}, nil
}

// After is the first cycle after a time.
func (j *Journal) After(ctx context.Context, at time.Time) (Seen, error) {
	j.mu.Lock()
	i := slices.IndexFunc(j.times, func(t time.Time) bool { return t.After(at) })
	var next time.Time
	if i >= 0 {
		next = j.times[i]
	}
	j.mu.Unlock()
	if i < 0 {
		return Seen{}, errors.New("The journal holds no later cycle")
	}
	return j.At(ctx, next)
}

// record reads what happened up to the end of the journal.
func (j *Journal) record(ctx context.Context) (err error) {
	since := time.Now().Add(-remembers)
	j.mu.Lock()
	if n := len(j.times); n > 0 { // an old journal has its own end
		since = j.times[n-1].Add(-remembers)
	}
	j.mu.Unlock()
	j.past.Lock()
	defer j.past.Unlock()
	if j.all == nil {
		if j.all, err = follow(j.Path, since); err != nil {
			return err
		}
	}
	return j.line.Read(ctx, j.all, since)
}

// Told is what happened, newest first.
func (j *Journal) Told(ctx context.Context, until time.Time) ([]timeline.Telling, error) {
	if err := j.record(ctx); err != nil {
		return nil, err
	}
	return j.line.Tellings(time.Time{}, bound(until), nil, 1000), nil
}

// bound is a time, or one after all others where it is zero.
func bound(t time.Time) time.Time {
	if t.IsZero() {
		return time.Now().AddDate(10, 0, 0)
	}
	return t
}

// Verdicts are those of a cycle.
func (j *Journal) Verdicts(_ context.Context, at time.Time) ([]action.Verdict, error) {
	if !at.IsZero() {
		e, err := history.At(j.Path, at, 0)
		return e.Plan.Verdicts, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.entry.Plan.Verdicts, nil
}

// Azure is not known: a journal has no requests.
func (j *Journal) Azure(context.Context) ([]report.APIClass, error) { return nil, nil }

// Find finds what has a name like a text, also what is gone.
func (j *Journal) Find(ctx context.Context, text string, _ time.Time) ([]timeline.Found, error) {
	if err := j.record(ctx); err != nil {
		return nil, err
	}
	return j.line.Find(text, 50), nil
}

// Why explains a thing: how it went where it is gone, what explain says, and what happened to it.
func (j *Journal) Why(ctx context.Context, about reason.Ref, at time.Time) (string, error) {
	x, err := j.Explain(about, at)
	if err != nil {
		return "", err
	}
	if err := j.record(ctx); err != nil {
		return "", err
	}
	var b bytes.Buffer
	for _, l := range j.line.Lives(time.Time{}, bound(at)) {
		if !l.Gone.IsZero() && l.Why != "" && (about == reason.Node(l.Node) || about == reason.Instance(string(l.Group), string(l.Instance))) {
			fmt.Fprintf(&b, "It went at %s UTC: %s (%s).\n", l.Gone.UTC().Format("2006-01-02 15:04:05"), l.Why, l.Code)
		}
	}
	if err := x.WriteText(&b); err != nil {
		return "", err
	}
	if told := j.line.Tellings(time.Time{}, bound(at), &about, 40); len(told) > 0 {
		fmt.Fprint(&b, "\nWhat happened, newest first\n")
		for _, t := range told {
			fmt.Fprintf(&b, "  %s  %s\n", report.Clock(t.Time), t.Sentence)
		}
	}
	return b.String(), nil
}

// Command is what says the same without a screen.
func (j *Journal) Command(about reason.Ref, at time.Time) string {
	words := []string{"sluice", "explain", string(about.Kind), about.Name, "--journal=" + j.Path}
	if !at.IsZero() {
		words = append(words, "--at="+at.UTC().Format(time.RFC3339))
	}
	return command(words...)
}
