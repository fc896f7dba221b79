package report

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
)

// Explain writes in words what a cycle knows of a thing: what becomes of it and every reason with its code, what was done about it,
// how old the evidence is, and when the decision may change. A thing the cycle does not know is a [*NotFoundError], and nothing is written.
func Explain(w io.Writer, entry journal.Entry, about reason.Ref) error {
	x, err := NewExplanation(entry, about)
	if err != nil {
		return err
	}
	return x.WriteText(w)
}

// WriteText writes the explanation in words.
func (x Explanation) WriteText(w io.Writer) error {
	var p page
	p.line("%s: %s", x.Subject, or(string(x.Outcome), "nothing to decide"))
	p.line("  %s", x.Is)
	p.line("  seen %s, cycle %d%s", stamp(x.Time), x.Cycle, dryRun(x.DryRun))
	p.without(x.Without)
	if !x.Gone.IsZero() {
		p.line("  this is the last cycle that knows it; that of %s does not. Its history: sluice history %s %s", stamp(x.Gone), x.Subject.Kind, x.Subject.Name)
	}
	if len(x.Because) > 0 {
		p.section("Why")
		p.reasons(x.Because, x.Subject)
	}
	if len(x.Choices) > 0 {
		p.section("What a machine of each group costs")
		for _, c := range x.Choices {
			p.row(string(c.Group), c.Cost(), c.words())
		}
		p.flush()
	}
	if len(x.Changes) > 0 {
		p.section("What would change it")
		for _, c := range x.Changes {
			p.row(string(c.Code), c.What)
		}
		p.flush()
	}
	if x.Machine != nil {
		p.diagnosis(x.Machine, x.Because)
	}
	if len(x.Deeds) > 0 {
		p.section("In this cycle")
		p.deeds(x.Deeds)
	}
	if len(x.Related) > 0 {
		p.section("Related")
		for _, v := range x.Related {
			p.row(v.Subject.String(), string(v.Outcome), Phrases(v.Because, v.Subject))
		}
		p.flush()
	}
	if len(x.Evidence) > 0 {
		p.section("Evidence")
		for _, e := range x.Evidence {
			p.line("  %s", e.sentence())
		}
	}
	p.section("Next")
	for _, e := range x.Ends {
		p.line("  %s", e.sentence(x.Subject, x.Time))
	}
	if len(x.Ends) == 0 {
		p.line("  it waits for nothing; the decision changes when the cluster does, or a read of Azure shows a change")
	}
	return p.writeTo(w)
}

func dryRun(dry bool) string {
	if dry {
		return " (dry run: nothing is sent)"
	}
	return ""
}

func (e Evidence) sentence() string {
	words := fmt.Sprintf("group %s (min %d, max %d)", e.Group, e.Min, e.Max)
	switch {
	case e.ReadAt.IsZero():
		words += " was never read"
	default:
		words += fmt.Sprintf(" was read %s before", e.Age.Round(time.Millisecond))
	}
	if e.Capacity >= 0 {
		words += fmt.Sprintf(", capacity %d", e.Capacity)
	} else {
		words += ", capacity unknown"
	}
	if !e.Complete {
		words += ", not completely"
	}
	return words
}

func nextSentence(next, now time.Time) string {
	if next.IsZero() {
		return "no timer runs; the decision changes when the cluster does, or a read of Azure shows a change"
	}
	return fmt.Sprintf("a timer ends at %s (in %s); the decision may change then, or sooner when the cluster or Azure does", stamp(next), next.Sub(now).Round(time.Second))
}

// page collects lines, so that a page is written whole or not at all.
type page struct {
	text  bytes.Buffer
	table *tabwriter.Writer
}

func (p *page) line(format string, args ...any) {
	fmt.Fprintf(&p.text, format+"\n", printable(args)...)
}

func (p *page) section(title string) { p.line("\n%s", title) }

// row adds a row to the table that [page.flush] ends. The last cell is not padded.
func (p *page) row(cells ...string) {
	if p.table == nil {
		p.table = tabwriter.NewWriter(&p.text, 0, 0, 2, ' ', 0)
	}
	for i, c := range cells {
		sep := "\t"
		if i == 0 {
			sep = "  "
		}
		fmt.Fprint(p.table, sep, Printable(c))
	}
	fmt.Fprintln(p.table)
}

// flush writes the table to the page with its columns aligned.
func (p *page) flush() {
	if p.table != nil {
		p.table.Flush() // the buffer takes everything
		p.table = nil
	}
}

func (p *page) reasons(because []reason.Reason, subject reason.Ref) {
	for _, r := range because {
		p.row(string(r.Code), Phrase(r, subject))
	}
	p.flush()
}

func (p *page) deeds(deeds []Deed) {
	for _, d := range deeds {
		p.row(or(string(d.Status()), "planned"), d.Sentence, d.words())
	}
	p.flush()
}

// words are why the deed is done, or why it was not.
func (d Deed) words() string {
	because := string(d.Because.Code) + ": " + Phrase(d.Because, d.about())
	if why, troubled := d.trouble(); troubled {
		return string(why.Code) + ": " + Phrase(why, d.about())
	}
	if (d.Status() == memory.Skipped || d.Status() == memory.Deferred) && d.Result.Message != "" {
		return d.Result.Message + "; " + because
	}
	return because
}

func (p *page) writeTo(w io.Writer) error {
	_, err := w.Write(p.text.Bytes())
	return err
}
