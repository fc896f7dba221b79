package world

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// transcript writes lines. Those of one instant and one teller are held until flush, so that equal ones become one.
type transcript struct {
	w     io.Writer
	names *names
	begun bool // sluice runs, or has
	held  []line
	err   error // of the first failed write
}

// line is one line of a transcript, its names translated.
type line struct {
	at                        time.Duration
	kind, name, outcome, text string
}

// say adds a line.
func (t *transcript) say(at time.Duration, kind, name, outcome, text string) {
	t.held = append(t.held, line{at, kind, t.names.in(name), outcome, t.names.in(text)})
}

// fact adds what happened in the world, once sluice runs.
func (t *transcript) fact(at time.Duration, kind, name, outcome, text string) {
	if t.begun {
		t.say(at, kind, name, outcome, text)
	}
}

// script writes what the script does now.
func (t *transcript) script(at time.Duration, text string) {
	t.flush()
	t.write(fmt.Sprintf("%s > %s\n", clock(at), text))
}

// flush writes the lines that are held.
func (t *transcript) flush() {
	for _, l := range merged(t.held) {
		t.write(l.String())
	}
	t.held = nil
}

func (t *transcript) write(s string) {
	if t.err == nil {
		if _, err := io.WriteString(t.w, s); err != nil {
			t.err = fmt.Errorf("write the transcript: %w", err)
		}
	}
}

// String is the line in columns.
func (l line) String() string {
	subject := l.kind
	if l.name != "" {
		subject += " " + l.name
	}
	return strings.TrimRight(fmt.Sprintf("%s %-26s %-10s %s", clock(l.at), subject, l.outcome, l.text), " ") + "\n"
}

// clock is 04:05, and 1:04:05 from the first hour on.
func clock(d time.Duration) string {
	s := int(d / time.Second)
	if s < 3600 {
		return fmt.Sprintf("%02d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

var numbered = regexp.MustCompile(`^(.*)-(\d+)$`)

// merged makes one line of those about numbered pods of one name that say the same.
func merged(lines []line) []line {
	type family struct{ stem, outcome, text string }
	of := func(l line) (family, int, bool) {
		m := numbered.FindStringSubmatch(l.name)
		if l.kind != "pod" || m == nil {
			return family{}, 0, false
		}
		n, err := strconv.Atoi(m[2])
		return family{m[1], l.outcome, l.text}, n, err == nil
	}
	numbers := map[family][]int{}
	for _, l := range lines {
		if f, n, ok := of(l); ok {
			numbers[f] = append(numbers[f], n)
		}
	}
	var out []line
	done := map[family]bool{}
	for _, l := range lines {
		f, _, ok := of(l)
		if ok && len(numbers[f]) > 1 {
			if done[f] {
				continue
			}
			done[f] = true
			l.kind, l.name = "pods", f.stem+ranges(numbers[f])
		}
		out = append(out, l)
	}
	return out
}

// mostRanges is how many ranges of numbers a reader is expected to follow.
const mostRanges = 3

// ranges is such as "-1..3,5", or only the count, such as " (12)", where that would be long.
func ranges(ns []int) string {
	slices.Sort(ns)
	ns = slices.Compact(ns)
	var parts []string
	for i := 0; i < len(ns); {
		j := i
		for j+1 < len(ns) && ns[j+1] == ns[j]+1 {
			j++
		}
		part := strconv.Itoa(ns[i])
		if j > i {
			part += ".." + strconv.Itoa(ns[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	if len(parts) > mostRanges {
		return fmt.Sprintf(" (%d)", len(ns))
	}
	return "-" + strings.Join(parts, ",")
}
