package reason

import (
	"slices"
	"strings"
)

// Remedy is what would change it that a node or a machine stays, in one clause without a full stop; the empty string for reasons that keep
// nothing. Braces hold facts of the reason; {node}, {group} and {instance} are what the reason is about where no fact has that name.
func (r Reason) Remedy() string {
	template := rows[r.Code].remedy
	switch {
	case template != "":
		return r.fill(template)
	case r.Property() != "":
		return "time: the next cycle reads anew, and decides again"
	}
	return ""
}

// Turn says whether nothing but time or a turn is in the way of what the reason keeps.
func (r Reason) Turn() bool { return rows[r.Code].turn }

// fill puts facts, and the name of what the reason is about, in the place of their names in braces.
func (r Reason) fill(template string) string {
	return fill(template, func(name string) string {
		if value, has := r.word(name); has {
			return value
		}
		return "<" + name + ">"
	})
}

// Keeping lists every code that keeps a node or a machine where it is, sorted. Each has a remedy, and a scenario on the page
// docs/reference/blocking.md: tests hold both.
func Keeping() []Code {
	return slices.DeleteFunc(Codes(), func(c Code) bool { return rows[c].remedy == "" })
}

// RemedyTemplate is the remedy of a code with its facts in braces, and false for a code that keeps nothing.
func RemedyTemplate(c Code) (string, bool) {
	remedy := rows[c].remedy
	return remedy, remedy != ""
}

// fill puts words in the place of the names in braces.
func fill(template string, word func(name string) string) string {
	var b strings.Builder
	for {
		open := strings.IndexByte(template, '{')
		if open < 0 {
			b.WriteString(template)
			return b.String()
		}
		end := strings.IndexByte(template[open:], '}') + open
		b.WriteString(template[:open])
		b.WriteString(word(template[open+1 : end]))
		template = template[end+1:]
	}
}
