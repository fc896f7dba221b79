package report

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// Explanation is everything that one cycle knows of one pod, node, machine, group, request or buffer.
type Explanation struct {
	Cycle    uint64           `json:"cycle"`
	Time     time.Time        `json:"time"`
	DryRun   bool             `json:"dryRun,omitempty"`
	Without  string           `json:"without,omitempty"` // see [Overview]
	Subject  reason.Ref       `json:"subject"`
	Outcome  action.Outcome   `json:"outcome,omitempty"`   // "" for what needs no verdict: a pod that has a node, a machine that became one
	Because  []reason.Reason  `json:"because,omitempty"`   // the most telling first
	Is       string           `json:"is"`                  // what the subject is, in one sentence
	Deeds    []Deed           `json:"actions,omitempty"`   // of this cycle, about it
	Related  []action.Verdict `json:"related,omitempty"`   // about what it runs on, belongs to or waits for
	Machine  *Diagnosis       `json:"diagnosis,omitempty"` // what a machine says that does not become a node
	Evidence []Evidence       `json:"evidence,omitempty"`  // what is known of the groups involved, and since when
	Choices  []Choice         `json:"choices,omitempty"`   // of a pod for which a group grows: that group, and what the others would have cost
	Changes  []Change         `json:"changes,omitempty"`   // what would let a node or a machine go that stays, one for each reason that keeps it
	Ends     []End            `json:"ends,omitempty"`      // what the subject waits for: times first, the earliest before all, then events
	Gone     time.Time        `json:"gone,omitzero"`       // the last cycle of the journal, which knows no such thing; zero where the explained one is that
	Next     time.Time        `json:"next,omitzero"`       // the first of these times; zero when it waits for none

	verdicts map[reason.Ref]action.Verdict // about all other things
}

// Change is what would take a reason away that keeps a node or a machine.
type Change struct {
	Code reason.Code `json:"code"`
	What string      `json:"what"` // one clause

	Said reason.Words `json:"-"` // What, in pieces
}

// changes are the remedies of the reasons that keep a node or a machine.
func (x *Explanation) changes() (all []Change) {
	if x.Subject.Kind != reason.KindNode && x.Subject.Kind != reason.KindInstance {
		return nil
	}
	for _, r := range x.Because {
		if what := r.Remedy(); what != "" {
			all = append(all, Change{r.Code, what, r.RemedyWords()})
		}
	}
	return all
}

// Evidence says what the decision knew of a group and how old that was.
type Evidence struct {
	Group    cluster.GroupID `json:"group"`
	Min      int             `json:"min"`
	Max      int             `json:"max"`
	Capacity int             `json:"capacity"` // -1 when unknown
	ReadAt   time.Time       `json:"readAt,omitzero"`
	Age      time.Duration   `json:"ageNanoseconds"` // of the read when the cycle observed; 0 when there was none
	Complete bool            `json:"complete"`
	Problem  string          `json:"problem,omitempty"`
}

func evidenceOf(entry journal.Entry, g *cluster.Group) Evidence {
	e := Evidence{Group: g.ID, Min: g.Min, Max: g.Max, Capacity: g.Capacity, ReadAt: g.Read.At, Complete: g.Read.Complete, Problem: g.Problem}
	if !g.Read.At.IsZero() {
		e.Age = entry.Seen.Time.Sub(g.Read.At)
	}
	return e
}

// NewExplanation explains a thing, or returns a [*NotFoundError].
func NewExplanation(entry journal.Entry, about reason.Ref) (Explanation, error) {
	x := Explanation{Cycle: entry.Cycle, Time: entry.Seen.Time, DryRun: entry.DryRun, Without: entry.Without, Subject: about}
	x.verdicts = make(map[reason.Ref]action.Verdict, len(entry.Plan.Verdicts))
	for _, v := range entry.Plan.Verdicts {
		x.verdicts[v.Subject] = v
	}
	v, judged := x.verdicts[about]
	delete(x.verdicts, about)
	x.Outcome, x.Because = v.Outcome, append(x.beforeUse(entry, v.Because), v.Because...)
	x.Changes = x.changes()
	groups := map[cluster.GroupID]bool{}
	is, seen := x.describe(entry, groups)
	switch {
	case !seen && !judged:
		return Explanation{}, notFound(entry, about)
	case !seen:
		is = "is in the plan, and not in what was observed"
	}
	x.Is = is
	for _, d := range Deeds(entry) {
		if d.concerns(about) {
			x.Deeds = append(x.Deeds, d)
		}
	}
	for _, r := range x.Because {
		if r.About.Kind == reason.KindGroup {
			groups[cluster.GroupID(r.About.Name)] = true
		}
		groups[cluster.GroupID(r.Facts["group"])] = true
	}
	for _, g := range entry.Seen.Groups {
		if groups[g.ID] {
			x.Evidence = append(x.Evidence, evidenceOf(entry, g))
			x.relate(reason.Group(string(g.ID)))
		}
	}
	if about.Kind == reason.KindPod {
		x.Choices = choices(entry, podsByKey(entry)[about.Name], v, x.verdicts)
	}
	x.await(entry)
	return x, nil
}

// beforeUse are what an operator should know first of a node that is said to be used too much to go: that its machine is off, that its kubelet
// is silent, and what holds its group. The decision stops at its use, which is the cheapest answer and here the least telling.
func (x *Explanation) beforeUse(entry journal.Entry, because []reason.Reason) (all []reason.Reason) {
	n := entry.Seen.Node(x.Subject.Name)
	if x.Subject.Kind != reason.KindNode || n == nil || len(because) == 0 || because[0].Code != reason.NodeBusy {
		return nil
	}
	if in := n.Instance; in != nil && in.Stopped() {
		all = append(all, reason.New(reason.MachineStopped, reason.Instance(string(in.Group), string(in.ID))))
	}
	silent := !cluster.Ready(n.Object)
	if silent {
		all = append(all, reason.New(reason.KubeletSilent, x.Subject))
	}
	for _, r := range x.verdicts[reason.Group(string(n.Group))].Because {
		switch r.Code {
		case reason.GroupDeleted, reason.GroupPaused, reason.GroupUnreadable:
			all = append(all, r)
		case reason.GroupLost:
			if silent {
				all = append(all, r)
			}
		}
	}
	return all
}

// relate adds the verdict about another thing, if there is one.
func (x *Explanation) relate(about reason.Ref) {
	if v, ok := x.verdicts[about]; ok {
		x.Related = append(x.Related, v)
	}
}

// describe says what the subject is, relates what it runs on or consists of, and notes the groups involved; false when the cycle
// did not see it.
func (x *Explanation) describe(entry journal.Entry, groups map[cluster.GroupID]bool) (string, bool) {
	switch x.Subject.Kind {
	case reason.KindPod:
		return x.describePod(entry, groups)
	case reason.KindNode:
		n := entry.Seen.Node(x.Subject.Name)
		if n == nil {
			return "", false
		}
		groups[n.Group] = true
		g := entry.Seen.Group(n.Group)
		return describeNode(n, g, entry), true
	case reason.KindGroup:
		g := entry.Seen.Group(cluster.GroupID(x.Subject.Name))
		if g == nil {
			return "", false
		}
		groups[g.ID] = true
		for _, n := range entry.Seen.Nodes {
			if n.Group == g.ID {
				x.relate(reason.Node(n.Name()))
			}
		}
		for _, in := range g.Instances {
			x.relate(reason.Instance(string(g.ID), string(in.ID)))
		}
		words := fmt.Sprintf("node group with machines listed: %d", len(g.Instances))
		if n := len(g.Parked); n > 0 {
			words += fmt.Sprintf(", parked: %d", n)
		}
		return words, true
	case reason.KindRequest:
		return x.describeRequest(entry)
	case reason.KindBuffer:
		return x.describeBuffer(entry)
	case reason.KindInstance:
		for _, g := range entry.Seen.Groups {
			for _, in := range g.Instances {
				if reason.Instance(string(g.ID), string(in.ID)) == x.Subject {
					groups[g.ID] = true
					x.relate(reason.Node(in.Node))
					x.Machine = diagnosed(in.Diagnosis)
					return describeInstance(in, g.Parks), true
				}
			}
			for _, in := range g.Parked {
				if reason.Instance(string(g.ID), string(in.ID)) == x.Subject {
					groups[g.ID] = true
					return fmt.Sprintf("parked machine of group %s: switched off, and started again before a new one is made", g.ID), true
				}
			}
		}
	}
	return "", false
}

func (x *Explanation) describePod(entry journal.Entry, groups map[cluster.GroupID]bool) (string, bool) {
	p := podsByKey(entry)[x.Subject.Name]
	if p == nil {
		return "", false
	}
	switch since := p.UnschedulableSince(); {
	case p.Finished():
		return "has finished (" + string(p.Phase) + ")", true
	case p.Node != "":
		if n := entry.Seen.Node(p.Node); n != nil {
			groups[n.Group] = true
		}
		x.relate(reason.Node(p.Node))
		if p.Leaving() {
			return "is leaving node " + p.Node, true
		}
		return "runs on node " + p.Node, true
	case p.Leaving():
		return "is pending and being deleted", true
	case since.IsZero():
		return "is pending; the scheduler has found it neither a node nor unschedulable", true
	default:
		return fmt.Sprintf("is pending; the scheduler finds no node for it since %s (%s)", stamp(since), entry.Seen.Time.Sub(since).Truncate(time.Second)), true
	}
}

// describeNode says what a node is. The group is nil for a node of none.
func describeNode(n *cluster.Node, g *cluster.Group, entry journal.Entry) string {
	words := "node of no group"
	if n.Group != "" {
		words = "node of group " + string(n.Group)
	}
	switch {
	case n.Instance != nil:
		words += fmt.Sprintf(" on machine %s (%s)", n.Instance.ID, doing(n.Instance, g != nil && g.Parks))
	case n.Parked.UID != "":
		words += fmt.Sprintf(" on machine %s (parked)", n.Parked.ID)
	case len(n.Suspects) > 0:
		words += fmt.Sprintf(" whose machine is not certain (candidates: %d)", len(n.Suspects))
	}
	if cluster.Ready(n.Object) {
		words += ", Ready"
	} else {
		words += ", not Ready"
	}
	daemons := 0
	for _, p := range n.Pods {
		if p.Daemon() && entry.Policy.Belongs(p, policy.On(n, g, entry.Seen.Objects.Budgets), entry.Seen.Time) {
			daemons++
		}
	}
	words += fmt.Sprintf(", pods: %d and %d of daemons", len(n.Pods)-daemons, daemons)
	if r, on := cluster.RemovalOf(n.Object); on {
		words += fmt.Sprintf(", cordoned since %s (%s)", stamp(r.Since), or(r.Why, "unknown"))
	}
	return words
}

// doing is what a machine does: one that leaves a group which parks machines is switched off.
func doing(in *cluster.Instance, parks bool) string {
	if in.State == cluster.StateDeleting && parks {
		return "parking"
	}
	return string(in.State)
}

func describeInstance(in *cluster.Instance, parks bool) string {
	words := fmt.Sprintf("%s machine of group %s", doing(in, parks), in.Group)
	if in.Node != "" {
		words += ", which is node " + in.Node
	}
	if !in.Created.IsZero() {
		words += ", created " + stamp(in.Created)
	}
	return words
}

// ExplainJSON writes the [Explanation] of a thing as JSON. A thing the cycle does not know is a [*NotFoundError], and nothing is written.
func ExplainJSON(w io.Writer, entry journal.Entry, about reason.Ref) error {
	x, err := NewExplanation(entry, about)
	if err != nil {
		return err
	}
	return x.WriteJSON(w)
}

// WriteJSON writes the explanation as JSON.
func (x Explanation) WriteJSON(w io.Writer) error { return writeJSON(w, x) }

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
