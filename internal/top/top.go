// Package top is the page in a terminal: what needs somebody, the groups, their machines, the pods that wait and what happens next, from the value
// that the page shows. The model and what it draws are plain values: a key or an answer gives the next model and what to ask for; [Run] does that.
package top

import (
	"context"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/internal/timeline"
	"sluice.dev/sluice/internal/view"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// A Source answers what a terminal shows: a running sluice, or a journal. An error is a sentence.
type Source interface {
	Newest(ctx context.Context) (Seen, error)
	At(ctx context.Context, at time.Time) (Seen, error)                               // the last cycle at a time
	After(ctx context.Context, at time.Time) (Seen, error)                            // the first cycle after it
	Why(ctx context.Context, about reason.Ref, at time.Time) (string, error)          // as of a time; the zero time: now, or the last that is known
	Told(ctx context.Context, until time.Time) ([]timeline.Telling, error)            // newest first
	Verdicts(ctx context.Context, at time.Time) ([]action.Verdict, error)             // of the cycle at a time, zero for the newest
	Find(ctx context.Context, text string, until time.Time) ([]timeline.Found, error) // also what is gone
	Azure(ctx context.Context) ([]report.APIClass, error)                             // requests until now; nil where they are not known
	Command(about reason.Ref, at time.Time) string                                    // to paste
}

// Seen is a cycle, and the clock of who decided it when that was read.
type Seen struct {
	Now   *view.Now
	Clock time.Time     // zero for the clock of this machine
	Every time.Duration // a cycle comes at least so often; zero where nobody knows
}

// A Want is something that a model asks its loop for.
type Want struct {
	What  What
	About reason.Ref
	At    time.Time
	Text  string
}

// What a loop can be asked for.
type What string

// Each is answered by the message of its name, or by a [Failed].
const (
	WantAt       What = "at"
	WantAfter    What = "after"
	WantWhy      What = "why"
	WantTold     What = "told"
	WantVerdicts What = "verdicts"
	WantFound    What = "found"
	WantAzure    What = "azure"
	WantNewest   What = "newest"
	WantCopy     What = "copy"
	WantQuit     What = "quit"
)

// Messages of the loop, beside those of keys.
type (
	// Size is that of the terminal.
	Size struct{ Width, Height int }
	// Tick is the clock, every second.
	Tick struct{ Clock time.Time }
	// Newest is the newest cycle.
	Newest struct{ Seen }
	// Past is a cycle that was asked for.
	Past struct{ Seen }
	// Why is an explanation in words.
	Why struct {
		About reason.Ref
		Text  string
	}
	// Told is what happened, newest first.
	Told struct{ All []timeline.Telling }
	// Verdicts are those of the cycle that is shown.
	Verdicts struct{ All []action.Verdict }
	// Azure are the requests to Azure until now; nil where they are not known.
	Azure struct{ All []report.APIClass }
	// Found is what has a name like the filter.
	Found struct {
		Text string
		All  []timeline.Found
	}
	// Failed is an answer that did not come.
	Failed struct {
		What What
		Text string
	}
	// Key is a key as terminals' libraries name it: "enter", "up", "a".
	Key string
)

// Options are what a model begins with.
type Options struct {
	Name    string // of the source, in front of all
	Colour  bool
	Program string                                              // as the user calls it, in commands to paste; "" for sluice
	Flags   []string                                            // by which kubectl and sluice find the cluster that the user means
	Moment  func(text string, now time.Time) (time.Time, error) // reads a time that somebody types
}

// The views, in the order of their keys.
const (
	viewNow = iota
	viewTime
	viewWhy
	viewAzure
)

// typing is what the keys are going into.
type typing int

const (
	typesNothing typing = iota
	typesFilter
	typesTime
)

// Model is what a terminal shows.
type Model struct {
	options Options
	size    Size
	clock   time.Time     // of this machine
	skew    time.Duration // what the clock of the source is ahead of it

	every time.Duration // see [Seen]

	newest  *view.Now
	shown   *view.Now // newest, or a cycle of the past
	past    bool
	trouble trouble

	view     int
	selected string // the key of a row
	cursor   int    // where it was among the rows
	typing   typing
	input    string
	filter   string
	found    []timeline.Found
	keys     bool // the help is open
	note     string

	why   explanation
	lists lists
}

// trouble is why the newest cycle cannot be read, "" when it can, and since when.
type trouble struct {
	why   string
	since time.Time
}

// explanation is what is told of one thing.
type explanation struct {
	about  *reason.Ref // nil: nothing is explained
	at     time.Time
	lines  []string
	scroll int
}

// lists are what is read besides a cycle, each nil until it is.
type lists struct {
	told     []timeline.Telling
	verdicts []action.Verdict
	azure    []report.APIClass
}

// New is a model that has seen nothing.
func New(o Options) Model { return Model{options: o, size: Size{80, 24}} }

// at is the time by which ages and countdowns are told: it stands still for the past, and where the newest cycle is old.
func (m Model) at() time.Time {
	if m.past || m.stale() {
		return m.shown.Time
	}
	return m.clock.Add(m.skew)
}

// age is how old the newest cycle is.
func (m Model) age() time.Duration {
	if m.newest == nil {
		return 0
	}
	return max(0, m.clock.Add(m.skew).Sub(m.newest.Time))
}

func (m Model) stale() bool { return m.trouble.why != "" || m.age() > view.Stale(m.every) }

// cycleAt is the time that questions are about: zero for the newest cycle.
func (m Model) cycleAt() time.Time {
	if m.past {
		return m.shown.Time
	}
	return time.Time{}
}

// Update is the model after a message, and what to ask for.
func (m Model) Update(msg any) (Model, []Want) {
	switch msg := msg.(type) {
	case Size:
		m.size = msg
	case Tick:
		m.clock = msg.Clock
	case Newest:
		return m.see(msg)
	case Past:
		m.shown, m.past, m.note = msg.Now, true, ""
		return m, m.needed()
	case Why:
		if m.why.about != nil && *m.why.about == msg.About {
			m.why.lines, m.why.scroll = strings.Split(strings.TrimRight(msg.Text, "\n"), "\n"), 0
		}
	case Told:
		m.lists.told, m.note = append([]timeline.Telling{}, msg.All...), ""
	case Verdicts:
		m.lists.verdicts, m.note = append([]action.Verdict{}, msg.All...), ""
	case Azure:
		m.lists.azure = msg.All
	case Found:
		if msg.Text == m.filter {
			m.found = msg.All
		}
	case Failed:
		m.fail(msg)
	case Key:
		return m.key(string(msg))
	}
	return m, nil
}

func (m Model) see(msg Newest) (Model, []Want) {
	m.trouble.why, m.skew, m.every = "", 0, msg.Every
	if !msg.Clock.IsZero() {
		m.skew = msg.Clock.Sub(m.clock)
	}
	fresh := m.newest == nil || m.newest.Cycle != msg.Now.Cycle || !m.newest.Time.Equal(msg.Now.Time)
	m.newest = msg.Now
	if m.past {
		return m, nil
	}
	m.shown = msg.Now
	if fresh {
		return m, m.needed()
	}
	return m, nil
}

// needed is what the view shows and a cycle does not have.
func (m Model) needed() []Want {
	switch {
	case m.shown == nil:
	case m.view == viewTime:
		return []Want{{What: WantTold, At: m.cycleAt()}}
	case m.view == viewWhy:
		return []Want{{What: WantVerdicts, At: m.cycleAt()}}
	case m.view == viewAzure && !m.past: // nobody keeps what was asked before
		return []Want{{What: WantAzure}}
	}
	return nil
}

func (m *Model) fail(f Failed) {
	switch f.What {
	case WantNewest:
		if m.trouble.why == "" {
			m.trouble.since = m.clock
		}
		m.trouble.why = f.Text
	case WantWhy:
		if m.why.about != nil {
			m.why.lines, m.why.scroll = []string{f.Text}, 0
		}
	case WantFound: // the cycle that is shown is searched all the same
	default:
		m.note = f.Text
	}
}

// moves are how far keys move over rows or lines.
var moves = map[string]int{"down": 1, "j": 1, "up": -1, "k": -1, "pgdown": 10, "space": 10, "pgup": -10, "home": -1 << 20, "end": 1 << 20, "g": -1 << 20, "G": 1 << 20}

func (m Model) key(k string) (Model, []Want) {
	switch {
	case k == "ctrl+c":
		return m, []Want{{What: WantQuit}}
	case m.typing != typesNothing:
		return m.typed(k)
	case m.keys:
		m.keys = false
		return m, nil
	case k == "q":
		return m, []Want{{What: WantQuit}}
	case k == "?":
		m.keys = true
		return m, nil
	}
	m.note = ""
	if by, is := moves[k]; is {
		m.move(by)
		return m, nil
	}
	switch k {
	case "esc":
		switch {
		case m.why.about != nil:
			m.why = explanation{}
		case m.filter != "":
			m.filter, m.found = "", nil
		}
	case "enter":
		return m.enter()
	case "c":
		return m.copy()
	case "/":
		m.why.about, m.typing, m.input = nil, typesFilter, m.filter
	case "t":
		m.typing, m.input = typesTime, ""
	case "n":
		if m.past {
			m.past, m.shown, m.why = false, m.newest, explanation{}
			return m, m.needed()
		}
	case "[", "]":
		return m.step(k == "]")
	case "1", "2", "3", "4":
		m.view, m.why.about, m.selected, m.cursor = int(k[0]-'1'), nil, "", 0
		return m, m.needed()
	}
	return m, nil
}

// step goes one cycle back or on.
func (m Model) step(on bool) (Model, []Want) {
	switch {
	case m.shown == nil:
		return m, nil
	case on && !m.past:
		m.note = "This is the newest cycle."
		return m, nil
	case on:
		return m, []Want{{What: WantAfter, At: m.shown.Time}}
	}
	return m, []Want{{What: WantAt, At: m.shown.Time.Add(-time.Nanosecond)}}
}

// typed takes a key into the line that is typed.
func (m Model) typed(k string) (Model, []Want) {
	switch k {
	case "esc":
		if m.typing == typesFilter {
			m.filter, m.found = "", nil
		}
		m.typing, m.input = typesNothing, ""
		return m, nil
	case "up", "down":
		m.move(moves[k])
		return m, nil
	case "backspace":
		if r := []rune(m.input); len(r) > 0 {
			m.input = string(r[:len(r)-1])
		}
	case "space":
		m.input += " "
	case "enter":
		was := m.typing
		m.typing = typesNothing
		if was == typesFilter {
			if m.filter == "" {
				return m, nil
			}
			return m.enter()
		}
		return m.goTo()
	default:
		if len([]rune(k)) == 1 {
			m.input += k
		}
	}
	if m.typing == typesFilter && m.filter != strings.TrimSpace(m.input) {
		m.filter, m.selected, m.cursor, m.found = strings.TrimSpace(m.input), "", 0, nil
		if m.filter != "" {
			return m, []Want{{What: WantFound, Text: m.filter, At: m.cycleAt()}}
		}
	}
	return m, nil
}

// goTo shows the cycle of the time that was typed.
func (m Model) goTo() (Model, []Want) {
	if m.input == "" || m.options.Moment == nil {
		return m, nil
	}
	at, err := m.options.Moment(m.input, m.clock)
	if err != nil {
		m.note = err.Error()
		return m, nil
	}
	m.note = "reading the cycle of " + clock(at)
	return m, []Want{{What: WantAt, At: at}}
}

// move selects another row, or scrolls what is read.
func (m *Model) move(by int) {
	if m.why.about != nil {
		m.why.scroll = max(0, min(m.why.scroll+by, len(m.read())-m.room()))
		return
	}
	rows := m.rows()
	if len(rows) == 0 {
		return
	}
	m.cursor = max(0, min(m.chosen(rows)+by, len(rows)-1))
	m.selected = rows[m.cursor].key
}

// chosen is the index of the row that is selected. A row that went leaves the selection where it was.
func (m Model) chosen(rows []row) int {
	if i := slices.IndexFunc(rows, func(r row) bool { return r.key == m.selected }); i >= 0 {
		return i
	}
	if m.selected == "" && m.view == viewNow && m.filter == "" {
		if i := slices.IndexFunc(rows, func(r row) bool { return r.need != nil }); i >= 0 {
			return i
		}
	}
	return max(0, min(m.cursor, len(rows)-1))
}

func (m Model) row() *row {
	rows := m.rows()
	if len(rows) == 0 {
		return nil
	}
	return &rows[m.chosen(rows)]
}

// enter explains what is selected.
func (m Model) enter() (Model, []Want) {
	r := m.row()
	if r == nil || m.why.about != nil {
		return m, nil
	}
	if r.about.Kind == "" {
		if m.note = "It is about no single thing."; r.need != nil {
			m.note = sentences(r.need.Cause, r.need.Remedy)
		}
		return m, nil
	}
	about := r.about
	m.why = explanation{about: &about, at: m.cycleAt(), lines: []string{"reading ..."}}
	if !r.at.IsZero() {
		m.why.at = r.at
	}
	return m, []Want{{What: WantWhy, About: about, At: m.why.at}}
}

// copy shows a command to paste, and asks the terminal to take it.
func (m Model) copy() (Model, []Want) {
	var want Want
	switch r := m.row(); {
	case m.why.about != nil:
		want = Want{What: WantCopy, About: *m.why.about, At: m.why.at}
	case r == nil:
		return m, nil
	case r.need != nil && r.need.Command != "" && !strings.HasPrefix(r.need.Command, "sluice explain"):
		want = Want{What: WantCopy, Text: report.Printable(m.options.program(r.need.Command + words(m.options.Flags)))}
	case r.about.Kind == "":
		m.note = "It has no command."
		return m, nil
	default:
		want = Want{What: WantCopy, About: r.about, At: m.cycleAt()}
	}
	return m, []Want{want}
}

// Copied has the model show what the terminal was asked to take.
func (m Model) Copied(command string) Model {
	m.note = command
	return m
}

// program is a command under the name by which the user calls sluice.
func (o Options) program(command string) string {
	if rest, is := strings.CutPrefix(command, "sluice "); is && o.Program != "" {
		return o.Program + " " + rest
	}
	return command
}

func sentences(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), " ")
}
