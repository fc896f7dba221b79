package history

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sluice.dev/sluice/journal"
)

// Limits bound what a journal takes on the disk.
type Limits struct {
	File  int64         // bytes at which a file is closed and compressed
	Total int64         // bytes of all files that are closed; the oldest go first
	Age   time.Duration // a closed file goes when its last entry is older
}

// Check says which limit makes no sense.
func (l Limits) Check() error {
	switch {
	case l.File <= 0:
		return fmt.Errorf("--journal-max-bytes=%d: give a size above zero", l.File)
	case l.Total <= 0:
		return fmt.Errorf("--journal-keep-bytes=%d: give a size above zero", l.Total)
	case l.Age <= 0:
		return fmt.Errorf("--journal-keep=%s: give a duration above zero, such as 168h", l.Age)
	}
	return nil
}

// target is what a writer needs of a file.
type target interface {
	io.WriteCloser
	Truncate(size int64) error
}

// Writer appends entries to the journal at a path, closes and compresses its files, and removes old ones. One goroutine uses it; what it counts may be
// read from others.
type Writer struct {
	path    string
	limits  Limits
	file    target
	size    int64     // bytes of the file
	full    int64     // at how many it is closed
	began   time.Time // when the file's first entry was written, zero while it has none of this process
	last    time.Time // the same of its last one
	encoder *journal.Encoder
	packing sync.WaitGroup
	pack    sync.Mutex // one file is compressed at a time

	failed atomic.Uint64
	bytes  atomic.Int64
}

// Open goes on with the journal at the path, or begins one. It leaves what an earlier process wrote as it is, and touches nothing before the first
// entry: until this process leads, another one may write there.
func Open(path string, limits Limits) (*Writer, error) {
	if err := limits.Check(); err != nil {
		return nil, err
	}
	w := &Writer{path: path, limits: limits}
	err := os.MkdirAll(filepath.Dir(path), 0o750)
	if err == nil {
		var file *os.File
		if file, err = openFile(path); err == nil {
			err = file.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("--journal=%s: %w", path, err)
	}
	return w, nil
}

func openFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o640) //nolint:gosec // the user names the journal
}

// begin opens the file that is written to. A last line of it that is not whole, as after a crash, is ended, so that it costs nothing but itself.
func (w *Writer) begin() error {
	file, err := openFile(w.path)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	w.file, w.size, w.full, w.began, w.last = file, info.Size(), w.limits.File, time.Time{}, info.ModTime()
	if w.size > 0 {
		w.began = w.last // nobody knows when it began: Span runs from here
		end := make([]byte, 1)
		if _, err := file.ReadAt(end, w.size-1); err == nil && end[0] != '\n' {
			n, _ := file.WriteString("\n") // where that fails, the encoder's next write fails as well, and tries again
			w.size += int64(n)
		}
	}
	w.encoder = journal.NewEncoder(w)
	return nil
}

// Write implements io.Writer for the encoder: all of a line, or nothing.
func (w *Writer) Write(line []byte) (int, error) {
	n, err := w.file.Write(line)
	if err != nil && w.file.Truncate(w.size) == nil {
		n = 0
	}
	w.size += int64(n)
	return n, err
}

// Report writes one entry. An entry that cannot be written is lost, and told; the next one begins anew.
func (w *Writer) Report(_ context.Context, entry journal.Entry, _ time.Duration) error {
	if err := w.report(entry); err != nil {
		w.failed.Add(1)
		return fmt.Errorf("journal: cycle %d is not recorded: %w", entry.Cycle, err)
	}
	return nil
}

func (w *Writer) report(entry journal.Entry) error {
	now := entry.Seen.Time
	if w.file != nil && w.size > 0 && (w.size >= w.full || !w.began.IsZero() && now.Sub(w.began) >= Span) {
		if err := os.Rename(w.path, closedName(w.path, w.last)); err != nil {
			w.full, w.began = w.size+w.limits.File, now // it goes on in this file, and tries again when that has grown as much
		} else if err := w.close(); err != nil {
			return err
		}
	}
	if w.file == nil {
		if err := w.begin(); err != nil {
			return err
		}
		w.tidy()
	}
	if err := w.encoder.Encode(entry); err != nil {
		return err
	}
	if w.last = now; w.began.IsZero() {
		w.began = now
	}
	return nil
}

// close ends the file, which has another name by now.
func (w *Writer) close() error {
	err := w.file.Close()
	w.file = nil
	return err
}

// tidy compresses what is closed, and removes what is too old or too much, beside what goes on.
func (w *Writer) tidy() {
	w.packing.Go(func() {
		w.pack.Lock()
		defer w.pack.Unlock()
		parts, err := partsOf(w.path)
		if err != nil {
			return // the next one tries again
		}
		for _, p := range parts {
			if !p.closed.IsZero() && !strings.HasSuffix(p.path, gzipped) {
				_ = compress(p.path) // what has no room stays as it is, and is tried again
			}
		}
		if parts, err = partsOf(w.path); err != nil {
			return
		}
		total := int64(0)
		for i := len(parts) - 1; i >= 0; i-- {
			p := parts[i]
			if p.closed.IsZero() {
				continue
			}
			if total += p.size; total > w.limits.Total || time.Since(p.closed) > w.limits.Age {
				total -= p.size
				_ = os.Remove(p.path) // the same
			}
		}
		w.bytes.Store(total)
	})
}

// compress puts a file's compressed form in its place. It is there under its name only when it is whole.
func compress(path string) (err error) {
	from, err := os.Open(path) //nolint:gosec // a file of the journal
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // only read
	temporary := path + unready
	to, err := os.OpenFile(temporary, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o640) //nolint:gosec // the same
	if err != nil {
		return err
	}
	defer os.Remove(temporary) //nolint:errcheck // it is there no more when all went well
	buffer := bufio.NewWriterSize(to, 1<<20)
	packed := gzip.NewWriter(buffer)
	_, err = io.Copy(packed, from)
	if err = errors.Join(err, packed.Close(), buffer.Flush(), to.Sync(), to.Close()); err != nil {
		return err
	}
	if err := os.Rename(temporary, path+gzipped); err != nil {
		return err
	}
	return os.Remove(path)
}

// Failed is how many entries could not be written.
func (w *Writer) Failed() uint64 { return w.failed.Load() }

// Closed is how many bytes the closed files have.
func (w *Writer) Closed() int64 { return w.bytes.Load() }

// Close ends the journal, and waits for what is being compressed.
func (w *Writer) Close() error {
	w.packing.Wait()
	if w.file == nil {
		return nil
	}
	return w.file.Close()
}
