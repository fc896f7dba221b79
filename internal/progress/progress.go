// Package progress tells a person who waits how far long work is: on a terminal in one line that is written over, elsewhere in a plain line now
// and then.
package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// A script that finds less than this in its log has waited for nothing, and a person has not begun to wonder.
const (
	liveFirst  = 500 * time.Millisecond
	liveEvery  = 200 * time.Millisecond
	plainFirst = 2 * time.Second
	plainEvery = 10 * time.Second
)

// narrow is the width where none is known.
const narrow = 80

// Terminal says whether somebody looks at what is written to w, on a screen whose lines can be written over.
func Terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// Width is how many columns the terminal has that w is; 80 where it is none.
func Width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return narrow
}

// Line is the last line of a terminal, which goes again. Elsewhere it is never there.
type Line struct {
	w    io.Writer
	live bool

	mu    sync.Mutex // a log may be written to what Before returns
	shown bool
}

// NewLine is the last line of what w is.
func NewLine(w io.Writer) *Line { return &Line{w: w, live: Terminal(w)} }

// Show puts a text there, cut to what fits: a line that wraps cannot be taken back.
func (l *Line) Show(text string) {
	if !l.live || text == "" {
		return
	}
	if runes, most := []rune(text), Width(l.w)-1; len(runes) > most {
		text = string(runes[:max(0, most-1)]) + "…"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear()
	_, _ = io.WriteString(l.w, text) // without it the work goes on
	l.shown = true
}

// Clear takes the text off.
func (l *Line) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear()
}

func (l *Line) clear() {
	if l.shown {
		_, _ = io.WriteString(l.w, "\r\x1b[K")
	}
	l.shown = false
}

// Before is a writer that takes the line off before it writes to w, which may be the same terminal.
func (l *Line) Before(w io.Writer) io.Writer { return before{l, w} }

type before struct {
	line *Line
	w    io.Writer
}

func (b before) Write(p []byte) (int, error) {
	b.line.mu.Lock()
	defer b.line.mu.Unlock()
	b.line.clear()
	return b.w.Write(p)
}

// Meter tells how much of some work is done, and when the rest will be at this pace. It is for one goroutine at a time.
type Meter struct {
	*Line

	now   func() time.Time
	began time.Time
	next  time.Time // nothing is told sooner
}

// Meter begins to measure. Where the line is on no terminal, the meter's lines stay.
func (l *Line) Meter() *Meter { return l.meter(time.Now) }

func (l *Line) meter(now func() time.Time) *Meter {
	m := &Meter{Line: l, now: now, began: now()}
	m.next = m.began.Add(plainFirst)
	if l.live {
		m.next = m.began.Add(liveFirst)
	}
	return m
}

// At takes note that so much of all is done. It is cheap: what says what that is, such as "120 of 350 MB read", is asked when it is time to tell.
// Work that is done is told by what follows it.
func (m *Meter) At(done, all int64, what func() string) {
	if done <= 0 || done >= all {
		return
	}
	now := m.now()
	if now.Before(m.next) {
		return
	}
	passed := now.Sub(m.began)
	left := time.Duration(float64(passed) / float64(done) * float64(all-done))
	text := fmt.Sprintf("%s: %d %%, %s left", what(), done*100/all, Rounded(left))
	if m.live {
		m.next = now.Add(liveEvery)
		m.Show(text)
		return
	}
	m.next = now.Add(plainEvery)
	_, _ = fmt.Fprintln(m.w, text)
}

// Rounded is a duration as people say it: 8s, 2m10s, 3h20m.
func Rounded(d time.Duration) string {
	switch {
	case d < time.Minute:
		return max(time.Second, d.Round(time.Second)).String()
	case d < time.Hour:
		d = d.Round(10 * time.Second)
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// Bytes is an amount of data as people say it: 640 kB, 35 MB, 1.2 GB.
func Bytes(n int64) string {
	switch {
	case n < 1e6:
		return fmt.Sprintf("%d kB", (n+999)/1000)
	case n < 1e9:
		return fmt.Sprintf("%d MB", (n+5e5)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}
