package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Print writes the findings for people: one line for each, and the remedy below it. The last line sums up.
func Print(w io.Writer, all []Finding) error {
	var b strings.Builder
	counts := map[Status]int{}
	last := ""
	for _, f := range all {
		counts[f.Status]++
		area := f.Check
		if area == last {
			area = ""
		}
		last = f.Check
		fmt.Fprintf(&b, "%-14s %-8s %s\n", area, f.Status, f.Message)
		if f.Remedy != "" {
			fmt.Fprintf(&b, "%-14s %-8s %s: %s\n", "", "", f.Code, f.Remedy)
		}
	}
	b.WriteString("\n")
	switch problems, warnings := counts[Problem], counts[Warning]; {
	case problems+warnings == 0 && counts[Unknown] == 0:
		b.WriteString("Nothing is wrong.\n")
	case problems+warnings == 0:
		fmt.Fprintf(&b, "Nothing wrong was found, and %s could not be looked at.\n", count(counts[Unknown], "thing"))
	default:
		fmt.Fprintf(&b, "%s, %s.\n", count(problems, "problem"), count(warnings, "warning"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// count is "1 problem" or "3 problems".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// PrintJSON writes the findings as one JSON document: {"worst": ..., "findings": [...]}.
func PrintJSON(w io.Writer, all []Finding) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Worst    Status    `json:"worst"`
		Findings []Finding `json:"findings"`
	}{Worst(all), all})
}
