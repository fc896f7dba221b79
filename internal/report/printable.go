package report

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Printable is a text as a terminal may show it: what moves a cursor, changes colours or directions, or begins another line is written as Go writes
// it. Names and messages of others pass through here, so that nobody forges a line.
func Printable(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
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
