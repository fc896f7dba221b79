package history

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/journal"
)

// Which is what to do where a journal cannot be read.
const Which = "give the file that sluice run --journal names"

// A Reader goes through the entries of a journal, those of its closed files first.
type Reader struct {
	path    string
	parts   []part
	only    part // of a reader of one file
	open    *os.File
	name    string    // of the file that is read
	plain   io.Reader // what the file holds
	decoder *journal.Decoder
	last    *journal.Decoder // of the line that was returned last
	until   time.Time
	most    int // see [Reader.Most]
	left    []string
	follows bool
	damaged bool // nothing was read since the last damage, which is told

	within     int64   // bytes of the file that is read
	reading    counted // of the file that is read
	done, size int64   // bytes of the files before it, and of all
}

// counted is a file that counts the bytes which are read of it.
type counted struct {
	file *os.File
	n    int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.file.Read(p)
	c.n += int64(n)
	return n, err
}

// Read begins to read the journal at a path: the files that can hold entries of that time or later; a zero time: all of them.
func Read(path string, since time.Time) (*Reader, error) {
	parts, err := readable(path)
	if err != nil {
		return nil, err
	}
	r := &Reader{path: path}
	for _, p := range parts {
		if p.closed.IsZero() || !p.closed.Before(since) {
			r.parts = append(r.parts, p)
			r.size += p.size
		}
	}
	return r, nil
}

// readable are the files of a journal that is to be read, the oldest first: at least one. Of one that is being compressed the whole form is meant.
func readable(path string) ([]part, error) {
	parts, err := partsOf(path)
	var cause *fs.PathError
	switch {
	case errors.As(err, &cause):
		return nil, fmt.Errorf("journal %s: %w; %s", path, cause.Err, Which)
	case err != nil:
		return nil, fmt.Errorf("journal %s: %w; %s", path, err, Which)
	case len(parts) == 0:
		why := os.ErrNotExist
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			why = errors.New("it is a directory")
		}
		return nil, fmt.Errorf("journal %s: %w; %s", path, why, Which)
	}
	return slices.CompactFunc(parts, func(a, b part) bool { return a.closed.Equal(b.closed) }), nil
}

// Next is the next line; io.EOF behind the last one. Damaged lines are passed over: see [Reader.Left].
func (r *Reader) Next() (journal.Line, error) {
	var damaged *journal.LineError
	for {
		if r.decoder == nil {
			if len(r.parts) == 0 {
				return journal.Line{}, io.EOF
			}
			p := r.parts[0]
			r.parts = r.parts[1:]
			r.within = p.size
			if err := r.begin(p.path); err != nil {
				r.leave("file %s: %v", filepath.Base(p.path), err)
				r.end()
				continue
			}
		}
		line, err := r.decoder.Read()
		switch {
		case err == nil:
			r.damaged, r.last = false, r.decoder
			return line, nil
		case r.follows && len(r.parts) == 0 && (errors.Is(err, io.EOF) || errors.Is(err, journal.ErrCut)):
			if !r.grown() {
				return journal.Line{}, io.EOF
			}
			r.parts = []part{{path: r.path}} // once what is left of this one has been read
		case errors.Is(err, io.EOF):
			r.end()
		case errors.Is(err, journal.ErrLong):
			return journal.Line{}, err
		case errors.Is(err, journal.ErrCut):
			r.leave("file %s: %v", r.name, err)
			r.end()
		case errors.As(err, &damaged):
			if !r.damaged {
				r.leave("file %s: %v; the cycles after it are left out until one that can be understood alone", r.name, err)
			}
			r.damaged = true
		default: // the file itself cannot be read on
			r.leave("file %s: %v; the rest of it is left out", r.name, err)
			r.end()
		}
	}
}

// Position is how many bytes of the journal's files are read or passed over, of how many there were at the beginning, compressed as they are. Of a
// pipe there is none.
func (r *Reader) Position() (read, all int64) { return min(r.done+r.reading.n, r.size), r.size }

// Follow has the reader stay with the journal's newest file: after io.EOF more may come, also in a new file once this one is closed.
func (r *Reader) Follow() { r.follows = true }

// grown says whether the file that is read has been closed and another one begun, of which nothing was read yet.
func (r *Reader) grown() bool {
	have, err := r.open.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(r.path)
	return err == nil && !os.SameFile(have, now)
}

// Most has reading end with [journal.ErrLong] at a line of more bytes; 0 is no bound.
func (r *Reader) Most(bytes int) { r.most = bytes }

// Until has reading end before the first line that is later than a time.
func (r *Reader) Until(t time.Time) { r.until = t }

// Entry is the entry of the line that [Reader.Next] has returned last, also behind the last one.
func (r *Reader) Entry() (journal.Entry, error) {
	e, err := r.last.Entry()
	if err != nil {
		err = fmt.Errorf("file %s: %w", r.name, err)
	}
	return e, err
}

// Known is what the line that [Reader.Next] has returned knows of objects.
func (r *Reader) Known() *journal.Decoder { return r.last }

// Left are sentences about what was left out so far.
func (r *Reader) Left() []string { return r.left }

// Close ends reading.
func (r *Reader) Close() { r.end() }

func (r *Reader) leave(form string, args ...any) { r.left = append(r.left, fmt.Sprintf(form, args...)) }

func (r *Reader) begin(path string) error {
	file, err := os.Open(path) //nolint:gosec // the user names the journal
	if err != nil {
		var cause *fs.PathError
		if errors.As(err, &cause) {
			return cause.Err
		}
		return err
	}
	r.reading = counted{file: file}
	var from io.Reader = &r.reading
	if strings.HasSuffix(path, gzipped) {
		if from, err = gzip.NewReader(from); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	r.open, r.name, r.plain, r.decoder = file, filepath.Base(path), from, journal.NewDecoder(from)
	r.decoder.Until(r.until)
	r.decoder.Most(r.most)
	return nil
}

func (r *Reader) end() {
	if r.open != nil {
		_ = r.open.Close() // only read
	}
	r.open, r.decoder = nil, nil
	r.done, r.within, r.reading = r.done+r.within, 0, counted{}
}
