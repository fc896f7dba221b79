package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"sluice.dev/sluice/journal"
)

const whichJournal = "give a file that sluice run --journal wrote"

func noCycle(path string) error {
	return fmt.Errorf("journal %s: it holds no whole cycle; %s", path, whichJournal)
}

// entryOf reads one cycle of a journal.
func entryOf(path string, cycle uint64) (journal.Entry, error) {
	var last journal.Entry
	err := eachEntry(path, func(e journal.Entry) bool {
		last = e
		return cycle == 0 || e.Cycle != cycle
	})
	switch {
	case err != nil && !errors.Is(err, journal.ErrCut):
		return last, err
	case last.Seen == nil:
		return last, noCycle(path)
	case cycle != 0 && last.Cycle != cycle:
		return last, fmt.Errorf("--cycle=%d: the journal %s does not hold it; its last cycle is %d", cycle, path, last.Cycle)
	}
	return last, nil
}

// eachEntry reads a journal from its beginning until visit says stop. A cut last line is [journal.ErrCut].
func eachEntry(path string, visit func(journal.Entry) bool) error {
	file, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		var cause *fs.PathError
		if errors.As(err, &cause) {
			err = cause.Err // it names the path again
		}
		return fmt.Errorf("journal %s: %w; %s", path, err, whichJournal)
	}
	defer file.Close() //nolint:errcheck // only read
	d := journal.NewDecoder(file)
	for {
		e, err := d.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			if errors.Is(err, journal.ErrCut) {
				return fmt.Errorf("journal %s: %w", path, err)
			}
			return fmt.Errorf("journal %s: %w; %s", path, err, whichJournal)
		}
		if !visit(e) {
			return nil
		}
	}
}
