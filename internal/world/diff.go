package world

import (
	"fmt"
	"slices"
	"strings"
)

// around is how many lines that are the same are shown around a difference.
const around = 2

// Diff is what has to change for one transcript to become the other, line by line: "-" before a line that is wanted and missing, "+"
// before one that is there and not wanted. It is "" when they are the same.
func Diff(want, got string) string {
	if want == got {
		return ""
	}
	edits := edits(linesOf(want), linesOf(got))
	var b strings.Builder
	last := -1
	for i, e := range edits {
		near := slices.ContainsFunc(edits[max(0, i-around):min(len(edits), i+around+1)], func(e string) bool { return e[0] != ' ' })
		if !near {
			continue
		}
		if i != last+1 {
			b.WriteString("  ...\n")
		}
		last = i
		fmt.Fprintf(&b, "%s\n", strings.TrimRight(e, " "))
	}
	return b.String()
}

func linesOf(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// edits are all lines of both, each with " ", "-" or "+" before it, as few of these as possible.
func edits(want, got []string) []string {
	same := make([][]int, len(want)+1) // the length of the longest common subsequence from here on
	for i := range same {
		same[i] = make([]int, len(got)+1)
	}
	for i := len(want) - 1; i >= 0; i-- {
		for j := len(got) - 1; j >= 0; j-- {
			if want[i] == got[j] {
				same[i][j] = same[i+1][j+1] + 1
			} else {
				same[i][j] = max(same[i+1][j], same[i][j+1])
			}
		}
	}
	var all []string
	i, j := 0, 0
	for i < len(want) || j < len(got) {
		switch {
		case i < len(want) && j < len(got) && want[i] == got[j]:
			all = append(all, "  "+want[i])
			i, j = i+1, j+1
		case j == len(got) || i < len(want) && same[i+1][j] >= same[i][j+1]:
			all = append(all, "- "+want[i])
			i++
		default:
			all = append(all, "+ "+got[j])
			j++
		}
	}
	return all
}
