package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/internal/view"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// A row is a line that can be selected.
type row struct {
	key   string
	about reason.Ref // what enter explains, none for nothing
	at    time.Time  // as of when, zero for the cycle that is shown
	need  *view.Need
	text  string // behind the mark
	style style
}

// section is a part of a screen: a title, and rows or, for the fleet, lines that nobody selects.
type section struct {
	title string
	rows  []row
	lines bool // the rows cannot be selected
	least int  // urgency: those of the lowest shrink first
}

// rows are all rows of the view that can be selected, in their order.
func (m Model) rows() (all []row) {
	for _, s := range m.sections() {
		if !s.lines {
			all = append(all, s.rows...)
		}
	}
	return all
}

// sections are those of the view.
func (m Model) sections() []section {
	n := m.shown
	switch {
	case n == nil:
		return nil
	case m.filter != "" && m.view == viewNow:
		return []section{m.foundRows()}
	case m.view == viewTime:
		return []section{m.toldRows()}
	case m.view == viewWhy:
		return []section{m.verdictRows()}
	case m.view == viewAzure:
		return []section{m.azureRows(), m.requestRows()}
	}
	all := []section{m.groupRows(), m.needRows()}
	if len(n.Groups) > 0 {
		all = append(all, m.fleet())
	}
	return append(all, m.waitingRows(), m.nextRows())
}

// shows says whether the filter lets a name through.
func (m Model) shows(texts ...string) bool {
	if m.filter == "" {
		return true
	}
	return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(m.filter)) })
}

func (m Model) foundRows() section {
	n := m.shown
	s := section{}
	seen := map[reason.Ref]bool{}
	add := func(about reason.Ref, is string) {
		if about.Kind != "" && !seen[about] && m.shows(about.Name) {
			seen[about] = true
			s.rows = append(s.rows, row{key: "f " + about.String(), about: about, text: cell(kindWord(about.Kind), 5) + cell(about.Name, m.name(24)) + "  " + is})
		}
	}
	for _, f := range m.found { // nearest first
		is := string(f.Group)
		if f.Node != "" && f.Node != f.Ref.Name {
			is = "on " + f.Node
		}
		if !f.Gone.IsZero() {
			is = strings.TrimSpace(is + " gone at " + clock(f.Gone) + " UTC")
		}
		add(f.Ref, is)
	}
	for _, g := range n.Groups {
		add(reason.Group(string(g.ID)), string(g.Outcome))
		for _, t := range g.Tiles {
			add(t.About, string(t.State)+" in "+string(g.ID))
		}
	}
	for _, w := range n.Waiting {
		add(reason.Ref{Kind: reason.KindPod, Name: w.First}, string(w.Outcome))
	}
	for _, d := range n.Needs {
		add(d.About, d.Cause)
	}
	s.title = fmt.Sprintf("FOUND %d like %s", len(s.rows), m.filter)
	return s
}

func (m Model) groupRows() section {
	s := section{least: 3, title: cell("GROUP", m.name(12)) + "NODES  " + between("0", "max", m.bar()) + "  MIN  MAX    USD/H  STATE"}
	for _, g := range m.shown.Groups {
		about := reason.Group(string(g.ID))
		count := fmt.Sprintf("%3d", g.Nodes)
		if bad := g.Silent + g.NotJoined; bad > 0 {
			count += fmt.Sprintf(" !%d", bad)
		} else if g.Coming > 0 {
			count += fmt.Sprintf(" +%d", g.Coming)
		}
		usd := "?"
		if g.USD != nil {
			usd = fmt.Sprintf("%.2f", *g.USD)
		}
		text := cell(string(g.ID), m.name(12)) + cell(count, 7) + bar(g, m.bar()) + fmt.Sprintf("%5d%5d%9s  ", g.Min, g.Max, usd) + m.state(g)
		r := row{key: about.String(), about: about, text: text}
		if g.Trouble {
			r.style = warn
		}
		if g.Bad {
			r.style = bad
		}
		s.rows = append(s.rows, r)
	}
	if len(s.rows) == 0 {
		s.title = "GROUPS 0  no node group is managed"
	}
	return s
}

// oldList is from when on the age of a group's list is told. While nothing moves, a group is read every few minutes.
const oldList = 10 * time.Minute

// state is what a group does, until when, and why.
func (m Model) state(g view.Group) string {
	words := []string{string(g.Outcome)}
	if left := view.Left(g.Until, m.at()); left > 0 {
		words = append(words, countdown(left))
	}
	if g.Age > oldList {
		words = append(words, "list "+age(g.Age)+" old")
	}
	if g.Why != "" {
		words = append(words, g.Why)
	}
	return strings.Join(words, " ")
}

// bar draws the machines of a group on a track from 0 to max. What is there has at least one character.
func bar(g view.Group, width int) string {
	parts := []struct {
		n    int
		sign byte
	}{{g.Busy, '='}, {g.Idle, 'i'}, {g.Leaving, 'd'}, {g.Silent + g.NotJoined, '!'}, {g.Coming, '+'}}
	total, sum := g.Max, 0
	for _, p := range parts {
		sum += p.n
	}
	total = max(total, sum)
	if total == 0 {
		return strings.Repeat("-", width)
	}
	cells := make([]int, len(parts))
	used := 0
	for i, p := range parts {
		if p.n > 0 {
			cells[i] = max(1, p.n*width/total)
			used += cells[i]
		}
	}
	for used > width { // what is largest gives way
		i := 0
		for j := range cells {
			if cells[j] > cells[i] {
				i = j
			}
		}
		cells[i]--
		used--
	}
	var b strings.Builder
	for i, p := range parts {
		b.WriteString(strings.Repeat(string(p.sign), cells[i]))
	}
	return b.String() + strings.Repeat("-", width-used)
}

func (m Model) needRows() section {
	s := section{least: 4, title: fmt.Sprintf("NEEDS YOU %d", len(m.shown.Needs))}
	if len(m.shown.Needs) == 0 {
		s.title += "  nothing"
	}
	for i := range m.shown.Needs {
		d := &m.shown.Needs[i]
		name := d.About.Name
		if name == "" {
			name = d.Title
		}
		if d.More > 0 {
			name = fmt.Sprintf("%s +%d", name, d.More)
		}
		when := ""
		if left := view.Left(d.Until, m.at()); left > 0 {
			when = countdown(left) + " left"
		} else if !d.Since.IsZero() {
			when = age(m.at().Sub(d.Since))
		}
		r := row{key: fmt.Sprint("need ", d.About, d.Code), about: d.About, need: d, style: warn}
		if d.Bad {
			r.style = bad
		}
		r.text = "! " + cell(kindWord(d.About.Kind), 5) + cell(name, m.name(24)) + fmt.Sprintf("%10s  ", when) + d.Cause
		s.rows = append(s.rows, r)
	}
	return s
}

func (m Model) waitingRows() section {
	s := section{least: 2}
	all := 0
	for i, w := range m.shown.Waiting {
		all += w.Pods
		name := w.First
		if w.Pods > 1 {
			name = fmt.Sprintf("%s +%d", name, w.Pods-1)
		}
		when := ""
		if !w.Since.IsZero() {
			when = age(m.at().Sub(w.Since))
		}
		r := row{key: fmt.Sprint("wait ", w.Outcome, w.Code, i), about: reason.Ref{Kind: reason.KindPod, Name: w.First}}
		if w.Outcome == action.PodStuck {
			r.style = warn
		}
		r.text = fmt.Sprintf("%4d %6s  ", w.Pods, when) + cell(name, m.name(24)) + " " + cell(string(w.Code), 17) + " " + w.Sentence
		s.rows = append(s.rows, r)
	}
	s.title = fmt.Sprintf("PODS THAT WAIT %d", m.shown.Pending)
	switch {
	case all == 0:
		s.title += "  none"
	case all > m.shown.Pending:
		s.title += fmt.Sprintf("  and %d that are not sluice's to place", all-m.shown.Pending)
	}
	return s
}

func (m Model) nextRows() section {
	s := section{title: "NEXT"}
	for _, step := range m.shown.Next {
		what := step.What
		if step.More > 0 {
			what += fmt.Sprintf(" (and %d alike)", step.More)
		}
		s.rows = append(s.rows, row{
			key: fmt.Sprint("next ", step.About, step.At.Unix()), about: step.About,
			text: " " + clock(step.At) + " in " + cell(countdown(view.Left(step.At, m.at())), 8) + what,
		})
	}
	if len(s.rows) == 0 {
		s.title += "  nothing changes by itself, unless pods or machines come"
	}
	return s
}

func (m Model) toldRows() section {
	s := section{title: "WHAT HAPPENED, NEWEST FIRST (UTC)"}
	for i, t := range m.lists.told {
		names := []string{t.Sentence}
		r := row{key: fmt.Sprint("told ", t.Time.UnixNano(), i), at: t.Time, text: t.Time.UTC().Format("01-02 15:04:05") + "  " + t.Sentence}
		for _, about := range t.About {
			names = append(names, about.Name)
		}
		if len(t.About) > 0 {
			r.about = t.About[0]
		}
		if m.shows(names...) {
			s.rows = append(s.rows, r)
		}
	}
	switch {
	case m.lists.told == nil:
		s.title += "  reading ..."
	case len(s.rows) == 0:
		s.title += "  nothing"
	}
	return s
}

func (m Model) verdictRows() section {
	s := section{}
	for _, kind := range []reason.Kind{reason.KindPod, reason.KindGroup, reason.KindInstance, reason.KindRequest, reason.KindBuffer, reason.KindNode} {
		for _, v := range m.lists.verdicts {
			if v.Subject.Kind == kind && m.shows(v.Subject.Name) {
				r := row{key: "why " + v.Subject.String(), about: v.Subject}
				r.text = cell(kindWord(kind), 5) + cell(v.Subject.Name, m.name(24)) + " " + cell(string(v.Outcome), 11) + report.Phrases(v.Because, v.Subject)
				s.rows = append(s.rows, r)
			}
		}
	}
	if s.title = fmt.Sprintf("WHY: ALL VERDICTS %d", len(s.rows)); m.lists.verdicts == nil {
		s.title = "WHY: ALL VERDICTS  reading ..."
	}
	return s
}

func (m Model) azureRows() section {
	s := section{title: cell("AZURE: GROUP", m.name(14)) + "READ AT (UTC)   AGE      LIST        TROUBLE"}
	for _, g := range m.shown.Groups {
		if !m.shows(string(g.ID)) {
			continue
		}
		read, old, list := "never", "", "complete"
		if !g.ReadAt.IsZero() {
			read, old = g.ReadAt.UTC().Format("15:04:05"), age(m.at().Sub(g.ReadAt))
		}
		if !g.Complete {
			list = "not whole"
		}
		r := row{key: "azure " + string(g.ID), about: reason.Group(string(g.ID))}
		words := g.Problem
		if words == "" && g.Trouble {
			words = m.state(g)
		}
		if words == "" {
			words = "none"
		} else {
			r.style = warn
		}
		r.text = cell(string(g.ID), m.name(14)) + cell(read, 16) + cell(old, 9) + cell(list, 12) + words
		s.rows = append(s.rows, r)
	}
	return s
}

// requestRows are the requests to Azure against its limits: a class that Azure has shut first, then the busiest.
func (m Model) requestRows() section {
	s := section{lines: true, least: 1, title: "REQUESTS TO AZURE SINCE THE START"}
	switch {
	case m.past:
		s.title += "  n goes back to now, which knows them"
		return s
	case m.lists.azure == nil:
		s.title += "  not known here: ask the running sluice"
		return s
	}
	all := slices.Clone(m.lists.azure)
	slices.SortStableFunc(all, func(a, b report.APIClass) int {
		x, _, _ := a.Counts()
		y, _, _ := b.Counts()
		return cmp.Or(b.Until.Compare(a.Until), cmp.Compare(y, x))
	})
	for _, c := range all {
		answered, refused, held := c.Counts()
		shut := c.Until.After(m.at())
		if answered+held == 0 && !shut || !m.shows(c.Class) {
			continue
		}
		spent, r := "no known limit", row{}
		if c.Limited {
			spent = share(c.Most-c.Left, c.Most, 4)
		}
		state := "open"
		if shut {
			state, r.style = "shut to "+clock(c.Until), warn
		}
		r.text = cell(c.Class, m.name(18)) + cell(c.Region, 11) + fmt.Sprintf("%6d%5d%5d  ", answered, refused, held) + cell(spent, 16) + state
		s.rows = append(s.rows, r)
	}
	if len(s.rows) == 0 {
		s.title += "  none"
		return s
	}
	head := " " + cell("CLASS", m.name(18)) + cell("REGION", 11) + "  SENT  BAD HELD  " + cell("SPENT OF LIMIT", 16) + "STATE"
	s.rows = append([]row{{text: strings.TrimPrefix(head, " "), style: title}}, s.rows...)
	return s
}

// share is a part of a whole: a bar, and the two numbers.
func share(part, whole float64, width int) string {
	n := 0
	if whole > 0 {
		n = max(0, min(width, int(part/whole*float64(width)+0.5)))
	}
	return strings.Repeat("=", n) + strings.Repeat("-", width-n) + fmt.Sprintf(" %.0f of %.0f", part, whole)
}

func kindWord(k reason.Kind) string {
	switch k {
	case reason.KindInstance:
		return "mach"
	case reason.KindGroup:
		return "grp"
	case reason.KindRequest:
		return "req"
	case reason.KindBuffer:
		return "buf"
	}
	return string(k)
}
