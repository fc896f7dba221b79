package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	// plainPause is how often, at most, progress is said where it cannot be overwritten.
	plainPause = 10 * time.Second
	// liveWidth keeps a live line from wrapping, which would leave half of it behind.
	liveWidth = 79
)

// narrator tells the story as it goes on: lines that stay, each with the time since the start, and progress in between. On a terminal
// progress is one line that is overwritten; elsewhere it is a plain line now and then, without control codes.
type narrator struct {
	w     io.Writer
	live  bool
	began time.Time

	mu    sync.Mutex
	shown bool   // a live line is on the screen
	last  string // progress last said, with its time on a terminal
	said  time.Time
}

func newNarrator(w io.Writer) *narrator {
	n := &narrator{w: w, began: time.Now()}
	if f, ok := w.(*os.File); ok {
		info, err := f.Stat()
		n.live = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return n
}

// act begins a part of the story.
func (n *narrator) act(title string) { n.line("\n%s  %s", n.stamp(), title) }

// say tells something that stays.
func (n *narrator) say(format string, args ...any) {
	n.line("%s    %s", n.stamp(), fmt.Sprintf(format, args...))
}

// line writes without a time.
func (n *narrator) line(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.clear()
	n.last, n.said = "", time.Now()
	fmt.Fprintf(n.w, format+"\n", args...)
}

// progress tells how far the present step is.
func (n *narrator) progress(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.live {
		line := n.stamp() + "    " + text
		if utf8.RuneCountInString(line) > liveWidth {
			line = string([]rune(line)[:liveWidth-1]) + "…"
		}
		if n.shown && line == n.last {
			return
		}
		n.clear()
		fmt.Fprint(n.w, line)
		n.shown, n.last = true, line
		return
	}
	if text == n.last || time.Since(n.said) < plainPause {
		return
	}
	n.last, n.said = text, time.Now()
	fmt.Fprintf(n.w, "%s      %s\n", n.stamp(), text)
}

// clear takes the live line away. n.mu is held.
func (n *narrator) clear() {
	if n.shown {
		fmt.Fprint(n.w, "\r\x1b[2K")
		n.shown = false
	}
}

// close leaves the terminal's cursor on a line of its own.
func (n *narrator) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.clear()
}

// stamp is the time since the start, as "02:07".
func (n *narrator) stamp() string {
	s := int(time.Since(n.began).Seconds())
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}

// counted is such as "1 node" or "3 nodes".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "y") {
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
