package history

import (
	"errors"
	"fmt"
	"io"
	"time"

	"sluice.dev/sluice/journal"
)

// Reach is how far before a time the cycle may be that was the last one then: with the file that holds the time, those of a downtime before it.
const Reach = 24 * time.Hour

// Shown is how many bytes of the journal a cycle may take that a running process reads again. Reading takes some six times as much memory, beside what the
// process needs itself, and no page may cost the cluster its autoscaler. Clusters of some 1,300 nodes stay below it.
const Shown = 32 << 20

// At is the last entry of a journal at a time. An entry of more bytes than most is [journal.ErrLong]; 0 is no bound.
func At(path string, at time.Time, most int) (journal.Entry, error) {
	r, err := Read(path, at.Add(-Reach))
	if err != nil {
		return journal.Entry{}, err
	}
	defer r.Close()
	r.Until(at)
	r.Most(most)
	for some := false; ; some = true {
		_, err := r.Next()
		switch {
		case errors.Is(err, io.EOF) && some:
			return r.Entry()
		case errors.Is(err, io.EOF):
			return journal.Entry{}, fmt.Errorf("the journal holds no cycle within %s before %s", Reach, at.UTC().Format("2006-01-02 15:04:05 UTC"))
		case errors.Is(err, journal.ErrLong):
			return journal.Entry{}, fmt.Errorf("%w (limit %d MiB): sluice explain --at, history and top read it beside the process, with --journal=%s", err, most>>20, path)
		case err != nil:
			return journal.Entry{}, err
		}
	}
}
