package doctor

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The widths of what [PrintJoin] and [PrintJoins] write: that of a terminal, and those of the columns in front of sentences.
const (
	wide     = 100
	hanging  = 24 // before a sentence: area and status
	subjects = 40 // at most, of the column of names
)

// PrintJoin writes for people what [Join] says of one node or machine: area by area, and below what is wrong what mends it.
func PrintJoin(w io.Writer, all []Finding) error {
	_, err := io.WriteString(w, areas(all)+"\n"+sum(all))
	return err
}

// areas is a line for each finding, and what mends it below.
func areas(all []Finding) string {
	var b strings.Builder
	last := ""
	for _, f := range all {
		area := f.Check
		if area == last {
			area = ""
		}
		last = f.Check
		b.WriteString(wrap(fmt.Sprintf("%-14s %-8s ", area, f.Status), f.Message, hanging))
		if f.Remedy != "" {
			b.WriteString(wrap(strings.Repeat(" ", hanging), f.Code+": "+f.Remedy, hanging))
		}
		if f.Known != "" {
			b.WriteString(wrap(strings.Repeat(" ", hanging), "known: "+f.Known, hanging))
		}
	}
	return b.String()
}

// PrintJoins writes for people what [Join] says of all: a table of what something is wrong with, and below it each fault once, with what mends it.
func PrintJoins(w io.Writer, all []Finding) error {
	var b strings.Builder
	rows, order := map[string][]Finding{}, []string(nil)
	var first, each []Finding // of all of them, and of each
	for _, f := range all {
		if f.Subject == "" || f.Check == "configuration" || f.Check == "metadata" || f.Check == "endpoints" || f.Check == "identity" || f.Check == "kubernetes" {
			first = append(first, f)
			continue
		}
		each = append(each, f)
		if rows[f.Subject] == nil {
			order = append(order, f.Subject)
		}
		rows[f.Subject] = append(rows[f.Subject], f)
	}
	column := len("NAME")
	for _, subject := range order {
		column = max(column, min(utf8.RuneCountInString(subject), subjects))
	}
	if b.WriteString(areas(first)); len(first) > 0 && len(order) > 0 {
		b.WriteString("\n")
	}
	if len(order) > 0 {
		fmt.Fprintf(&b, "%-*s  %-8s CODES\n", column, "NAME", "STATUS")
	}
	shown, folded := map[string]int{}, map[string]int{} // rows, by what they say
	for _, subject := range order {
		codes := codesOf(rows[subject])
		says := fmt.Sprintf("%-8s %s", Worst(rows[subject]), codes)
		if shown[says]++; shown[says] > mostAlike {
			folded[says]++
			continue
		}
		b.WriteString(wrap(fmt.Sprintf("%-*s  %-8s ", column, subject, Worst(rows[subject])), codes, column+len("  problem  ")))
	}
	for _, subject := range order { // in the order of the first of each kind
		codes := codesOf(rows[subject])
		says := fmt.Sprintf("%-8s %s", Worst(rows[subject]), codes)
		if folded[says] > 0 {
			front := fmt.Sprintf("%-*s  %-8s ", column, fmt.Sprintf("and %d more", folded[says]), Worst(rows[subject]))
			b.WriteString(wrap(front, codes, column+len("  problem  ")))
			delete(folded, says)
		}
	}
	told := map[string]bool{}
	for _, f := range each {
		if told[f.Code] {
			continue
		}
		told[f.Code] = true
		b.WriteString("\n" + f.Code)
		if f.Known != "" {
			b.WriteString(" (known: " + f.Known + ")")
		}
		b.WriteString("\n" + wrap("  ", f.Message, 2) + wrap("  ", f.Remedy, 2))
	}
	b.WriteString("\n" + sum(all))
	_, err := io.WriteString(w, b.String())
	return err
}

// mostAlike is how many rows say the same before the rest are counted.
const mostAlike = 10

// codesOf are what is wrong with one, the worst first.
func codesOf(all []Finding) string {
	var codes []string
	for _, status := range []Status{Problem, Warning, Unknown} {
		for _, f := range all {
			if f.Status == status && f.Code != "" && !slices.Contains(codes, f.Code) {
				codes = append(codes, f.Code)
			}
		}
	}
	return strings.Join(codes, ", ")
}

// wrap writes a text behind what is in front of it, in lines that fit a terminal, the later ones indented.
func wrap(front, text string, indent int) string {
	var b strings.Builder
	b.WriteString(front)
	at, begun := utf8.RuneCountInString(front), true
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }) { // provider ids are others' texts
		length := utf8.RuneCountInString(word)
		switch {
		case begun:
		case at+1+length > wide:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteString(" ")
			at++
		}
		b.WriteString(word)
		at, begun = at+length, false
	}
	return b.String() + "\n"
}

// sum counts what is wrong.
func sum(all []Finding) string {
	counts := map[Status]int{}
	for _, f := range all {
		counts[f.Status]++
	}
	return sumOf(counts)
}

func sumOf(counts map[Status]int) string {
	switch problems, warnings, unknown := counts[Problem], counts[Warning], counts[Unknown]; {
	case problems+warnings+unknown == 0:
		return "Nothing is wrong.\n"
	case problems+warnings == 0:
		return fmt.Sprintf("Nothing wrong was found, and not everything could be looked at: %s unknown.\n", count(unknown, "thing"))
	default:
		return fmt.Sprintf("%s, %s.\n", count(problems, "problem"), count(warnings, "warning"))
	}
}

// JoinPage is the page of everything that [Join] can name.
func JoinPage() string {
	var b strings.Builder
	b.WriteString(`# How machines fail to become nodes

` + "`sluice doctor --join [NODE]`" + ` looks for these, on any cluster. ` + "`{…}`" + ` stands for what it knows of the node. A warning is a problem where Azure's cloud controller manager runs,
if it is of a name or a provider id. It changes nothing; for boot logs it needs an action (retrieveBootDiagnosticsData), and says so where the role lacks it. This page is made by ` + "`go test ./internal/doctor -run PageOfJoinTraps -update`" + `.

| code | status | what it is | remedy | where others met it |
|---|---|---|---|---|
`)
	row := func(code string, status Status, is, remedy, known string) {
		if known == "" {
			known = "—"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", code, status, is, remedy, known)
	}
	for _, t := range traps {
		row(t.code, t.status, t.is, t.remedy, t.known)
	}
	row(VMTypeWrong, Problem, "azure.json has another vmType than the scale set is", "set vmType to vmss, or to vmssflex for a flexible scale set, and restart the cloud controller manager", vmTypeKnown)
	return b.String()
}
