package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"sluice.dev/sluice/journal"
)

// JournalFile is a [Sink] that writes the journal to a file of bounded size: when it is full, it becomes the file with ".1"
// behind its name, in place of the one before, and a new one begins with a full entry. Together they never take more than twice
// the bound and one entry.
type JournalFile struct {
	path    string
	most    int64
	file    *os.File
	written int64
	encoder *journal.Encoder
}

// OpenJournal begins a journal. What an earlier process left at the path is kept as the ".1" file. most is in bytes.
func OpenJournal(path string, most int64) (*JournalFile, error) {
	if most <= 0 {
		return nil, fmt.Errorf("--journal-max-bytes=%d: give a size above zero", most)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("--journal=%s: %w", path, err)
	}
	j := &JournalFile{path: path, most: most}
	if err := j.rotate(); err != nil {
		return nil, fmt.Errorf("--journal=%s: %w", path, err)
	}
	return j, nil
}

// rotate puts the present file aside and begins a new one.
func (j *JournalFile) rotate() error {
	if j.file != nil {
		err := j.file.Close()
		j.file = nil
		if err != nil {
			return err
		}
	}
	if err := os.Rename(j.path, j.path+".1"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(j.path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o640)
	if err != nil {
		return err
	}
	j.file, j.written, j.encoder = file, 0, journal.NewEncoder(counter{file, &j.written})
	return nil
}

// Report writes one entry.
func (j *JournalFile) Report(_ context.Context, entry journal.Entry, _ time.Duration) error {
	if j.file == nil || j.written >= j.most {
		if err := j.rotate(); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
	}
	if err := j.encoder.Encode(entry); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// Close ends the journal.
func (j *JournalFile) Close() error {
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}

// counter counts what is written.
type counter struct {
	w io.Writer
	n *int64
}

func (c counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	*c.n += int64(n)
	return n, err
}
