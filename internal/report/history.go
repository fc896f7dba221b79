package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// nothingSeen is what a line knows of the cluster by itself.
var nothingSeen = cluster.New(time.Time{}, cluster.Objects{}, nil)

// deedsOfLine are the deeds of a line that concern a thing. Without what was seen they lack the groups of some nodes.
func deedsOfLine(line journal.Line, about reason.Ref) []Deed {
	deeds := Deeds(journal.Entry{Seen: nothingSeen, Plan: line.Plan, Results: line.Results})
	return slices.DeleteFunc(deeds, func(d Deed) bool { return !d.concerns(about) })
}

// Known is what a cycle knew of pods and nodes; a [journal.Decoder] is one.
type Known interface {
	Pod(name string) *cluster.Pod
	Node(name string) *corev1.Node
}

// Mentions says whether a cycle knew a pod or a node, judged a thing, or did something to it.
func Mentions(line journal.Line, known Known, about reason.Ref) bool {
	_, judged := line.Plan.Verdict(about)
	return judged || stateOf(known, about) != "" || len(line.Plan.Actions) > 0 && len(deedsOfLine(line, about)) > 0
}

// stateOf is what a pod or a Node object shows of itself; "" for one that is not there, and for other things.
func stateOf(known Known, about reason.Ref) string {
	switch about.Kind {
	case reason.KindPod:
		switch p := known.Pod(about.Name); {
		case p == nil:
			return ""
		case p.Finished():
			return fmt.Sprintf("has finished (%s)", p.Phase)
		case p.Leaving():
			return "was told to end on node " + p.Node
		case p.Node == "":
			return "waits for a node"
		default:
			return "is on node " + p.Node
		}
	case reason.KindNode:
		switch n := known.Node(about.Name); {
		case n == nil:
			return ""
		case cluster.Ready(n):
			return "its Node object is there, and Ready"
		default:
			return "its Node object is there, and not Ready"
		}
	}
	return ""
}

// A Moment is one thing that the history of a pod, node, machine, group, request or buffer tells: that a pod or a Node object shows something else
// than before, a verdict that is another one, or a deed.
type Moment struct {
	Time    time.Time       `json:"time"`
	Cycle   uint64          `json:"cycle"`
	DryRun  bool            `json:"dryRun,omitempty"`
	Outcome action.Outcome  `json:"outcome,omitempty"` // of a verdict
	Because []reason.Reason `json:"because,omitempty"`
	Deed    *Deed           `json:"action,omitempty"`
	Ends    bool            `json:"ends,omitempty"` // nothing is decided about it any more
	Is      string          `json:"is,omitempty"`   // what it shows of itself from now on
}

// A History collects the moments of one thing from the lines of a journal, in their order. A verdict whose outcome and codes are those of the cycle
// before is no moment: what changes are the numbers.
type History struct {
	Subject reason.Ref `json:"subject"`
	Moments []Moment   `json:"moments"`
	Since   time.Time  `json:"since,omitzero"` // the first line that was read
	Until   time.Time  `json:"until,omitzero"` // the last one

	said string // the last verdict by outcome and codes, "" for none
	is   string // what it showed last
	dry  string // the intention of a dry run that was told last
}

// NewHistory is one that has read nothing.
func NewHistory(about reason.Ref) *History { return &History{Subject: about, Moments: []Moment{}} }

// Read takes in the next line.
func (h *History) Read(line journal.Line, known Known) {
	if h.Since.IsZero() {
		h.Since = line.Time
	}
	h.Until = line.Time
	v, judged := line.Plan.Verdict(h.Subject)
	said := ""
	if judged {
		words := []string{string(v.Outcome)}
		for _, r := range v.Because {
			words = append(words, string(r.Code))
		}
		said = strings.Join(words, " ")
	}
	at := Moment{Time: line.Time, Cycle: line.Cycle, DryRun: line.DryRun}
	if is := stateOf(known, h.Subject); is != h.is {
		m := at
		if m.Is = is; is == "" {
			m.Is = "its object is gone"
		}
		h.Moments = append(h.Moments, m)
		h.is = is
	}
	if said != h.said {
		m := at
		m.Outcome, m.Because, m.Ends = v.Outcome, v.Because, !judged
		h.Moments = append(h.Moments, m)
		h.said = said
	}
	if len(line.Plan.Actions) == 0 {
		return
	}
	for _, d := range deedsOfLine(line, h.Subject) {
		if line.DryRun && d.Sentence == h.dry { // nothing comes of it, so that each cycle intends it again
			continue
		}
		h.dry = d.Sentence
		m := at
		m.Deed = &d
		h.Moments = append(h.Moments, m)
	}
}

// Clock is a time in UTC, in a form that --at and --since read.
func Clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// WriteJSON writes the history as JSON.
func (h *History) WriteJSON(w io.Writer) error { return writeJSON(w, h) }

// WriteText writes the history in words, the oldest first.
func (h *History) WriteText(w io.Writer) error {
	var p page
	p.line("%s, from %s to %s", h.Subject, stamp(h.Since), stamp(h.Until))
	for _, m := range h.Moments {
		when := Clock(m.Time)
		switch {
		case m.Is != "":
			p.row(when, "", m.Is)
		case m.Deed != nil:
			status := or(string(m.Deed.Status()), "planned")
			if m.DryRun {
				status = "dry run"
			}
			said := m.Deed.Sentence + ": " + m.Deed.Because.Sentence()
			if why, is := m.Deed.trouble(); is {
				said = m.Deed.Sentence + ": " + why.Sentence()
			}
			p.row(when, status, said)
		case m.Ends:
			p.row(when, "-", "nothing is decided about it any more")
		default:
			p.row(when, string(m.Outcome), Phrases(m.Because, h.Subject))
		}
	}
	p.flush()
	return p.writeTo(w)
}
