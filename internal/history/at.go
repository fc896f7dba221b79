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

// At is the last entry of a journal at a time.
func At(path string, at time.Time) (journal.Entry, error) {
	r, err := Read(path, at.Add(-Reach))
	if err != nil {
		return journal.Entry{}, err
	}
	defer r.Close()
	r.Until(at)
	for some := false; ; some = true {
		_, err := r.Next()
		switch {
		case errors.Is(err, io.EOF) && some:
			return r.Entry()
		case errors.Is(err, io.EOF):
			return journal.Entry{}, fmt.Errorf("the journal holds no cycle within %s before %s", Reach, at.UTC().Format("2006-01-02 15:04:05 UTC"))
		case err != nil:
			return journal.Entry{}, err
		}
	}
}
