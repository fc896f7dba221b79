package history

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

var generous = Limits{File: 1 << 20, Total: 1 << 30, Age: 200 * 365 * 24 * time.Hour}

// allowed is the policy of all entries.
var allowed = policy.Default()

// entry is a cycle so long after the beginning.
func entry(cycle int, after time.Duration) journal.Entry {
	s := cluster.New(Start.Add(after), Objects(Node("a-0"), Pod("p")), []*cluster.Group{Group("a", 0, 5, Machine("0", "a-0"))})
	p, _ := plan.Decide(s, allowed, memory.Memory{})
	return journal.Entry{Cycle: uint64(cycle), Seen: s, Policy: allowed, Plan: p}
}

func open(t *testing.T, path string, limits Limits) *Writer {
	t.Helper()
	w, err := Open(path, limits)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func report(t *testing.T, w *Writer, e journal.Entry) {
	t.Helper()
	if err := w.Report(t.Context(), e, 0); err != nil {
		t.Fatal(err)
	}
}

func finish(t *testing.T, w *Writer) {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// cycles are the cycles that a reader finds, each of which is whole and decides the same again, and what it left out.
func cycles(t *testing.T, path string, since time.Time) (all []uint64, left []string) {
	t.Helper()
	r, err := Read(path, since)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, r.Left()
		}
		if err != nil {
			t.Fatal(err)
		}
		e, err := r.Entry()
		if err != nil || e.Cycle != line.Cycle || e.Seen.Node("a-0") == nil {
			t.Fatalf("cycle %d: %v", line.Cycle, err)
		}
		if _, same, err := journal.Replay(e); err != nil || !same {
			t.Errorf("cycle %d is decided otherwise (%v)", e.Cycle, err)
		}
		all = append(all, line.Cycle)
	}
}

func same(a []uint64, from, to uint64) bool {
	for i, c := range a {
		if c != from+uint64(i) {
			return false
		}
	}
	return uint64(len(a)) == to-from+1
}

func TestAJournalMayBeALinkOrAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "journal.jsonl")
	w := open(t, path, generous)
	report(t, w, entry(1, 0))
	finish(t, w)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if all, _ := cycles(t, link, time.Time{}); !same(all, 1, 1) {
		t.Errorf("of a link %v was read", all)
	}
	t.Chdir(dir)
	if all, _ := cycles(t, "journal.jsonl", time.Time{}); !same(all, 1, 1) {
		t.Errorf("beside it %v was read", all)
	}
	if _, err := Read(dir, time.Time{}); err == nil || !strings.Contains(err.Error(), "it is a directory") {
		t.Errorf("error %v", err)
	}
}

func TestAProcessAppendsToWhatAnEarlierOneWrote(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "journal.jsonl")
	for i := range 3 { // three starts
		w := open(t, path, generous)
		report(t, w, entry(2*i+1, time.Duration(2*i)*time.Minute))
		report(t, w, entry(2*i+2, time.Duration(2*i+1)*time.Minute))
		finish(t, w)
	}
	if all, left := cycles(t, path, time.Time{}); !same(all, 1, 6) || len(left) > 0 {
		t.Errorf("read %v, left out %q", all, left)
	}
}

func TestFilesAreClosedWhenFullAndAfterTheirSpan(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	limits := generous
	limits.File = 20_000
	w := open(t, path, limits)
	for i := range 30 {
		report(t, w, entry(i+1, time.Duration(i)*15*time.Minute))
	}
	finish(t, w)
	parts, err := partsOf(path)
	if err != nil || len(parts) != 5 {
		t.Fatalf("%d files, want one for each 90 minutes: %v (%v)", len(parts), parts, err)
	}
	for _, p := range parts[:4] {
		if !strings.HasSuffix(p.path, ".jsonl.gz") {
			t.Errorf("%s is not compressed", p.path)
		}
	}
	if all, left := cycles(t, path, time.Time{}); !same(all, 1, 30) || len(left) > 0 {
		t.Errorf("read %v, left out %q", all, left)
	}
	if all, _ := cycles(t, path, Start.Add(300*time.Minute)); all[0] < 13 || all[0] > 21 || all[len(all)-1] != 30 {
		t.Errorf("from the 20th entry on: %v", all)
	}

	w = open(t, path, limits)
	for i := range 400 {
		report(t, w, entry(31+i, 8*time.Hour+time.Duration(i)*time.Second))
		w.encoder = journal.NewEncoder(w) // whole entries
	}
	finish(t, w)
	for _, name := range names(t, path) {
		if info, err := os.Stat(name); err == nil && info.Size() > 30_000 {
			t.Errorf("%s has %d bytes", name, info.Size())
		}
	}
	if all, left := cycles(t, path, time.Time{}); !same(all, 1, 430) || len(left) > 0 {
		t.Errorf("read %d, left out %q", len(all), left)
	}
}

// TestAReaderKnowsHowFarItIs reads closed files, one of which is damaged, and the newest: at the end all of them count as read.
func TestAReaderKnowsHowFarItIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	w := open(t, path, generous)
	for i := range 15 {
		report(t, w, entry(i+1, time.Duration(i)*15*time.Minute))
	}
	finish(t, w)
	closed := names(t, path)
	if len(closed) != 3 {
		t.Fatalf("files %q, want two closed ones and the newest", closed)
	}
	if err := os.WriteFile(closed[0], []byte("this was compressed once"), 0o600); err != nil {
		t.Fatal(err)
	}
	size := int64(0)
	for _, name := range closed {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	r, err := Read(path, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	last, steps := int64(0), 0
	for {
		_, err := r.Next()
		read, all := r.Position()
		if read < last || read > all || all != size {
			t.Errorf("%d bytes after %d of %d, want %d", read, last, all, size)
		}
		if read > last {
			steps++
		}
		if last = read; errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if last != size || steps != 2 {
		t.Errorf("%d of %d bytes in %d steps, want a step for each file that can be read", last, size, steps)
	}
}

func names(t *testing.T, path string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestOldFilesGo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	write := func(closed time.Time, size int) string {
		name := closedName(path, closed)
		if err := os.WriteFile(name+gzipped, bytes.Repeat([]byte("x"), size), 0o600); err != nil {
			t.Fatal(err)
		}
		return name + gzipped
	}
	now := time.Now()
	tooOld, tooMuch, kept := write(now.Add(-169*time.Hour), 10), write(now.Add(-3*time.Hour), 600), write(now.Add(-2*time.Hour), 600)
	other := filepath.Join(filepath.Dir(path), "journal-of-somebody-else.jsonl.gz")
	if err := os.WriteFile(other, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := open(t, path, Limits{File: 1 << 20, Total: 1000, Age: 168 * time.Hour})
	if _, err := os.Stat(tooOld); err != nil {
		t.Errorf("before its first entry: %v", err)
	}
	report(t, w, entry(1, 0))
	finish(t, w)
	for name, want := range map[string]bool{tooOld: false, tooMuch: false, kept: true, other: true} {
		if _, err := os.Stat(name); (err == nil) != want {
			t.Errorf("%s is there: %t, want %t", name, err == nil, want)
		}
	}
	if w.Closed() != 600 {
		t.Errorf("%d bytes of closed files, want 600", w.Closed())
	}
}

func TestWhatIsDamagedCostsNothingElse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	w := open(t, path, generous)
	for i := range 4 {
		report(t, w, entry(i+1, time.Duration(i)*time.Minute))
	}
	finish(t, w)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	// Killed in mid-write: a part of a line is there, and the next process goes on behind it.
	if err := os.WriteFile(path, append(bytes.Clone(whole), lines[1][:20]...), 0o600); err != nil {
		t.Fatal(err)
	}
	w = open(t, path, generous)
	report(t, w, entry(5, 5*time.Minute))
	report(t, w, entry(6, 6*time.Minute))
	finish(t, w)
	all, left := cycles(t, path, time.Time{})
	if !same(all, 1, 6) || len(left) != 1 || !strings.Contains(left[0], "line 5 is not a journal entry") {
		t.Errorf("read %v, left out %q", all, left)
	}
	// A damaged middle: what follows it up to the next whole entry cannot be understood.
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.Replace(data, lines[2], []byte("garbage\n"), 1)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	all, left = cycles(t, path, time.Time{})
	if len(all) != 4 || all[1] != 2 || all[2] != 5 || len(left) != 1 || !strings.Contains(left[0], "line 3 is not a journal entry") {
		t.Errorf("read %v, left out %q", all, left)
	}
	// A compressed file that ends in the middle.
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(whole); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(closedName(path, Start)+gzipped, packed.Bytes()[:packed.Len()-9], 0o600); err != nil {
		t.Fatal(err)
	}
	all, left = cycles(t, path, time.Time{})
	if len(all) != 8 || len(left) != 2 || !strings.Contains(left[0], "unexpected EOF; the rest of it is left out") {
		t.Errorf("read %v, left out %q", all, left)
	}
}

// crowded is a file on a disk that has room for a part of each line; stuck says that not even that can be taken back.
type crowded struct {
	target
	stuck bool
}

func (c crowded) Write(line []byte) (int, error) {
	n, err := c.target.Write(line[:len(line)/2])
	return n, errors.Join(err, syscall.ENOSPC)
}

func (c crowded) Truncate(size int64) error {
	if c.stuck {
		return syscall.EIO
	}
	return c.target.Truncate(size)
}

func TestAFullDiskCostsTheEntriesOfThatTime(t *testing.T) {
	for name, c := range map[string]struct {
		stuck bool
		left  int // sentences about what is left out
	}{"what was written of a line is taken back": {false, 0}, "it cannot be taken back": {true, 1}} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.jsonl")
			w := open(t, path, generous)
			report(t, w, entry(1, 0))
			file := w.file
			w.file = crowded{file, c.stuck}
			for i := range 2 {
				if err := w.Report(t.Context(), entry(i+2, time.Duration(i+1)*time.Minute), 0); err == nil || !strings.Contains(err.Error(), "is not recorded") {
					t.Errorf("error %v", err)
				}
			}
			w.file = file
			report(t, w, entry(4, 4*time.Minute))
			report(t, w, entry(5, 5*time.Minute))
			finish(t, w)
			if w.Failed() != 2 {
				t.Errorf("%d entries failed, want 2", w.Failed())
			}
			all, left := cycles(t, path, time.Time{})
			if len(all) != 3 || all[1] != 4 || all[2] != 5 || len(left) != c.left {
				t.Errorf("read %v, left out %q", all, left)
			}
		})
	}
}

// TestAFileThatCannotBePutAsideGoesOn has somebody take the file away under its writer.
func TestAFileThatCannotBePutAsideGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	w := open(t, path, generous)
	report(t, w, entry(1, 0))
	aside := path + ".aside"
	if err := os.Rename(path, aside); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		report(t, w, entry(i+2, 7*time.Hour+time.Duration(i)*time.Minute))
	}
	finish(t, w)
	if all, left := cycles(t, aside, time.Time{}); !same(all, 1, 4) || len(left) > 0 {
		t.Errorf("read %v, left out %q", all, left)
	}
}

func TestAReaderFollowsIntoTheNextFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	w := open(t, path, generous)
	report(t, w, entry(1, 0))
	r, err := Read(path, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Follow()
	next := func(want uint64) {
		t.Helper()
		line, err := r.Next()
		switch {
		case want == 0 && !errors.Is(err, io.EOF), want != 0 && (err != nil || line.Cycle != want):
			t.Fatalf("cycle %d (%v), want %d", line.Cycle, err, want)
		}
	}
	next(1)
	next(0)
	report(t, w, entry(2, time.Minute))
	next(2)
	next(0)
	report(t, w, entry(3, 2*time.Minute)) // is still to be read when the file is closed
	report(t, w, entry(4, 7*time.Hour))
	next(3)
	next(4)
	next(0)
	finish(t, w)
}

func TestBadLimitsAreNamed(t *testing.T) {
	for _, c := range []struct {
		limits Limits
		want   string
	}{
		{Limits{0, 1, 1}, "--journal-max-bytes=0"}, {Limits{1, 0, 1}, "--journal-keep-bytes=0"}, {Limits{1, 1, 0}, "--journal-keep=0s"},
	} {
		if _, err := Open(filepath.Join(t.TempDir(), "j"), c.limits); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
	if _, err := Open("/proc/none/journal", generous); err == nil || !strings.Contains(err.Error(), "--journal=/proc/none/journal") {
		t.Errorf("error %v, want one that names the flag and value", err)
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none", "journal.jsonl"), time.Time{}); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("error %v, want one that says that there is none", err)
	}
}

func TestACycleThatIsTooLargeToReadHereIsNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	w := open(t, path, generous)
	report(t, w, entry(1, 0))
	finish(t, w)
	at := entry(1, 0).Seen.Time
	if e, err := At(path, at, 1<<20); err != nil || e.Cycle != 1 {
		t.Errorf("cycle %d (%v)", e.Cycle, err)
	}
	if _, err := At(path, at, 100); !errors.Is(err, journal.ErrLong) || !strings.Contains(err.Error(), "--journal="+path) {
		t.Errorf("error %v, want one that says how else it is read", err)
	}
	if _, err := At(path, at.Add(-time.Hour), 0); err == nil || !strings.Contains(err.Error(), "holds no cycle within 24h0m0s before") {
		t.Errorf("error %v", err)
	}
}
