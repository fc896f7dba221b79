// Package view says what an operator looks at: one cycle as a picture of its groups, machines and pods, with what needs a person, what waits, and what
// happens next. The page, sluice top and the API show the same value, so that they say the same. Sentences are those of explain; nothing is decided here.
//
// What is not known is not zero: a price, a load or a time that nobody knows is nil or zero, and is shown as a word.
package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// Now is one cycle.
type Now struct {
	Cycle    uint64    `json:"cycle"`
	Time     time.Time `json:"time"`
	DryRun   bool      `json:"dryRun,omitempty"`
	Headline string    `json:"headline"` // the answer, one sentence
	Detail   string    `json:"detail"`   // one or two sentences more

	Nodes     int     `json:"nodes"`               // of the groups, with a Node object and a machine that is on
	Coming    int     `json:"coming"`              // machines that are to become nodes
	Unmanaged int     `json:"unmanaged,omitempty"` // nodes of no group
	Pending   int     `json:"pending"`             // pods that wait and are sluice's to place
	Stuck     int     `json:"stuck"`               // of them those that nothing makes room for
	USD       float64 `json:"usdPerHour"`          // list prices of the machines whose price is known
	Unpriced  int     `json:"unpriced,omitempty"`  // machines whose price nobody knows

	Lost    *Lost     `json:"lost,omitempty"` // nodes that were lost together
	Needs   []Need    `json:"needs"`          // what a person has to look at: what no time mends first, then by the time that is left
	Waiting []Waiting `json:"waiting"`        // pods by why they wait: the stuck ones first, then by number
	Next    []Step    `json:"next"`           // what happens by itself, the earliest first
	Stays   []Stay    `json:"stays"`          // why nodes stay, by number
	Groups  []Group   `json:"groups"`         // by name
	Zones   []string  `json:"zones"`          // of all machines, sorted; "" for those of none

	loads map[*cluster.Node]asked // of the nodes of groups
}

// Need is one thing that a person has to look at.
type Need struct {
	About   reason.Ref   `json:"about,omitzero"`
	Code    reason.Code  `json:"code"`
	Title   string       `json:"title"`            // the thing and what is the matter
	Cause   string       `json:"cause"`            // with the numbers that were compared
	Remedy  string       `json:"remedy,omitempty"` // "" where nothing is known to help
	Command string       `json:"command"`          // to paste
	Said    reason.Words `json:"-"`                // Cause, in pieces
	Helps   reason.Words `json:"-"`                // Remedy, in pieces
	Since   time.Time    `json:"since,omitzero"`
	Until   time.Time    `json:"until,omitzero"` // when it ends without anybody, zero for never
	Bad     bool         `json:"bad,omitempty"`  // something does not answer, so that work may be lost or nothing is managed
	More    int          `json:"more,omitempty"` // things that are alike beside this one
}

// Waiting are pods that wait for the same.
type Waiting struct {
	Outcome  action.Outcome `json:"outcome"`
	Code     reason.Code    `json:"code"`
	Sentence string         `json:"sentence"`
	Said     reason.Words   `json:"-"` // Sentence, in pieces
	Pods     int            `json:"pods"`
	First    string         `json:"first"` // the one that has waited longest, "namespace/name"
	Since    time.Time      `json:"since,omitzero"`
}

// Step is something that happens by itself when a time has come.
type Step struct {
	At    time.Time  `json:"at"`
	About reason.Ref `json:"about"`
	More  int        `json:"more,omitempty"` // things that are alike, within the same seconds
	What  string     `json:"what"`           // in one clause; names what it is about
}

// Stay are nodes that stay for the same reason.
type Stay struct {
	Code  reason.Code  `json:"code"`
	Nodes int          `json:"nodes"`
	First string       `json:"first"` // the name of one
	Why   string       `json:"why"`   // of that one
	Said  reason.Words `json:"-"`     // Why, in pieces
}

// Lost are nodes that fell silent, or lost their objects, together: none of their machines is removed (S-43).
type Lost struct {
	Machines int            `json:"machines"`
	Objects  int            `json:"objects,omitempty"` // of them those whose Node objects are gone
	Of       int            `json:"of"`                // machines of all groups
	Since    time.Time      `json:"since,omitzero"`
	Zones    map[string]int `json:"zones,omitempty"`
	Jobs     int            `json:"jobs"`            // nodes among them on which a Job may still run
	Until    time.Time      `json:"until,omitzero"`  // from when some may go without a word of anybody
	Groups   []string       `json:"groups"`          // to acknowledge
	Early    bool           `json:"early,omitempty"` // the contract has not judged: they have not been silent for long enough
}

// said is what became of them, and what the contract promises. "None of them is removed" alone was read as for ever.
func (l *Lost) said() string {
	lost := "fell silent together"
	if l.Objects == l.Machines {
		lost = "lost their Node objects"
	} else if l.Objects > 0 {
		lost = "fell silent or lost their Node objects"
	}
	until := "until an operator acknowledges it"
	if l.Early {
		until = "in the first hour"
	} else if !l.Until.IsZero() {
		until = "before " + report.Clock(l.Until)
	}
	none := "None of them is"
	if l.Machines == 1 {
		none, lost = "It is not", strings.NewReplacer(" together", "", "their Node objects", "its Node object").Replace(lost)
	}
	return fmt.Sprintf("%d of %s %s. %s removed %s.", l.Machines, plural(l.Of, "machine"), lost, none, until)
}

// New is the view of a cycle.
func New(entry journal.Entry) *Now { return After(nil, entry) }

// After is the view of a cycle after another one, nil for none, which saves counting the pods of nodes that have not changed since.
func After(last *Now, entry journal.Entry) *Now {
	l := look(entry)
	if last != nil {
		l.before = last.loads
	}
	n := &Now{Cycle: entry.Cycle, Time: entry.Seen.Time, DryRun: entry.DryRun, Groups: []Group{}, Needs: []Need{}, Waiting: []Waiting{}, Next: []Step{}, Stays: []Stay{}}
	n.loads = l.loads
	for _, g := range entry.Seen.Groups {
		n.Groups = append(n.Groups, l.group(g))
	}
	slices.SortFunc(n.Groups, func(a, b Group) int { return strings.Compare(string(a.ID), string(b.ID)) })
	zones := map[string]bool{}
	for _, g := range n.Groups {
		n.Nodes += g.Nodes
		n.Coming += g.Coming
		if g.USD == nil {
			n.Unpriced += g.Nodes + g.Coming + g.NotJoined
		} else {
			n.USD += *g.USD
		}
		for _, t := range g.Tiles {
			zones[t.Zone] = true
		}
	}
	for zone := range zones {
		n.Zones = append(n.Zones, zone)
	}
	slices.Sort(n.Zones)
	for _, node := range entry.Seen.Nodes {
		if node.Group == "" {
			n.Unmanaged++
		}
	}
	n.Waiting, n.Pending, n.Stuck = l.waiting()
	n.Lost = l.lost(n)
	n.Needs = l.needs(n.Groups)
	n.Next = l.next()
	n.Stays = l.stays()
	n.Headline, n.Detail = n.said()
	return n
}

// looked is an entry with what is looked up in it more than once.
type looked struct {
	entry    journal.Entry
	now      time.Time
	verdicts map[reason.Ref]action.Verdict
	pods     map[string]*cluster.Pod // that wait, by "namespace/name"
	requests requests
	nodes    map[cluster.GroupID][]*cluster.Node
	before   map[*cluster.Node]asked // of the view before this one: a node that has not changed is the same pointer
	loads    map[*cluster.Node]asked
	kept     map[reason.Ref]bool // nodes and machines of [Lost]
}

func look(entry journal.Entry) *looked {
	l := &looked{
		entry: entry, now: entry.Seen.Time, requests: requests{}, loads: make(map[*cluster.Node]asked, len(entry.Seen.Nodes)),
		verdicts: make(map[reason.Ref]action.Verdict, len(entry.Plan.Verdicts)), pods: make(map[string]*cluster.Pod, len(entry.Seen.Pending)), kept: map[reason.Ref]bool{},
	}
	for _, v := range entry.Plan.Verdicts {
		l.verdicts[v.Subject] = v
	}
	for _, p := range entry.Seen.Pending {
		l.pods[p.String()] = p
	}
	return l
}

// said is the headline and the sentences below it.
func (n *Now) said() (headline, detail string) {
	switch {
	case n.Lost != nil:
		headline = n.Lost.said()
	case len(n.Groups) == 0:
		return "No node group is managed.", report.NoGroup() + "."
	case len(n.Needs) == 1:
		headline = "1 thing needs you."
	case len(n.Needs) > 1:
		headline = fmt.Sprintf("%d things need you.", len(n.Needs))
	case n.Pending == 0 && n.Coming == 0 && len(n.Next) == 0:
		headline = "All is calm."
	case n.Pending > 0:
		headline = "Nothing needs you; " + are(n.Pending, "pod") + " on the way."
	default:
		headline = "Nothing needs you."
	}
	var parts []string
	if n.Pending == 0 {
		parts = append(parts, "No pod waits.")
	} else {
		word := plural(n.Pending, "pod") + " wait"
		if n.Pending == 1 {
			word += "s"
		}
		for _, w := range n.Waiting {
			if w.Outcome == action.PodWaiting || w.Outcome == action.PodGrows {
				word += fmt.Sprintf("; %d of them start when machines are Ready", w.Pods)
				break
			}
		}
		if n.Stuck > 0 {
			word += fmt.Sprintf("; %d stuck", n.Stuck)
		}
		parts = append(parts, word+".")
	}
	if len(n.Next) == 0 {
		parts = append(parts, "Nothing changes by itself, unless pods or machines come.")
	}
	return headline, strings.Join(parts, " ")
}

// waiting are the pods that wait, by why; how many are sluice's to place, and how many of them are stuck.
func (l *looked) waiting() (all []Waiting, pods, stuck int) {
	all = []Waiting{}
	at := map[[2]string]int{}
	for _, v := range l.entry.Plan.Verdicts {
		if v.Subject.Kind != reason.KindPod || len(v.Because) == 0 {
			continue
		}
		if v.Outcome != action.PodIgnored {
			pods++
		}
		if v.Outcome == action.PodStuck {
			stuck++
		}
		why := v.Because[0]
		if why.Code == reason.RescuesNode || why.Code == reason.FitsNode { // each names another node
			why = reason.New(why.Code, why.About, "node", "")
		}
		key := [2]string{string(v.Outcome), report.Phrase(why, v.Subject)}
		i, known := at[key]
		if !known {
			i = len(all)
			at[key] = i
			all = append(all, Waiting{Outcome: v.Outcome, Code: why.Code, Sentence: report.Phrase(v.Because[0], v.Subject), Said: report.Words(v.Because[0], v.Subject), First: v.Subject.Name, Since: l.waitsSince(v.Subject)})
		}
		all[i].Pods++
		if since := l.waitsSince(v.Subject); !since.IsZero() && since.Before(all[i].Since) {
			all[i].Since, all[i].First = since, v.Subject.Name
		}
	}
	rank := func(o action.Outcome) int {
		return slices.Index([]action.Outcome{action.PodStuck, action.PodGrows, action.PodWaiting, action.PodRescues, action.PodScheduling, action.PodIgnored}, o)
	}
	slices.SortStableFunc(all, func(a, b Waiting) int {
		return cmp.Or(cmp.Compare(rank(a.Outcome), rank(b.Outcome)), -cmp.Compare(a.Pods, b.Pods))
	})
	return all, pods, stuck
}

// waitsSince is since when the scheduler finds no node for a pod, or when it was made.
func (l *looked) waitsSince(about reason.Ref) time.Time {
	p := l.pods[about.Name]
	if p == nil {
		return time.Time{}
	}
	if since := p.UnschedulableSince(); !since.IsZero() {
		return since
	}
	return p.Created()
}

// next are the times that come, of groups, nodes and machines; those of the same code and group within the same five seconds are one.
func (l *looked) next() (steps []Step) {
	steps = []Step{}
	type key struct {
		code  reason.Code
		group string
		kind  reason.Kind
		at    int64
	}
	at := map[key]int{}
	for _, v := range l.entry.Plan.Verdicts {
		if v.Subject.Kind == reason.KindPod {
			continue
		}
		for _, r := range v.Because {
			when := r.EndsAt(l.now)
			if l.kept[v.Subject] && (r.Code == reason.NodeNotReady || r.Code == reason.MachineLost) {
				continue // the contract keeps it longer, as the headline says
			}
			if when.IsZero() || r.About.Kind != "" && r.About != v.Subject && r.About.Kind != v.Subject.Kind {
				continue // a node waits for its group, which says so itself
			}
			k := key{r.Code, string(l.groupOf(v.Subject)), v.Subject.Kind, when.Unix() / 5}
			if i, known := at[k]; known {
				steps[i].More++
				break
			}
			at[k] = len(steps)
			_, what := r.Ends(l.now)
			steps = append(steps, Step{At: when, About: v.Subject, What: named(v.Subject, what)})
			break
		}
	}
	slices.SortStableFunc(steps, func(a, b Step) int { return a.At.Compare(b.At) })
	return steps
}

// named has a clause begin with what it is about.
func named(about reason.Ref, what string) string {
	if rest, it := strings.CutPrefix(what, "it "); it {
		return about.Name + " " + rest
	}
	if strings.Contains(what, about.Name) {
		return what
	}
	return about.Name + ": " + what
}

// groupOf is the group of a thing, "" for a pod and for a node of none.
func (l *looked) groupOf(about reason.Ref) cluster.GroupID {
	switch about.Kind {
	case reason.KindGroup:
		return cluster.GroupID(about.Name)
	case reason.KindNode:
		if n := l.entry.Seen.Node(about.Name); n != nil {
			return n.Group
		}
	case reason.KindInstance:
		group, _, _ := strings.Cut(about.Name, "/")
		return cluster.GroupID(group)
	}
	return ""
}

// stays are the nodes of groups that nothing removes, by the first reason.
func (l *looked) stays() (all []Stay) {
	all = []Stay{}
	at := map[reason.Code]int{}
	for _, v := range l.entry.Plan.Verdicts {
		if v.Subject.Kind != reason.KindNode || v.Outcome != action.NodeKeep || len(v.Because) == 0 || v.Because[0].Code == reason.NodeUnmanaged {
			continue
		}
		why := v.Because[0]
		i, known := at[why.Code]
		if !known {
			i = len(all)
			at[why.Code] = i
			all = append(all, Stay{Code: why.Code, First: v.Subject.Name, Why: report.Phrase(why, v.Subject), Said: report.Words(why, v.Subject)})
		}
		all[i].Nodes++
	}
	slices.SortStableFunc(all, func(a, b Stay) int { return b.Nodes - a.Nodes })
	return all
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func are(n int, word string) string {
	if n == 1 {
		return "1 " + word + " is"
	}
	return plural(n, word) + " are"
}

// EveryHeader says beside a view how often a cycle comes at least. A view has no such field: it is of one cycle, and the same from a journal.
const EveryHeader = "Sluice-Scan-Interval"

// Stale is how old the newest cycle may be before it is not live any more, where one comes at least every so often; zero where nobody knows.
func Stale(every time.Duration) time.Duration { return max(2*time.Minute, 3*every) }

// Write writes the view as one line of JSON.
func Write(w io.Writer, n *Now) error { return json.NewEncoder(w).Encode(n) }
