package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Printer writes findings for people as they come: one line for each, and the remedy below it.
type Printer struct {
	W io.Writer

	last   string // the area of the last line
	counts map[Status]int
	rest   map[string][]string // checks that were not made, by cause
	causes []string            // in the order in which they came
}

// Print writes some findings. Checks that were not made for one and the same cause are told in one line at the end.
func (p *Printer) Print(all []Finding) error {
	if p.counts == nil {
		p.counts, p.rest = map[Status]int{}, map[string][]string{}
	}
	var b strings.Builder
	for _, f := range all {
		p.counts[f.Status]++
		if f.Cause != "" {
			if p.rest[f.Cause] == nil {
				p.causes = append(p.causes, f.Cause)
			}
			if !slices.Contains(p.rest[f.Cause], f.Check) {
				p.rest[f.Cause] = append(p.rest[f.Cause], f.Check)
			}
			continue
		}
		area := f.Check
		if area == p.last {
			area = ""
		}
		p.last = f.Check
		fmt.Fprintf(&b, "%-14s %-8s %s\n", area, f.Status, f.Message)
		if f.Remedy != "" {
			fmt.Fprintf(&b, "%-14s %-8s %s: %s\n", "", "", f.Code, f.Remedy)
		}
	}
	_, err := io.WriteString(p.W, b.String())
	return err
}

// End writes what was not checked, and sums up.
func (p *Printer) End() error {
	var b strings.Builder
	for _, cause := range p.causes {
		depend := "depends"
		if len(p.rest[cause]) > 1 {
			depend = "depend"
		}
		fmt.Fprintf(&b, "%-23s %s: %s on %s\n", "not checked", strings.Join(p.rest[cause], ", "), depend, cause)
	}
	b.WriteString("\n")
	b.WriteString(sumOf(p.counts))
	_, err := io.WriteString(p.W, b.String())
	return err
}

// Print writes the findings of all checks for people.
func Print(w io.Writer, all []Finding) error {
	p := Printer{W: w}
	if err := p.Print(all); err != nil {
		return err
	}
	return p.End()
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
