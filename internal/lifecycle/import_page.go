package lifecycle

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// fillIn marks the lines of a written file that a person completes.
const fillIn = "FILL IN"

// page is a cluster file as it is written, line by line.
type page struct {
	lines  []string
	blanks []blank
}

// blank is a field that must be filled in, or, where it has a default, may be.
type blank struct {
	path, note string
	line       int // counted from 0
}

func (p *page) line(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

// put writes a field. A value of nil leaves it out.
func (p *page) put(in, key, value, note string) {
	if value == "" {
		return
	}
	p.noted(in+key+": "+value, note)
}

// blank writes the comment of a field that must be filled in, or whose default need not be right.
func (p *page) blank(path, in, key, such, note string) {
	p.noted(in+"# "+key+": "+such, fillIn+": "+note)
	p.blanks = append(p.blanks, blank{path, note, len(p.lines) - 1})
}

// maybe writes the comment of a field that has a default.
func (p *page) maybe(in, key, such, note string) { p.noted(in+"# "+key+": "+such, note) }

// noted writes a line and a note behind it, or before it where that would be far away.
func (p *page) noted(text, note string) {
	const column, most = 34, 60
	switch n := len([]rune(text)); {
	case note == "":
	case n > most:
		p.lines = append(p.lines, text[:len(text)-len(strings.TrimLeft(text, " "))]+"# "+oneLine(note))
	default:
		text += strings.Repeat(" ", max(column-n, 1)) + "# " + oneLine(note)
	}
	p.lines = append(p.lines, text)
}

// scalar is a text as YAML writes it.
func scalar(text string) string {
	if text == "" {
		return ""
	}
	raw, err := yaml.Marshal(oneLine(text))
	if err != nil {
		return strconv.Quote(text)
	}
	return strings.TrimSuffix(string(raw), "\n")
}

// oneLine keeps what others wrote, such as tags, on its line.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}

// digits is a number that a tag holds, or the text that stands there.
func digits(text string) string {
	if n, err := strconv.Atoi(text); err == nil {
		return strconv.Itoa(n)
	}
	return scalar(text)
}

func flow(all []string) string {
	var out []string
	for _, one := range all {
		out = append(out, strconv.Quote(oneLine(one)))
	}
	if len(out) == 0 {
		return ""
	}
	return "[" + strings.Join(out, ", ") + "]"
}
