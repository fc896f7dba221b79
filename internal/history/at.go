package history

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"sluice.dev/sluice/journal"
)

// Reach is how far before a time the cycle may be that was the last one then: as long as a downtime before it.
const Reach = 24 * time.Hour

// Shown is how many bytes of the journal a cycle may take that a running process reads again. Reading takes some ten times as much memory, beside what the
// process needs itself, and no page may cost the cluster its autoscaler. Clusters of some 2,500 nodes stay below it.
const Shown = 20 << 20

// ErrNone says that the part of a journal that was read holds no whole cycle.
var ErrNone = errors.New("it holds no whole cycle")

// At is the last entry of a journal at a time. An entry of more bytes than most is [journal.ErrLong]; 0 is no bound.
func At(path string, at time.Time, most int) (journal.Entry, error) {
	e, _, err := Last(path, at, most)
	switch {
	case errors.Is(err, ErrNone):
		err = fmt.Errorf("the journal holds no cycle within %s before %s", Reach, at.UTC().Format("2006-01-02 15:04:05 UTC"))
	case errors.Is(err, journal.ErrLong):
		err = fmt.Errorf("%w (limit %d MiB): sluice explain --at, history and top read it beside the process, with --journal=%s", err, most>>20, path)
	}
	return e, err
}

// Last is the last entry of a journal at a time, or of all for a zero time, and what was left out on the way to it. It reads the one file that holds
// it; where that has none, the ones before it, as far back as [Reach]. It is [ErrNone] where there is no entry.
func Last(path string, at time.Time, most int) (e journal.Entry, left []string, err error) {
	parts, err := readable(path)
	if err != nil {
		return e, nil, err
	}
	i := len(parts) - 1
	for !at.IsZero() && i > 0 && !parts[i-1].closed.Before(at) {
		i--
	}
	for ; i >= 0; i-- {
		p := parts[i]
		if !at.IsZero() && !p.closed.IsZero() && p.closed.Before(at.Add(-Reach)) {
			break
		}
		r := only(path, p, at)
		r.Most(most)
		e, err = r.toEnd()
		r.Close()
		if left = slices.Concat(r.Left(), left); !errors.Is(err, ErrNone) {
			return e, left, err
		}
	}
	return e, left, ErrNone
}

// only reads one file up to a time.
func only(path string, p part, until time.Time) *Reader {
	return &Reader{path: path, parts: []part{p}, size: p.size, only: p, until: until}
}

// Again reads the same once more, of a reader that [Back] has made.
func (r *Reader) Again() *Reader { return only(r.path, r.only, r.until) }

// toEnd is the last entry that is to be read.
func (r *Reader) toEnd() (journal.Entry, error) {
	for {
		if _, err := r.Next(); err == nil {
			continue
		} else if !errors.Is(err, io.EOF) {
			return journal.Entry{}, err
		}
		if r.last == nil {
			return journal.Entry{}, ErrNone
		}
		return r.Entry()
	}
}

// A Stretch is one of time.
type Stretch struct{ From, To time.Time }

// Back goes through the files of a journal that can hold entries up to a time, the newest first, until visit says that it has seen enough. Files that
// lie within a stretch which is known to hold nothing are passed over, as are those that lack a text.
func Back(path string, until time.Time, nothing Stretch, has string, visit func(*Reader) (enough bool, err error)) error {
	parts, err := readable(path)
	if err != nil {
		return err
	}
	for i := len(parts) - 1; i >= 0; i-- {
		p := parts[i]
		begins := time.Time{}
		if i > 0 {
			begins = parts[i-1].closed
		}
		within := !p.closed.IsZero() && !p.closed.After(nothing.To) && !begins.Before(nothing.From)
		if within || !until.IsZero() && begins.After(until) || !p.holds(has) {
			continue
		}
		r := only(path, p, until)
		enough, err := visit(r)
		r.Close()
		if enough || err != nil {
			return err
		}
	}
	return nil
}

// holds says whether a file has a text, or cannot be read: to look for it is far cheaper than to read entries.
func (p part) holds(text string) bool {
	r := &Reader{}
	if err := r.begin(p.path); err != nil {
		return true
	}
	defer r.Close()
	want, chunk, kept := []byte(text), make([]byte, 1<<18), 0
	for {
		n, err := r.plain.Read(chunk[kept:])
		if bytes.Contains(chunk[:kept+n], want) {
			return true
		}
		if err != nil {
			return !errors.Is(err, io.EOF)
		}
		end := kept + n
		kept = min(len(want), end)
		copy(chunk, chunk[end-kept:end])
	}
}
