package report

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
)

// The kinds of what is told.
const (
	ToldScaleUp   = "scale-up"
	ToldScaleDown = "scale-down"
	ToldEviction  = "eviction"
	ToldNode      = "node"    // what else is written to nodes
	ToldAnswer    = "answer"  // to a request, a buffer, a notice, or a pod behind a gate
	ToldFailure   = "failed"  // a request was sent, and not done
	ToldRefusal   = "refused" // the safety contract kept a write
	ToldWarning   = "warning" // trouble that begins
	ToldEnd       = "ended"   // trouble that is over
	ToldNews      = "news"
	ToldDryRun    = "dry-run" // what would be done
)

// Said is one sentence of what a cycle did or found.
type Said struct {
	Kind     string
	Sentence string
	About    []reason.Ref // all that it concerns: the things themselves, their machines and groups
}

// A Teller says in sentences what cycles did, and which troubles began and ended. Of a dry run each intention is said once. It is given the cycles in
// their order, and is not for concurrent use.
type Teller struct {
	log  *Log
	said []Said
}

// NewTeller is one that has said nothing yet.
func NewTeller() *Teller {
	t := &Teller{}
	t.log = NewLog(slog.New(heard{t}))
	return t
}

// Tell is what the next cycle has to tell.
func (t *Teller) Tell(ctx context.Context, entry journal.Entry) []Said {
	t.said = done(entry)
	t.log.Besides(ctx, entry)
	all := t.said
	t.said = nil
	for i := range all {
		all[i].Sentence = Printable(all[i].Sentence)
	}
	return all
}

// heard is the slog.Handler by which a teller hears what a [Log] says.
type heard struct{ *Teller }

func (heard) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }

func (h heard) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h heard) WithGroup(string) slog.Handler { return h }

// Handle makes a sentence: what, to what, and why.
func (h heard) Handle(_ context.Context, r slog.Record) error {
	said, why := Said{Kind: ToldNews, Sentence: r.Message}, ""
	if r.Level >= slog.LevelWarn {
		said.Kind = ToldWarning
	}
	switch {
	case r.Message == groupWell || r.Message == rightsWell:
		said.Kind = ToldEnd
	case r.Message == writeRefused:
		said.Kind = ToldRefusal
	case strings.HasPrefix(r.Message, dryRunPrefix):
		said.Kind = ToldDryRun
	}
	named := map[string]string{}
	r.Attrs(func(a slog.Attr) bool {
		value := a.Value.String()
		switch a.Key {
		case "cycle", "code", "action": // the sentence has them
		case "why", "err":
			why += ": " + value
		case "group", "node", "pod", "instance":
			if named[a.Key] = value; !strings.Contains(said.Sentence, value) {
				said.Sentence += " " + a.Key + " " + value
			}
		default:
			said.Sentence += " " + a.Key + " " + value
		}
		return true
	})
	said.Sentence += why
	said.About = refs(named["node"], named["pod"], cluster.GroupID(named["group"]), cluster.InstanceID(named["instance"]))
	h.said = append(h.said, said)
	return nil
}

// refs point at those of the things that are named.
func refs(node, pod string, group cluster.GroupID, instance cluster.InstanceID) (all []reason.Ref) {
	if node != "" {
		all = append(all, reason.Node(node))
	}
	if instance != "" {
		all = append(all, reason.Instance(string(group), string(instance)))
	}
	if pod != "" {
		all = append(all, reason.Ref{Kind: reason.KindPod, Name: pod})
	}
	if group != "" {
		all = append(all, reason.Group(string(group)))
	}
	return all
}

// mostNamed is at most how many pods a telling about a scale-up points at.
const mostNamed = 50

// refs are all things that the deed concerns.
func (d Deed) refs() []reason.Ref {
	all := refs(d.Node, d.Pod, d.Group, d.Instance)
	if d.Claim != (reason.Ref{}) {
		all = append(all, d.Claim)
	}
	for _, p := range d.Pods[:min(mostNamed, len(d.Pods))] {
		all = append(all, reason.Ref{Kind: reason.KindPod, Name: p})
	}
	return all
}

// told is the kind of what is told of the deed.
func (d Deed) told() string {
	switch d.Status() {
	case memory.Refused:
		return ToldRefusal
	case memory.Failed:
		return ToldFailure
	}
	switch d.of.(type) {
	case action.SetCapacity:
		return ToldScaleUp
	case action.Cordon, action.DeleteInstances, action.DeleteNode:
		return ToldScaleDown
	case action.Evict:
		return ToldEviction
	case action.Mark, action.Uncordon, action.CandidateTaint, action.CandidateUntaint:
		return ToldNode
	}
	return ToldAnswer
}

// done tells what a cycle did, and what became of it. Deeds that are alike, such as the cordons of six idle nodes, share a sentence.
func done(entry journal.Entry) (all []Said) {
	if entry.DryRun {
		return nil
	}
	var last Deed
	alike, kind, why := 0, "", ""
	var others []string // their names
	var about []reason.Ref
	tell := func() {
		if alike > 1 {
			last.Sentence += fmt.Sprintf(", and alike %s", strings.Join(others, ", "))
		}
		if alike > 0 {
			all = append(all, Said{last.told(), last.Sentence + why, about})
		}
	}
	for _, d := range Deeds(entry) {
		if d.Status() == memory.Skipped {
			continue
		}
		code, because := d.Because.Code, ": "+d.Because.Sentence()
		switch trouble, is := d.trouble(); {
		case is:
			code = trouble.Code
			because = fmt.Sprintf(" (%s): %s", d.Status(), trouble.Sentence())
		case d.Status() != memory.Accepted:
			because = fmt.Sprintf(" (%s): %s", or(string(d.Status()), "not tried"), d.Because.Sentence())
		}
		of := fmt.Sprint(d.Action, " ", d.Group, " ", d.Status(), " ", code)
		if alike > 0 && of == kind {
			alike++
			others = append(others, or(d.Node, d.about().Name))
			about = joined(about, d.refs())
			continue
		}
		tell()
		last, alike, kind, why, others, about = d, 1, of, because, nil, d.refs()
	}
	tell()
	return all
}

// joined are refs with more: alike deeds share their group.
func joined(all, more []reason.Ref) []reason.Ref {
	for _, r := range more {
		if r.Kind != reason.KindGroup {
			all = append(all, r)
		}
	}
	return all
}
