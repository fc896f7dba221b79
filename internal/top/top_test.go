package top

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/internal/timeline"
	"sluice.dev/sluice/internal/view"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

var update = flag.Bool("update", false, "rewrite what screens should look like, in testdata")

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// tiles are machines, one for each character of a zone as the fleet shows it.
func tiles(group, zone, as string) (all []view.Tile) {
	for i, r := range as {
		t := view.Tile{About: reason.Node(fmt.Sprintf("%s-%s-%d", group, zone, i)), Zone: "westeurope-" + zone, State: view.Busy, Load: view.Load{CPU: float64(r-'0') / 10}}
		for state, s := range signs {
			if s == string(r) {
				t.State = state
			}
		}
		if r == 'X' {
			t.Load.CPU = 1
		}
		all = append(all, t)
	}
	return all
}

func group(id string, low, high int, usd float64, zones ...string) view.Group {
	g := view.Group{ID: cluster.GroupID(id), Min: low, Max: high, Outcome: action.GroupSteady, Why: "it has what its pods need", ReadAt: noon.Add(-5 * time.Second), Age: 5 * time.Second, Complete: true}
	if usd > 0 {
		g.USD = &usd
	}
	for i, as := range zones {
		g.Tiles = append(g.Tiles, tiles(id, fmt.Sprint(i+1), as)...)
	}
	for _, t := range g.Tiles {
		switch t.State {
		case view.Coming:
			g.Coming++
			continue
		case view.Parked:
			g.Parked++
			continue
		case view.Idle:
			g.Idle++
		case view.Leaves:
			g.Leaving++
		case view.Silent:
			g.Silent++
		default:
			g.Busy++
		}
		g.Nodes++
	}
	return g
}

func cycle(groups ...view.Group) *view.Now {
	n := &view.Now{Cycle: 7, Time: noon, Headline: "All is calm.", Groups: groups, Zones: []string{"westeurope-1", "westeurope-2", "westeurope-3"}}
	for _, g := range groups {
		n.Nodes += g.Nodes
		n.Coming += g.Coming
		if g.USD == nil {
			n.Unpriced += g.Nodes + g.Coming
		} else {
			n.USD += *g.USD
		}
	}
	return n
}

func busy() *view.Now {
	n := cycle(group("render", 2, 40, 18.24, "8797997X7+", "9777X7i88+", "h99i7978X+"), group("render-spot", 0, 24, 0, "887", "987!", "897"),
		group("web", 3, 18, 2.76, "7565p", "6687", "8d6ip"), group("data", 3, 6, 2.30, "64", "55", "h"))
	n.Groups[0].Outcome, n.Groups[0].Until = action.GroupGrowing, noon.Add(42*time.Second)
	n.Groups[1].Outcome, n.Groups[1].Trouble, n.Groups[1].Why = action.GroupBackoff, true, "AllocationFailed: there is no such spot machine now"
	pod := func(name string) reason.Ref { return reason.Ref{Kind: reason.KindPod, Name: name} }
	n.Needs = []view.Need{
		{About: pod("render/sim-fluid-0412-0"), Code: "NoGroupFits", Title: "render/sim-fluid-0412-0 is stuck", Cause: "Needs 112 GiB, free 57.4 in render.", Command: "sluice explain pod render/sim-fluid-0412-0", Since: noon.Add(-22 * time.Minute)},
		{About: reason.Node("web00000c"), Code: "PodOverdue", Title: "web00000c still drains", Cause: "Budget shop/cart-db allows 0.", Command: "sluice explain node web00000c", Until: noon.Add(54 * time.Second)},
		{About: reason.Instance("render-spot", "41"), Code: "MachineLate", Title: "render-spot/41 has not joined", Cause: "No node for 9 m (15 m).", Command: "kubectl get nodes", Since: noon.Add(-9 * time.Minute), More: 2},
	}
	n.Pending, n.Stuck = 21, 1
	n.Waiting = []view.Waiting{
		{Outcome: action.PodStuck, Code: "NoGroupFits", Sentence: "no group can hold it", Pods: 1, First: "render/sim-fluid-0412-0", Since: noon.Add(-22 * time.Minute)},
		{Outcome: action.PodWaiting, Code: "FitsComingMachine", Sentence: "fits a machine of group render that is coming", Pods: 12, First: "render/frame-0419", Since: noon.Add(-48 * time.Second)},
		{Outcome: action.PodWaiting, Code: "GangAwaitsPods", Sentence: "needs 8, 5 are there", Pods: 5, First: "render/comp-0412", Since: noon.Add(-2 * time.Minute)},
		{Outcome: action.PodScheduling, Code: "FitsNode", Sentence: "fits node web00000h", Pods: 3, First: "shop/api", Since: noon.Add(-4 * time.Second)},
	}
	n.Next = []view.Step{
		{At: noon.Add(42 * time.Second), About: reason.Group("render"), What: "render may grow again"},
		{At: noon.Add(54 * time.Second), About: reason.Node("web00000c"), What: "web00000c is given back", More: 1},
	}
	return n
}

func lostTogether() *view.Now {
	n := cycle(group("render", 2, 40, 18.24, "????????", "98777", "99798"), group("web", 3, 18, 2.76, "????", "6687", "86"))
	n.Groups[0].Bad, n.Groups[1].Bad = true, true
	n.Lost = &view.Lost{Machines: 12, Of: 28, Since: noon.Add(-3 * time.Minute), Groups: []string{"render", "web"}}
	n.Headline = "12 of 28 machines fell silent together. None of them is removed."
	n.Needs = []view.Need{{About: reason.Group("render"), Code: reason.GroupLost, Title: "render needs a look", Cause: "12 nodes fell silent together.", Command: "sluice acknowledge render", Bad: true}}
	return n
}

// show is a model that has just seen a cycle.
func show(n *view.Now, width, height int) Model {
	m := New(Options{Name: "prod-weu", Moment: func(string, time.Time) (time.Time, error) { return noon.Add(-time.Hour), nil }})
	m, _ = m.Update(Size{width, height})
	m, _ = m.Update(Tick{noon.Add(3 * time.Second)})
	m, _ = m.Update(Newest{Seen{Now: n}})
	return m
}

// press is the model after keys, and what the last one asks for.
func press(m Model, keys ...string) (Model, []Want) {
	var wants []Want
	for _, k := range keys {
		m, wants = m.Update(Key(k))
	}
	return m, wants
}

func TestScreensFitAndSayTheSame(t *testing.T) {
	for name, n := range map[string]*view.Now{"busy": busy(), "quiet": cycle(group("web", 3, 18, 2.76, "7565", "6687", "86")), "lost": lostTogether(), "empty": cycle()} {
		for _, size := range []Size{{80, 24}, {120, 40}} {
			t.Run(fmt.Sprintf("%s-%dx%d", name, size.Width, size.Height), func(t *testing.T) {
				got := show(n, size.Width, size.Height).Plain()
				lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
				if len(lines) != size.Height {
					t.Errorf("%d lines, want %d", len(lines), size.Height)
				}
				for _, l := range lines {
					if ansi.StringWidth(l) > size.Width {
						t.Errorf("wider than %d: %q", size.Width, l)
					}
				}
				path := filepath.Join("testdata", filepath.Base(t.Name())+".txt")
				if *update {
					if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), got); diff != "" {
					t.Errorf("not as in %s (-want +got):\n%s", path, diff)
				}
			})
		}
	}
}

func TestColourSaysNothingThatWordsDoNot(t *testing.T) {
	m := show(busy(), 80, 24)
	m.options.Colour = true
	coloured := m.Screen()
	if !strings.Contains(coloured, "\x1b[") {
		t.Error("there is no colour to compare")
	}
	if got, want := ansi.Strip(coloured)+"\n", m.Plain(); got != want {
		t.Errorf("with colour other text:\n%s", cmp.Diff(want, got))
	}
	m.options.Colour = false
	if strings.Contains(m.Screen(), "\x1b") {
		t.Error("without colour an escape sequence is written")
	}
}

func TestKeysAskForWhatTheySay(t *testing.T) {
	told := func(m Model) Model {
		m, _ = m.Update(Told{[]timeline.Telling{{Time: noon.Add(-time.Minute), Sentence: "node web-1-0 is deleted", About: []reason.Ref{reason.Node("web-1-0")}}}})
		return m
	}
	pod := reason.Ref{Kind: reason.KindPod, Name: "render/sim-fluid-0412-0"}
	for _, c := range []struct {
		name string
		keys string
		want []Want
	}{
		{"the first need is chosen", "enter", []Want{{What: WantWhy, About: pod}}},
		{"down is the next row", "j enter", []Want{{What: WantWhy, About: reason.Node("web00000c")}}},
		{"up from the needs are the groups", "k enter", []Want{{What: WantWhy, About: reason.Group("data")}}},
		{"the end is the last step", "G enter", []Want{{What: WantWhy, About: reason.Node("web00000c")}}},
		{"a filter asks who has such a name", "/ w e b - 1 - 3", []Want{{What: WantFound, Text: "web-1-3"}}},
		{"enter in a filter opens the first", "/ w e b - 1 - 3 enter", []Want{{What: WantWhy, About: reason.Node("web-1-3")}}},
		{"keys in a filter are letters", "/ q", []Want{{What: WantFound, Text: "q"}}},
		{"a command of explain is that of the source", "c", []Want{{What: WantCopy, About: pod}}},
		{"another command is the need's own", "j j c", []Want{{What: WantCopy, Text: "kubectl get nodes"}}},
		{"a time goes there", "t 1 1 : 0 0 enter", []Want{{What: WantAt, At: noon.Add(-time.Hour)}}},
		{"the cycle before", "[", []Want{{What: WantAt, At: noon.Add(-time.Nanosecond)}}},
		{"there is none after now", "]", nil},
		{"what happened", "2", []Want{{What: WantTold}}},
		{"all verdicts", "3", []Want{{What: WantVerdicts}}},
		{"requests to Azure", "4", []Want{{What: WantAzure}}},
		{"evidence", "4 enter", []Want{{What: WantWhy, About: reason.Group("render")}}},
		{"help takes any key", "? q", nil},
		{"quit", "q", []Want{{What: WantQuit}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, wants := press(show(busy(), 80, 24), strings.Fields(c.keys)...)
			if diff := cmp.Diff(c.want, wants); diff != "" {
				t.Errorf("after %s (-want +got):\n%s", c.keys, diff)
			}
		})
	}
	m, _ := press(show(busy(), 80, 24), "2")
	if _, wants := press(told(m), "enter"); len(wants) != 1 || wants[0].About != reason.Node("web-1-0") || !wants[0].At.Equal(noon.Add(-time.Minute)) {
		t.Errorf("what happened is not asked about as of then: %+v", wants)
	}
}

// TestWhatIsReadStillIsNotNothing: a day of a large cluster takes a while to read.
func TestWhatIsReadStillIsNotNothing(t *testing.T) {
	for key, answer := range map[string]any{"2": Told{}, "3": Verdicts{}} {
		m, _ := press(show(busy(), 80, 24), key)
		if text := m.Plain(); !strings.Contains(text, "reading ...") {
			t.Errorf("%s: before the answer:\n%s", key, text)
		}
		m, _ = m.Update(answer)
		if text := m.Plain(); strings.Contains(text, "reading ...") {
			t.Errorf("%s: after the answer:\n%s", key, text)
		}
	}
}

func TestThePastStandsStillUntilNow(t *testing.T) {
	old := busy()
	old.Cycle, old.Time = 3, noon.Add(-time.Hour)
	m, _ := show(busy(), 80, 24).Update(Past{Seen{Now: old}})
	m, _ = m.Update(Newest{Seen{Now: busy()}})
	if text := m.Plain(); !strings.Contains(text, " 03-01 11:00:00Z ") || !strings.Contains(text, "This is the past: cycle 3 of 2026-03-01 11:00:00 UTC.") {
		t.Errorf("the past is not kept:\n%s", text)
	}
	if _, wants := press(m, "]"); !cmp.Equal(wants, []Want{{What: WantAfter, At: old.Time}}) {
		t.Errorf("the cycle after is %+v", wants)
	}
	if m, _ = press(m, "n"); !strings.Contains(m.Plain(), " NOW ") {
		t.Errorf("n does not go back:\n%s", m.Plain())
	}
}

// TestACycleIsLiveForThreeIntervals or two minutes, whichever is longer, as on the page.
func TestACycleIsLiveForThreeIntervals(t *testing.T) {
	for every, live := range map[time.Duration]time.Duration{0: 2 * time.Minute, 10 * time.Second: 2 * time.Minute, 10 * time.Minute: 30 * time.Minute} {
		for _, age := range []time.Duration{live, live + time.Second} {
			m, _ := show(busy(), 80, 24).Update(Newest{Seen{Now: busy(), Every: every}})
			m, _ = m.Update(Tick{noon.Add(age)})
			if text := m.Plain(); strings.Contains(text, " NOW ") != (age == live) || strings.Contains(text, "No cycle came for") == (age == live) {
				t.Errorf("every %s, after %s:\n%s", every, age, text)
			}
		}
	}
}

func TestRequestsToAzureAreShownAgainstTheirLimits(t *testing.T) {
	m, _ := press(show(busy(), 80, 24), "4")
	if text := m.Plain(); !strings.Contains(text, "not known here: ask the running sluice") {
		t.Errorf("it is not said that they are unknown:\n%s", text)
	}
	m, _ = m.Update(Azure{[]report.APIClass{
		{Class: "machine lists", Region: "westeurope", Answered: map[string]int{"200": 812}, Limited: true, Left: 45, Most: 60},
		{Class: "scale set updates", Region: "westeurope", Answered: map[string]int{"200": 10, "429": 2}, Held: map[string]int{"throttled": 3}, Until: noon.Add(time.Minute)},
		{Class: "deletions", Region: "westeurope"},
	}})
	text := m.Plain()
	shut := strings.Index(text, "12    2    3  no known limit  shut to 12:01:00")
	open := strings.Index(text, "812    0    0  =--- 15 of 60   open")
	if shut < 0 || open < shut || strings.Contains(text, "deletions") {
		t.Errorf("not the shut one, then the busiest, without the one of which nothing was asked:\n%s", text)
	}
	m, _ = m.Update(Past{Seen{Now: busy()}})
	if text := m.Plain(); strings.Contains(text, "machine lists") || !strings.Contains(text, "n goes back to now") {
		t.Errorf("of another time:\n%s", text)
	}
}

// TestACopiedCommandGoesToTheSameCluster, and is called as the user calls it.
func TestACopiedCommandGoesToTheSameCluster(t *testing.T) {
	n := busy()
	n.Needs[0].Command = "sluice acknowledge render"
	m := show(n, 80, 24)
	m.options.Program, m.options.Flags = "kubectl sluice", []string{"--context=a b"}
	for keys, want := range map[string]string{"c": "kubectl sluice acknowledge render '--context=a b'", "j j c": "kubectl get nodes '--context=a b'"} {
		if _, wants := press(m, strings.Fields(keys)...); len(wants) != 1 || wants[0].Text != want {
			t.Errorf("%s: %+v, want %s", keys, wants, want)
		}
	}
}

func TestADeadSourceIsASentenceAndCountdownsStop(t *testing.T) {
	m, _ := show(busy(), 80, 24).Update(Failed{WantNewest, "http://127.0.0.1:8085 does not answer"})
	m, _ = m.Update(Tick{noon.Add(40 * time.Second)})
	text := m.Plain()
	for _, want := range []string{"does not answer", "for 37 s", "in 0:42", "LAST", "40 s old"} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
	m, _ = m.Update(Newest{Seen{Now: busy()}})
	if text := m.Plain(); strings.Contains(text, "does not answer") || !strings.Contains(text, "in 0:02") {
		t.Errorf("an answer does not end it:\n%s", text)
	}
}

// escape is what a terminal would obey, in seven and in eight bits.
var escape = regexp.MustCompile("[\x00-\x09\x0b-\x1f\x7f]|\u009b|\u202e")

func TestNamesOfOthersMoveNoCursor(t *testing.T) {
	evil := "x\x1b[2J\x1b]52;c;ZXZpbA==\x07\u009b31m\u202e\rq\x9b2J"
	n := busy()
	n.Groups[0].ID, n.Groups[0].Why, n.Groups[0].Problem = cluster.GroupID(evil), evil, evil
	n.Needs[0].About.Name, n.Needs[0].Cause, n.Needs[0].Command = evil, evil, "kubectl "+evil
	n.Waiting[0].First, n.Waiting[0].Sentence = evil, evil
	n.Next[0].What, n.Headline = evil, evil
	n.Zones[0] = evil
	m := show(n, 80, 24)
	screens := []string{m.Plain()}
	for _, keys := range []string{"enter", "c", "4", "/ x"} {
		next, wants := press(m, strings.Fields(keys)...)
		for _, w := range wants {
			if w.What == WantCopy {
				next = next.Copied(w.Text)
				screens = append(screens, w.Text)
			}
		}
		next, _ = next.Update(Why{n.Needs[0].About, evil})
		screens = append(screens, next.Plain())
	}
	next, _ := m.Update(Failed{WantNewest, evil})
	screens = append(screens, next.Plain())
	for _, s := range screens {
		if at := escape.FindString(s); at != "" || strings.Contains(s, "\x9b2J") {
			t.Errorf("%q reaches the terminal:\n%q", at, s)
		}
	}
}

func TestAShortScreenKeepsWhatNeedsSomebody(t *testing.T) {
	text := show(busy(), 80, 14).Plain()
	if got := strings.Count(text, "\n"); got != 14 {
		t.Errorf("%d lines, want 14:\n%s", got, text)
	}
	for _, want := range []string{"sim-fluid-0412-0", "web00000c", "render-spot/41 +2", "and 3 more"} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
	m, _ := press(show(busy(), 80, 14), "G")
	if text := m.Plain(); strings.Count(text, "\n") != 14 {
		t.Errorf("the last row makes the screen another height:\n%s", text)
	}
}

// TestTheFleetCountsEveryMachine by a sign or in the number of those without room, on screens of every size.
func TestTheFleetCountsEveryMachine(t *testing.T) {
	more := regexp.MustCompile(`\+(\d+)`)
	for _, machines := range []int{1, 14, 15, 16, 17, 80, 120, 2000} {
		n := cycle(group("pool", 0, 9000, 1, strings.Repeat("8", machines), strings.Repeat("8", machines+1), strings.Repeat("8", machines+2)))
		for _, size := range []Size{{60, 20}, {80, 24}, {80, 0}, {100, 30}, {120, 60}, {213, 50}} {
			got, lines := 0, show(n, size.Width, size.Height).fleet().rows
			for _, r := range lines {
				text := r.text[show(n, size.Width, size.Height).name(12):]
				text, _, _ = strings.Cut(text, " of ")
				if strings.Contains(text, "..") {
					t.Errorf("%d in %v: cut: %q", machines, size, r.text)
				}
				for _, m := range more.FindAllStringSubmatch(text, -1) {
					count, _ := strconv.Atoi(m[1])
					got += count
				}
				got += strings.Count(more.ReplaceAllString(text, ""), "8")
			}
			if got != 3*machines+3 {
				t.Errorf("%d in %v: %d are counted, want %d", machines, size, got, 3*machines+3)
			}
		}
	}
}

func TestABarShowsAllThatIsThere(t *testing.T) {
	for _, g := range []view.Group{
		{Max: 0}, {Max: 1000, Count: view.Count{Busy: 1, Silent: 1}}, {Max: 3, Count: view.Count{Busy: 40, Idle: 1, Leaving: 1, Coming: 1, Silent: 1}},
	} {
		b := bar(g, 17)
		if len(b) != 17 {
			t.Errorf("%+v: %q has %d characters", g, b, len(b))
		}
		for sign, count := range map[string]int{"=": g.Busy, "i": g.Idle, "d": g.Leaving, "!": g.Silent, "+": g.Coming} {
			if strings.Contains(b, sign) != (count > 0) {
				t.Errorf("%+v: %q", g, b)
			}
		}
	}
}

func TestCommandsAreQuotedForShells(t *testing.T) {
	s := Server{Flags: []string{"--server=http://127.0.0.1:8085"}}
	if got, want := s.Command(reason.Node("a;rm -rf 'x'"), time.Time{}), `sluice explain node 'a;rm -rf '\''x'\''' --server=http://127.0.0.1:8085`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
