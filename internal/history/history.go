// Package history keeps the journal in files, and reads it back.
//
//	file                                  holds
//	journal.jsonl                         the newest entries; a process appends to what an earlier one wrote
//	journal-20260102T030405Z.jsonl        a closed file that is being compressed; the name says when its last entry was written, UTC
//	journal-20260102T030405Z.jsonl.gz     a closed file
//
// Each file begins with an entry that can be understood alone, and so does what a process writes first, or after a write that failed: whatever is
// damaged costs the entries up to the next such one. A file is closed when it is full, and after [Span] at the latest.
package history

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Span is how long a file is written to at most: what is damaged costs so much at most. A file begins with a whole entry, which for 1,000 nodes with
// 23,000 pods takes 0.9 MB of the disk and as much as the twelve hours after it: files of an hour would take 160 MB a week.
const Span = 90 * time.Minute

const (
	stampForm = "20060102T150405Z"
	gzipped   = ".gz"
	unready   = ".tmp" // of what is being compressed
)

// part is one of a journal's files.
type part struct {
	path   string
	closed time.Time // when its last entry was written; zero for the file that is written to
	size   int64
}

// partsOf are the files of the journal at the path that are there, the oldest first. The path itself may be a link or a pipe, and alone in a folder that
// cannot be listed.
func partsOf(path string) (all []part, err error) {
	dir, base := filepath.Dir(path), filepath.Base(path)
	ext := filepath.Ext(base)
	stem := strings.TrimSuffix(base, ext)
	entries, err := os.ReadDir(dir)
	if info, fault := os.Stat(path); fault == nil && !info.IsDir() {
		all, err = append(all, part{path: path, size: info.Size()}), nil
	}
	for _, e := range entries {
		stamp, begins := strings.CutPrefix(e.Name(), stem+"-")
		stamp, ends := strings.CutSuffix(strings.TrimSuffix(stamp, gzipped), ext)
		at, fault := time.Parse(stampForm, stamp)
		if !begins || !ends || fault != nil {
			continue
		}
		if info, fault := e.Info(); fault == nil && info.Mode().IsRegular() {
			all = append(all, part{path: filepath.Join(dir, e.Name()), closed: at, size: info.Size()})
		}
	}
	slices.SortFunc(all, func(a, b part) int {
		switch {
		case a.closed.IsZero() != b.closed.IsZero():
			if a.closed.IsZero() {
				return 1
			}
			return -1
		case !a.closed.Equal(b.closed):
			return a.closed.Compare(b.closed)
		}
		return strings.Compare(a.path, b.path) // one that is compressed just now is there twice, the whole one first
	})
	return all, err
}

// closedName is the name of a file of the journal at the path that is closed at a time, which no other file has.
func closedName(path string, at time.Time) string {
	ext := filepath.Ext(path)
	stem := strings.TrimSuffix(path, ext)
	for {
		name := fmt.Sprintf("%s-%s%s", stem, at.UTC().Format(stampForm), ext)
		_, plain := os.Stat(name)
		_, packed := os.Stat(name + gzipped)
		if os.IsNotExist(plain) && os.IsNotExist(packed) {
			return name
		}
		at = at.Add(time.Second)
	}
}
