package timeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"sluice.dev/sluice/internal/history"
	"sluice.dev/sluice/journal"
)

// Rebuilt is how far back a start reads the journal for what the file lacks. For 1,000 nodes an hour of it takes a second and a half of one core.
const Rebuilt = 24 * time.Hour

// asideName ends the name of a file that this version cannot read.
const asideName = ".unread"

// read takes in what an earlier process left: of the file, and of the journal what the file does not have, or may not have where it is damaged. Lives of
// machines that are there are in the file as of some time ago: so much of the journal is read besides.
func (k *keeping) read(now time.Time) error {
	since := now.Add(-k.keep)
	f, err := k.readFile(since)
	from, had := now.Add(-min(k.keep, Rebuilt)), f.newest()
	if f.unread > 0 {
		had = time.Time{}
	}
	if at := had.Add(-livesEvery); at.After(from) {
		from = at
	}
	if k.Journal != "" {
		k.rebuild(from, now, had)
	}
	k.line.load(f)
	return err
}

// readFile reads the file. One of another version is put aside, so that nothing is written over it.
func (k *keeping) readFile(since time.Time) (kept, error) {
	file, err := os.Open(k.path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return kept{}, err
	}
	defer file.Close() //nolint:errcheck // only read
	f, err := readSaved(file, since)
	var other *otherVersionError
	switch {
	case errors.As(err, &other):
		err = os.Rename(k.path, k.path+asideName)
		k.Log.Warn("the past is in a file of another version, which is put aside", "file", k.path+asideName, "why", other)
		return kept{}, err
	case f.unread > 0:
		k.Log.Warn("lines of the past cannot be read and are left out", "file", k.path, "lines", f.unread, "first", f.first)
	}
	return f, err
}

// otherVersionError says that a file is of a version which is not known here.
type otherVersionError struct{ version int }

func (e *otherVersionError) Error() string {
	return fmt.Sprintf("it has format version %d, this sluice reads up to %d: use the version that wrote it", e.version, summaryVersion)
}

// rebuild takes in what the journal has of the time from then on, up to the first cycle of this process. Had is up to when the file tells.
func (k *keeping) rebuild(from, first, had time.Time) {
	r, err := history.Read(k.Journal, from)
	if err != nil {
		return // no process wrote one before
	}
	defer r.Close()
	r.Until(first.Add(-time.Nanosecond))
	r.Most(history.Shown)
	line := &Timeline{}
	err = line.Read(context.Background(), r, from)
	for _, left := range r.Left()[:min(3, len(r.Left()))] {
		k.Log.Warn("the journal is damaged", "why", left)
	}
	if err != nil {
		why := err
		if errors.Is(err, journal.ErrLong) {
			why = fmt.Errorf("a cycle takes more room than may be read beside the loop (limit %d MiB)", history.Shown>>20)
		}
		k.Log.Warn("the past is not read from the journal any further", "journal", k.Journal, "why", why)
	}
	defer debug.FreeOSMemory() // a whole entry takes much, and is needed no more
	var text bytes.Buffer
	if upto := line.save(&text, time.Time{}, true); !upto.After(had) {
		return
	}
	_ = k.line.Load(&text, from) // it was just written
	k.Log.Info("the past is read from the journal", "journal", k.Journal, "from", line.begin(), "until", line.until)
}

// begin is when the first cycle was that is remembered.
func (t *Timeline) begin() time.Time {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.points.oldest()
}

// newest is up to when a file tells, zero for an empty one.
func (k *kept) newest() time.Time {
	if n := len(k.points); n > 0 {
		return k.points[n-1].Time
	}
	return time.Time{}
}
