package report

import (
	"fmt"
	"io"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// Overview is what one cycle comes to: what is done, how every group stands, which pods are stuck and which nodes could go.
type Overview struct {
	Cycle     uint64                 `json:"cycle"`
	Time      time.Time              `json:"time"`
	DryRun    bool                   `json:"dryRun,omitempty"`
	Without   string                 `json:"without,omitempty"` // why it was decided without what the running sluice has learned; "" when it was not
	Deeds     []Deed                 `json:"actions"`
	Groups    []GroupLine            `json:"groups"`
	Pending   map[action.Outcome]int `json:"pending"`        // pending pods, by what becomes of them
	Stuck     []action.Verdict       `json:"stuck"`          // pods that nothing makes room for
	Removable []action.Verdict       `json:"removable"`      // candidates for the removal, and nodes that are cordoned, draining, deleting or parking
	Cost      *action.Cost           `json:"cost,omitempty"` // of the machines that the plan adds, nil when it adds none or not every price is known
	Next      time.Time              `json:"next,omitzero"`
}

// GroupLine is one group: the evidence for it and the verdict about it.
type GroupLine struct {
	Evidence
	Outcome action.Outcome  `json:"outcome"`
	Because []reason.Reason `json:"because"`
}

// leaving are the phases of a removal before the node is gone.
var leaving = map[action.Outcome]bool{action.NodeIdle: true, action.NodeCordoned: true, action.NodeDraining: true, action.NodeDeleting: true, action.NodeParking: true}

// NewOverview is the overview of an entry.
func NewOverview(entry journal.Entry) Overview {
	o := Overview{
		Cycle: entry.Cycle, Time: entry.Seen.Time, DryRun: entry.DryRun, Without: entry.Without, Cost: entry.Plan.Cost, Next: entry.Plan.Next,
		Deeds: append([]Deed{}, Deeds(entry)...), Groups: []GroupLine{}, Pending: map[action.Outcome]int{},
		Stuck: []action.Verdict{}, Removable: []action.Verdict{},
	}
	for _, v := range entry.Plan.Verdicts {
		switch {
		case v.Subject.Kind == reason.KindPod:
			o.Pending[v.Outcome]++
			if v.Outcome == action.PodStuck {
				o.Stuck = append(o.Stuck, v)
			}
		case v.Subject.Kind == reason.KindNode && leaving[v.Outcome]:
			o.Removable = append(o.Removable, v)
		case v.Subject.Kind == reason.KindGroup:
			if g := entry.Seen.Group(cluster.GroupID(v.Subject.Name)); g != nil {
				o.Groups = append(o.Groups, GroupLine{evidenceOf(entry, g), v.Outcome, v.Because})
			}
		}
	}
	return o
}

// WriteJSON writes the overview as JSON.
func (o Overview) WriteJSON(w io.Writer) error { return writeJSON(w, o) }

// WriteText writes the overview in words, the most urgent first. Pods that are stuck for the same reasons share a paragraph.
func (o Overview) WriteText(w io.Writer) error {
	var p page
	what := "nothing to do"
	if len(o.Stuck) > 0 {
		what = "no action, " + plural(len(o.Stuck), "pod") + " stuck"
	}
	if n := len(o.Deeds); n > 0 {
		what = plural(n, "action")
	}
	p.line("%s: %s%s", stamp(o.Time), what, dryRun(o.DryRun && len(o.Deeds) > 0))
	p.without(o.Without)
	if len(o.Deeds) > 0 {
		p.section("Actions")
		p.deeds(o.Deeds)
	}
	if len(o.Stuck) > 0 {
		p.section("Stuck pods")
		p.stuck(o.Stuck)
	}
	p.section("Pending pods")
	p.line("  %s", pendingSentence(o.Pending))
	p.section("Groups")
	if len(o.Groups) == 0 {
		p.line("  none is managed")
	}
	for _, g := range o.Groups {
		about := reason.Group(string(g.Group))
		p.row(string(g.Group), string(g.Outcome), Phrases(g.Because, about))
	}
	p.flush()
	if len(o.Removable) > 0 {
		p.section("Removable nodes")
		for _, v := range o.Removable {
			p.row(v.Subject.Name, string(v.Outcome), Phrases(v.Because, v.Subject))
		}
		p.flush()
	}
	if c := o.Cost; c != nil {
		p.section("Cost")
		p.line("  %s", costSentence(*c))
	}
	p.section("Next")
	p.line("  %s", nextSentence(o.Next, o.Time))
	return p.writeTo(w)
}

// without says that the running sluice may decide otherwise, as it knows more.
func (p *page) without(why string) {
	if why != "" {
		p.line("  decided without what a running sluice has learned of its groups, which may make it otherwise: %s", why)
	}
}

// stuck lists pods with their reasons, those with the same reasons together, in the order of the first of each.
func (p *page) stuck(verdicts []action.Verdict) {
	pods := map[string][]string{}
	var order []action.Verdict
	words := func(v action.Verdict) string { return Phrases(v.Because, v.Subject) }
	for _, v := range verdicts {
		key := words(v)
		if pods[key] == nil {
			order = append(order, v)
		}
		pods[key] = append(pods[key], v.Subject.Name)
	}
	const named = 3
	for _, v := range order {
		names := pods[words(v)]
		line := ""
		for i, name := range names[:min(named, len(names))] {
			if i > 0 {
				line += ", "
			}
			line += name
		}
		if more := len(names) - named; more > 0 {
			line += fmt.Sprintf(" and %d more", more)
		}
		p.line("  %s", line)
		for _, r := range v.Because {
			p.line("    %s: %s", r.Code, Phrase(r, v.Subject))
		}
	}
}

func pendingSentence(pending map[action.Outcome]int) string {
	words := ""
	for _, o := range podOutcomes {
		if n := pending[o]; n > 0 {
			if words != "" {
				words += ", "
			}
			words += fmt.Sprintf("%s: %d", o, n)
		}
	}
	return or(words, "none")
}

// costSentence says what a growth costs and what nothing costs less than.
func costSentence(c action.Cost) string {
	words := fmt.Sprintf("the machines to add cost %.2f USD an hour", c.USDPerHour)
	if least := fmt.Sprintf("%.2f", c.LeastUSDPerHour); least != fmt.Sprintf("%.2f", c.USDPerHour) {
		return words + "; nothing that serves the same pods costs less than " + least
	}
	return words + "; nothing that serves the same pods costs less"
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
