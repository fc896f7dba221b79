package page

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/internal/timeline"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// Why is the body of a thing's page: what explain says, drawn.
type Why struct {
	X       report.Explanation
	Title   reason.Words
	Is      string
	Command string
	Because []reason.Reason // those that [Why.Misses] does not show
	Misses  []Miss          // by group, nearest first
	Changes []report.End    // what would let it go, with the time where time alone does it
	Ends    []report.End    // what it waits for besides
	Asks    []Pair          // of a pod
	Timers  []Pair
	Times   []Moment
	Deeds   []report.Deed
	Checked []Checked          // what the guard looked at before its last write about it
	Choices []report.Choice    // of a pod for which a group grew
	Chosen  time.Time          // when they were compared, zero for the cycle that is shown
	History []timeline.Telling // newest first
	Life    template.HTML
}

// Miss is why a group does not hold a pod.
type Miss struct {
	About     reason.Ref
	Resources []Missing
	Reasons   []reason.Reason
}

// Pair is a name and a value.
type Pair struct{ Name, Value string }

// Moment is a name and a time.
type Moment struct {
	Name string
	At   time.Time
}

// NewWhy is the page of a thing in a cycle; the error is that of [report.NewExplanation].
func NewWhy(entry journal.Entry, about reason.Ref) (Why, error) {
	x, err := report.NewExplanation(entry, about)
	if err != nil {
		return Why{}, err
	}
	return explained(entry, x), nil
}

func explained(entry journal.Entry, x report.Explanation) Why {
	w := Why{X: x, Is: upper(x.Is) + ".", Deeds: x.Deeds, Command: fmt.Sprintf("sluice explain %s %s", x.Subject.Kind, x.Subject.Name)}
	switch name := x.Subject.String(); {
	case x.Outcome == "":
		w.Title = reason.Plain(name + " needs no decision.")
	case len(x.Because) > 0:
		w.Title = append(led(name+": "+string(x.Outcome)+". ", report.Words(x.Because[0], x.Subject)), reason.Piece{Text: "."})
	default:
		w.Title = reason.Plain(name + ": " + string(x.Outcome) + ".")
	}
	if !x.Gone.IsZero() {
		w.Command += " --at " + x.Time.UTC().Format(time.RFC3339)
	}
	w.Because, w.Checked, w.Choices = x.Because, CheckedOf(entry, x.Subject), x.Choices
	w.Changes, w.Ends = waits(x)
	if x.Subject.Kind == reason.KindPod {
		w.Misses, w.Because = misses(x.Because)
		w.pod(entry)
	}
	return w
}

// waits parts what ends the waits of a thing from what would change that it stays. Most of the latter are both, and are said once.
func waits(x report.Explanation) (changes, ends []report.End) {
	ends = slices.Clone(x.Ends)
	for _, c := range x.Changes {
		change := report.End{About: x.Subject, Code: c.Code, What: c.What, Said: c.Said}
		ends = slices.DeleteFunc(ends, func(e report.End) bool {
			again := e.What == c.What
			if again && e.Code == c.Code && change.At.IsZero() {
				change.At = e.At
			}
			return again
		})
		changes = append(changes, change)
	}
	return changes, ends
}

// Checked is a write with what the guard looked at before it.
type Checked struct {
	report.Deed
	Age    time.Duration // of the list that the decision rested on, when the write was answered
	Listed bool          // there was such a list
	Time   time.Time     // of the cycle
}

// Refused is why the guard did not let it through, nil where it did.
func (c Checked) Refused() reason.Words {
	switch {
	case c.Status() != memory.Refused:
		return nil
	case c.Result.Reason != nil:
		return c.Result.Reason.Words()
	}
	return reason.Plain(c.Result.Message)
}

// CheckedOf are the writes about a thing in a cycle that the guard has looked at, and that take something away.
func CheckedOf(entry journal.Entry, about reason.Ref) (all []Checked) {
	for _, d := range report.Deeds(entry) {
		named := about.Kind == reason.KindNode && d.Node == about.Name || about.Kind == reason.KindInstance && string(d.Group)+"/"+string(d.Instance) == about.Name
		if !named || len(d.Checks()) == 0 && d.Status() != memory.Refused {
			continue
		}
		c := Checked{Deed: d, Time: entry.Seen.Time}
		if g := entry.Seen.Group(d.Group); g != nil && !g.Read.At.IsZero() {
			c.Age, c.Listed = d.Result.At.Sub(g.Read.At), true
		}
		all = append(all, c)
	}
	return all
}

// See adds what is remembered of a machine's life.
func (w *Why) See(f Frame, line *timeline.Timeline) {
	if w.X.Subject.Kind != reason.KindNode && w.X.Subject.Kind != reason.KindInstance {
		return
	}
	group, id, _ := strings.Cut(w.X.Subject.Name, "/")
	for _, l := range line.Lives(time.Time{}, f.Sent) {
		if w.X.Subject.Kind == reason.KindNode && l.Node == w.X.Subject.Name || string(l.Group) == group && string(l.Instance) == id {
			w.Life = LifeOf(f, l, f.Time)
			if l.Why != "" && !l.Gone.IsZero() {
				w.Title = reason.Words{{Text: w.X.Subject.String() + " went at "}, {Name: "until", Text: l.Gone.UTC().Format(time.RFC3339)}, {Text: ": " + l.Why + "."}}
			}
			w.Timers = append(w.Timers, timersOf(l)...)
		}
	}
}

// timersOf are the stretches of a life that people ask for.
func timersOf(l timeline.Life) (all []Pair) {
	add := func(name string, from, to time.Time) {
		if !from.IsZero() && to.After(from) {
			all = append(all, Pair{name, Span(to.Sub(from))})
		}
	}
	add("requested to Ready node", l.Requested, l.Joined)
	add("created to Ready node", l.Created, l.Joined)
	for _, s := range l.Spans {
		if s.Kind == timeline.SpanIdle || s.Kind == timeline.SpanDraining {
			add(string(s.Kind), s.From, s.To)
		}
	}
	return all
}

// pod adds what a pod asks for, and since when it waits.
func (w *Why) pod(entry journal.Entry) {
	i := slices.IndexFunc(entry.Seen.Objects.Pods, func(p *cluster.Pod) bool { return p.String() == w.X.Subject.Name })
	if i < 0 {
		return
	}
	p := entry.Seen.Objects.Pods[i]
	asks := scheduling.Requests(p)
	for _, name := range slices.Sorted(keys(asks)) {
		q := asks[corev1.ResourceName(name)]
		w.Asks = append(w.Asks, Pair{name, amount(q.String())})
	}
	if o := p.Owner(); o != nil {
		w.Asks = append(w.Asks, Pair{"owner", o.Kind + " " + o.Name})
	}
	for _, name := range slices.Sorted(keys(p.Spec.NodeSelector)) {
		w.Asks = append(w.Asks, Pair{"node selector", name + "=" + p.Spec.NodeSelector[name]})
	}
	if n := p.Priority(); n != 0 {
		w.Asks = append(w.Asks, Pair{"priority", fmt.Sprint(n)})
	}
	w.Times = append(w.Times, Moment{"created", p.Created()})
	if since := p.UnschedulableSince(); !since.IsZero() {
		w.Times = append(w.Times, Moment{"found unschedulable", since})
	}
}

// misses are the reasons that say of groups why they do not hold a pod, by group, and the other reasons.
func misses(because []reason.Reason) (all []Miss, others []reason.Reason) {
	for _, r := range because {
		if r.About.Kind != reason.KindGroup {
			others = append(others, r)
			continue
		}
		i := slices.IndexFunc(all, func(m Miss) bool { return m.About == r.About })
		if i < 0 {
			i = len(all)
			all = append(all, Miss{About: r.About})
		}
		m := &all[i]
		if r.Code == reason.InsufficientResource {
			m.Resources = append(m.Resources, Missing{r.Facts["resource"], r.Facts["needs"], r.Facts["free"]})
		}
		m.Reasons = append(m.Reasons, r)
	}
	return all, others
}

// Start is the body of the page on which one looks for something to ask about.
type Start struct{ Kinds []Kind }

// Kind is the verdicts about things of a kind.
type Kind struct {
	ID, Title string
	All       int
	Rows      []action.Verdict
}

// More are those that are not shown.
func (k Kind) More() int { return k.All - len(k.Rows) }

// NewStart lists what a cycle judged, so many of each kind.
func NewStart(entry journal.Entry) Start {
	const most = 100
	var s Start
	for _, k := range []struct {
		kind      reason.Kind
		id, title string
	}{
		{reason.KindPod, "pods", "Pods that wait"}, {reason.KindGroup, "groups", "Groups"}, {reason.KindInstance, "machines", "Machines without a node"},
		{reason.KindRequest, "requests", "ProvisioningRequests"}, {reason.KindBuffer, "buffers", "CapacityBuffers"}, {reason.KindNode, "nodes", "Nodes"},
	} {
		kind := Kind{ID: k.id, Title: k.title}
		for _, v := range entry.Plan.Verdicts {
			if v.Subject.Kind != k.kind || len(v.Because) == 0 {
				continue
			}
			if kind.All++; len(kind.Rows) < most {
				kind.Rows = append(kind.Rows, v)
			}
		}
		s.Kinds = append(s.Kinds, kind)
	}
	return s
}

// Found is the body of the answer to a search.
type Found struct {
	Query string
	Found []timeline.Found
}

// upper begins with a capital letter where a plain word begins.
func upper(s string) string {
	if s == "" || strings.ContainsAny(strings.SplitN(s, " ", 2)[0], "/.-0123456789") {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func keys[K ~string, V any](m map[K]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(string(k)) {
				return
			}
		}
	}
}
