package top

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"sluice.dev/sluice/internal/report"
)

// style is how a line looks where there is colour. What it means is said by its words and signs.
type style int

const (
	plain style = iota
	title
	warn
	bad
	chosen
	faint
)

// codes begin a style on a terminal.
var codes = map[style]string{title: "\x1b[1m", warn: "\x1b[33m", bad: "\x1b[31m", chosen: "\x1b[7m", faint: "\x1b[2m"}

type line struct {
	text  string
	style style
}

// help is the last line.
const help = "enter why  / find  c command  t time  [ ] cycle  1-4 views  ? keys  q quit"

// allKeys is what "?" shows.
var allKeys = strings.Split(`arrows or j k    another row; pgup pgdn home end
enter            why: what explain says of it; esc goes back
/                find by a part of a name, gone things too; enter says why of the first
c                the command for it, copied where the terminal can (OSC 52)
t                a time: 02:13, 2026-03-02 02:13, 2026-03-02T02:13:00Z, or 90m for so long ago
[ ]              the cycle before, the cycle after
n                back to now
1 2 3 4          now, what happened, all verdicts, Azure: evidence and requests
q                quit

BAR    = busy  i idle  d leaving  ! silent or not joined  + coming  - free to max
FLEET  0 to 9 tenths of CPU that pods request, X all of it; u unknown
       i idle  d draining  + coming  h held  p parked  ! needs you  ? silent
? behind a price: not known`, "\n")

// Plain is the screen without colour, as lines that end with a newline. A height of 0 is as tall as it needs to be.
func (m Model) Plain() string { return join(m.lines(), false) }

// Screen is the screen as the terminal gets it.
func (m Model) Screen() string { return strings.TrimSuffix(join(m.lines(), m.options.Colour), "\n") }

func join(lines []line, colour bool) string {
	var b strings.Builder
	for _, l := range lines {
		if code := codes[l.style]; colour && code != "" {
			b.WriteString(code + l.text + "\x1b[0m\n")
		} else {
			b.WriteString(l.text + "\n")
		}
	}
	return b.String()
}

// lines are those of the screen, each within its width.
func (m Model) lines() []line {
	all := m.top()
	switch {
	case m.keys:
		for _, k := range allKeys {
			all = append(all, line{text: k})
		}
	case m.why.about != nil:
		all = append(all, m.explained()...)
	default:
		all = append(all, m.body(m.room())...)
	}
	if m.size.Height > 0 {
		for len(all) < m.size.Height-len(m.bottom()) {
			all = append(all, line{})
		}
		all = append(all[:min(len(all), m.size.Height-len(m.bottom()))], m.bottom()...)
	}
	for i := range all {
		all[i].text = fit(all[i].text, m.size.Width)
	}
	return all
}

// room is how many lines are left between the head and the foot; a great many where the height is not bounded.
func (m Model) room() int {
	if m.size.Height == 0 {
		return 1 << 20
	}
	return max(1, m.size.Height-len(m.top())-len(m.bottom()))
}

// top is the headline, and a sentence about what is not as it should be.
func (m Model) top() []line {
	if m.shown == nil {
		words := m.options.Name + "  reading the first cycle"
		if m.trouble.why != "" {
			words = m.options.Name + "  " + m.trouble.why
		}
		return []line{{words, title}}
	}
	n := m.shown
	needs := "nothing needs you"
	if len(n.Needs) == 1 {
		needs = "1 needs you"
	} else if len(n.Needs) > 1 {
		needs = fmt.Sprintf("%d need you", len(n.Needs))
	}
	nodes := fmt.Sprintf("%d nodes", n.Nodes)
	if n.Nodes == 1 {
		nodes = "1 node"
	}
	if n.Coming > 0 {
		nodes += fmt.Sprintf(" +%d", n.Coming)
	}
	pods := "no pod waits"
	if n.Pending == 1 {
		pods = "1 pod waits"
	} else if n.Pending > 1 {
		pods = fmt.Sprintf("%d pods wait", n.Pending)
	}
	usd := fmt.Sprintf("%.2f USD/h", n.USD)
	if n.Unpriced > 0 {
		usd += fmt.Sprintf(" +%d ?", n.Unpriced)
	}
	when, live := "NOW", "live "+age(m.age())
	switch {
	case m.past:
		when, live = n.Time.UTC().Format("01-02 15:04:05Z"), "past"
	case m.stale():
		when, live = "LAST", age(m.age())+" old"
	}
	rest := "  " + strings.Join([]string{needs, nodes, pods, usd, live}, "  ")
	name := cellMost(m.options.Name, max(4, m.size.Width-len(when)-1-ansi.StringWidth(rest)))
	all := []line{{name + " " + when + rest, title}}
	if n.DryRun {
		all = append(all, line{"Dry run: sluice decides and tells, and writes nothing.", warn})
	}
	if n.Lost != nil {
		all = append(all, line{n.Headline, bad})
	}
	switch {
	case m.past:
		all = append(all, line{fmt.Sprintf("This is the past: cycle %d of %s. n goes back to now.", n.Cycle, n.Time.UTC().Format("2006-01-02 15:04:05 UTC")), warn})
	case m.trouble.why != "":
		words := fmt.Sprintf("%s (for %s; it is tried again). Countdowns stand.", m.trouble.why, age(m.clock.Sub(m.trouble.since)))
		for _, text := range firstOf(wrap(words, m.size.Width), 3) {
			all = append(all, line{text, warn})
		}
	case m.stale():
		all = append(all, line{fmt.Sprintf("No cycle came for %s; the last is of %s.", age(m.age()), n.Time.UTC().Format("2006-01-02 15:04:05 UTC")), warn})
	}
	return all
}

// bottom is what is typed, a note, or the keys.
func (m Model) bottom() []line {
	switch {
	case m.typing == typesFilter:
		return []line{{"find: " + m.input + "_   enter why  esc ends", title}}
	case m.typing == typesTime:
		return []line{{"time: " + m.input + "_   02:13, 2026-03-02 02:13, or 90m for so long ago", title}}
	case m.note != "":
		var all []line
		for _, text := range firstOf(wrap(m.note, m.size.Width), 4) {
			all = append(all, line{text, title})
		}
		return all
	case m.keys:
		return []line{{"any key goes back", faint}}
	case m.why.about != nil:
		return []line{{"esc back  j k scroll  c command  q quit", faint}}
	case m.filter != "":
		return []line{{"filter " + m.filter + "  enter why  / another  esc all", faint}}
	}
	return []line{{help, faint}}
}

// read is the explanation in lines of the screen.
func (m Model) read() (lines []string) {
	for _, text := range m.why.lines {
		lines = append(lines, wrap(text, m.size.Width)...)
	}
	return lines
}

// explained is what is read of an explanation.
func (m Model) explained() (all []line) {
	lines, room := m.read(), m.room()
	from := max(0, min(m.why.scroll, len(lines)-room))
	for i := from; i < len(lines) && i < from+room; i++ {
		all = append(all, line{text: lines[i]})
	}
	if below := len(lines) - from - room; below > 0 {
		all[len(all)-1] = line{fmt.Sprintf("and %d more", below+1), faint}
	}
	return all
}

// shrinking is in which order sections give lines away, down to a floor each: what needs somebody gives last.
var shrinking = []struct{ least, floor int }{
	{0, 2}, {1, 2}, {2, 2}, {3, 2}, {0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 3}, {0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0},
}

// body is the sections of the view in so many lines. The least urgent shrink first.
func (m Model) body(room int) (all []line) {
	sections := m.sections()
	rows := make([]int, len(sections))
	total := len(sections)
	for i, s := range sections {
		rows[i] = len(s.rows)
		total += rows[i]
	}
	for _, step := range shrinking {
		for i, s := range sections {
			for s.least == step.least && total > room && rows[i] > step.floor {
				rows[i]--
				total--
			}
		}
	}
	selectable := m.rows()
	selected := ""
	if len(selectable) > 0 {
		selected = selectable[m.chosen(selectable)].key
	}
	for i, s := range sections {
		head := s.title
		if more := len(s.rows) - rows[i]; more > 0 {
			head = cellMost(head, m.size.Width-14) + fmt.Sprintf("  and %d more", more)
		}
		all = append(all, line{head, title})
		from := 0
		for j, r := range s.rows {
			if !s.lines && r.key == selected && j >= rows[i] {
				from = j - rows[i] + 1
			}
		}
		for _, r := range s.rows[from:min(len(s.rows), from+rows[i])] {
			l := line{" " + r.text, r.style}
			if !s.lines && r.key == selected && m.size.Height > 0 {
				l = line{">" + fit(r.text, m.size.Width-1), chosen}
			}
			all = append(all, l)
		}
	}
	return all
}

// name is the width of a column of names: what a wide terminal has more goes to it, in part.
func (m Model) name(least int) int { return least + max(0, min(20, (m.size.Width-80)/3)) }

// bar is the width of a group's bar.
func (m Model) bar() int { return 17 + max(0, min(23, (m.size.Width-80)/4)) }

// fit cuts a text to a width.
func fit(text string, width int) string {
	if text = report.Printable(text); width <= 0 || ansi.StringWidth(text) <= width {
		return strings.TrimRight(text, " ")
	}
	return ansi.Truncate(text, width, "..")
}

// cell is a text in a column: cut, or padded, with a space behind it where it was cut.
func cell(text string, width int) string {
	text = cellMost(text, width-1)
	return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
}

func cellMost(text string, width int) string {
	if text = report.Printable(text); ansi.StringWidth(text) <= width {
		return text
	}
	return ansi.Truncate(text, max(0, width), "..")
}

func between(a, b string, width int) string {
	return a + strings.Repeat(" ", max(1, width-len(a)-len(b))) + b
}

// wrap breaks a text into lines; those after the first are set in.
func wrap(text string, width int) []string {
	text = report.Printable(text)
	if width <= 8 || ansi.StringWidth(text) <= width {
		return []string{text}
	}
	indent := strings.Repeat(" ", min(8, 2+len(text)-len(strings.TrimLeft(text, " "))))
	all := strings.Split(ansi.Wrap(text, width-len(indent), ""), "\n")
	for i := range all[1:] {
		all[i+1] = indent + strings.TrimLeft(all[i+1], " ")
	}
	return all
}

func firstOf(lines []string, most int) []string { return lines[:min(len(lines), most)] }

// clock is a time of day of UTC.
func clock(t time.Time) string { return t.UTC().Format("15:04:05") }

// countdown is the time that is left: 0:42, 12:05, 3:10 h.
func countdown(d time.Duration) string {
	if d = d.Round(time.Second); d >= time.Hour {
		return fmt.Sprintf("%d:%02d h", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}

// age is how long ago something was: 3 s, 22 m, 5 h, 2 d.
func age(d time.Duration) string {
	switch d = max(0, d); {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d m", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d d", int(d.Hours()/24))
}

// Once is one screen of a cycle as text, as tall as it needs to be. The clock of what was seen counts.
func Once(o Options, seen Seen, width int) string {
	m := New(o)
	m.size = Size{width, 0}
	m.clock = seen.Clock
	m, _ = m.Update(Newest{seen})
	return m.Plain()
}
