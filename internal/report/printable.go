package report

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable is a text as a terminal may show it: what moves a cursor, changes colours or directions, or begins another line is written as Go writes
// it. So is a byte that is no UTF-8: terminals of eight bits obey 0x9b as they obey escape and a bracket. Names and messages of others pass through
// here, so that nobody forges a line.
func Printable(text string) string {
	if utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			fmt.Fprintf(&b, `\x%02x`, text[i])
			continue
		}
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// printable are the arguments of a line with their texts so.
func printable(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case string:
			out[i] = Printable(a)
		case fmt.Stringer:
			out[i] = Printable(a.String())
		default:
			out[i] = a
		}
	}
	return out
}
