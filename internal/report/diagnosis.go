package report

import (
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/reason"
)

// Diagnosis is what a machine says of itself that does not become a node. Its texts are the machine's own: nobody vouches for them.
type Diagnosis struct {
	At       time.Time `json:"at"` // when it was read
	Cause    string    `json:"cause,omitempty"`
	Remedy   string    `json:"remedy,omitempty"`
	Statuses []string  `json:"statuses,omitempty"` // of what the cloud installs on it
	BootLog  []string  `json:"bootLog,omitempty"`  // the last lines that matter
	Problem  string    `json:"problem,omitempty"`  // why there is no boot log
}

func diagnosed(d *cluster.Diagnosis) *Diagnosis {
	if d == nil {
		return nil
	}
	return &Diagnosis{At: d.At, Cause: d.Cause, Remedy: d.Remedy, Statuses: d.Statuses, BootLog: d.Lines, Problem: d.Problem}
}

// shownBy is the end of a sentence about a machine that never was a node: what it shows as the cause; "" when nothing is known.
func shownBy(d Deed, entry journal.Entry) string {
	if g := entry.Seen.Group(d.Group); g != nil {
		if in := g.Instance(d.Instance); in != nil && in.Diagnosis != nil && in.Diagnosis.Cause != "" {
			return "; what it says shows a cause: " + in.Diagnosis.Cause
		}
	}
	return ""
}

// diagnosis writes what a machine says. Each line of its text is quoted, so that none looks like one of sluice's own.
func (p *page) diagnosis(d *Diagnosis, because []reason.Reason) {
	p.section("What the machine says")
	p.line("  read %s; its own words, which may be wrong", stamp(d.At))
	switch {
	case slices.ContainsFunc(because, func(r reason.Reason) bool { return r.Code == reason.MachineDiagnosed }): // it is told already
	case d.Cause != "":
		p.line("  it shows a cause: %s", d.Cause)
		p.line("  remedy: %s", d.Remedy)
	case len(d.Statuses)+len(d.BootLog) > 0:
		p.line("  it shows no known cause")
	}
	if d.Problem != "" {
		p.line("  %s", d.Problem)
	}
	for _, s := range d.Statuses {
		p.line("  | %s", s)
	}
	for _, l := range d.BootLog {
		p.line("  > %s", l)
	}
}
