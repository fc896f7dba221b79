package report

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
)

// What lines say whose kind a [Teller] knows by them.
const (
	writeRefused = "write refused"
	groupWell    = "group well again"
	rightsWell   = "no right is missing any more"
)

// Log writes what cycles did to a logger: one line for every deed that was done, refused or failed, one for every change of a
// group's troubles, and one for the cycle itself at debug level. It is not for concurrent use.
type Log struct {
	to       *slog.Logger
	troubles map[cluster.GroupID]*troubled

	intentions intentions               // of a dry run
	groupless  time.Time                // when it was last said that there is no group; zero while there is one
	groups     map[cluster.GroupID]bool // of the cycle before
	taken      map[cluster.GroupID]cluster.Taken
	actors     map[string]bool // what of the cloud's own hands was said: group and kind
	lacks      []string        // what was said of missing rights
}

// NewLog is a Log that has said nothing yet.
func NewLog(to *slog.Logger) *Log {
	return &Log{to: to, troubles: map[cluster.GroupID]*troubled{}, actors: map[string]bool{}}
}

// Report writes the lines of a completed cycle that took so long.
func (l *Log) Report(ctx context.Context, entry journal.Entry, took time.Duration) {
	to := l.to.With("cycle", entry.Cycle)
	for _, d := range Deeds(entry) {
		if !entry.DryRun {
			logDeed(ctx, to, d)
		}
	}
	l.Besides(ctx, entry)
	to.LogAttrs(ctx, slog.LevelDebug, "cycle done", slog.Duration("took", took),
		slog.Int("actions", len(entry.Plan.Actions)), slog.Int("nodes", len(entry.Seen.Nodes)), slog.Int("pending", len(entry.Seen.Pending)))
}

// Besides writes the same but for what was done: of a dry run what it would do, when that is new.
func (l *Log) Besides(ctx context.Context, entry journal.Entry) {
	to := l.to.With("cycle", entry.Cycle)
	if entry.DryRun {
		l.intentions.report(ctx, to, entry)
	}
	for _, r := range entry.Refused {
		to.LogAttrs(ctx, slog.LevelInfo, writeRefused, slog.String("resource", r.Resource), slog.String("code", r.Property), slog.String("err", r.Why))
	}
	for _, t := range entry.TookOver {
		to.LogAttrs(ctx, slog.LevelInfo, t.Sentence(), slog.String("group", string(t.Group)))
	}
	l.warnOfNoGroup(ctx, to, entry)
	l.reportTroubles(ctx, to, entry)
	l.reportActors(ctx, to, entry)
	l.reportOthers(ctx, to, entry)
	l.reportLacks(ctx, to, entry)
}

func logDeed(ctx context.Context, to *slog.Logger, d Deed) {
	var message string
	level := slog.LevelInfo
	switch d.Status() {
	case memory.Accepted:
		message = "action taken"
	case memory.Asked:
		message = "action asked for"
	case memory.Refused:
		message = "action refused"
	case memory.Failed:
		message = "action failed"
	case memory.Skipped:
		message, level = "action skipped", slog.LevelDebug
	case memory.Deferred:
		message = "action deferred"
	default:
		message, level = "action planned", slog.LevelDebug
	}
	code := string(d.Because.Code)
	if why, _ := d.trouble(); d.Status() == memory.Refused {
		code = string(why.Code)
	} else if d.Status() == memory.Failed && d.Result.Code != "" {
		code = d.Result.Code
	}
	attrs := d.attrs(code)
	if d.Result != nil && d.Result.Message != "" {
		attrs = append(attrs, slog.String("err", d.Result.Message))
	}
	to.LogAttrs(ctx, level, message, attrs...)
}

// attrs are what a deed is done to, the code for what became of it, and why.
func (d Deed) attrs(code string) []slog.Attr {
	attrs := []slog.Attr{slog.String("action", d.Action)}
	for _, a := range []struct{ key, value string }{
		{"group", string(d.Group)}, {"node", d.Node}, {"pod", d.Pod}, {"instance", string(d.Instance)},
	} {
		if a.value != "" {
			attrs = append(attrs, slog.String(a.key, a.value))
		}
	}
	return append(attrs, slog.String("code", code), slog.String("why", d.Because.Sentence()))
}

// warnOfNoGroup says that there is no group when that begins, and once an hour.
func (l *Log) warnOfNoGroup(ctx context.Context, to *slog.Logger, entry journal.Entry) {
	if len(entry.Seen.Groups) > 0 {
		l.groupless = time.Time{}
		return
	}
	if now := entry.Seen.Time; l.groupless.IsZero() || now.Sub(l.groupless) >= time.Hour {
		l.groupless = now
		to.LogAttrs(ctx, slog.LevelWarn, NoGroup(), slog.String("code", string(reason.NoGroupFound)))
	}
}

// NoGroup says that there is no node group, and what mends it.
func NoGroup() string { return reason.New(reason.NoGroupFound, reason.Ref{}).Sentence() }

// steady is for how long a group has no trouble until that is told, and a trouble is not told again that comes back within it.
const steady = 2 * time.Minute

// troubled is what was said about a group that was in trouble lately.
type troubled struct {
	said map[string]time.Time // when each trouble was there last, by what makes it another one
	well time.Time            // since when there is none, zero while there is one
	back int                  // how often one came back meanwhile
}

// reportTroubles warns once when a group's trouble begins or becomes another one, and tells when it has ended. What comes and goes from cycle to cycle
// is told once, and counted.
func (l *Log) reportTroubles(ctx context.Context, to *slog.Logger, entry journal.Entry) {
	now := entry.Seen.Time
	for id := range l.troubles {
		if entry.Seen.Group(id) == nil {
			delete(l.troubles, id)
		}
	}
	for _, g := range entry.Seen.Groups {
		why, is := groupTrouble(entry, g.ID)
		t := l.troubles[g.ID]
		switch {
		case is && t == nil:
			t = &troubled{said: map[string]time.Time{}}
			l.troubles[g.ID] = t
		case is && !t.well.IsZero():
			t.well = time.Time{}
			t.back++
		case !is && t != nil && t.well.IsZero():
			t.well = now
		case !is && t != nil && now.Sub(t.well) >= steady:
			delete(l.troubles, g.ID)
			attrs := []slog.Attr{slog.String("group", string(g.ID))}
			if t.back > 0 {
				attrs = append(attrs, slog.String("why", fmt.Sprintf("its trouble came back %d times meanwhile", t.back)))
			}
			to.LogAttrs(ctx, slog.LevelInfo, groupWell, attrs...)
		}
		if is {
			same := string(why.Code) + " " + why.Facts["code"] + " " + why.Facts["message"]
			if _, told := t.said[same]; !told {
				to.LogAttrs(ctx, slog.LevelWarn, "group in trouble", slog.String("group", string(g.ID)), slog.String("code", string(why.Code)), slog.String("err", why.Sentence()))
			}
			t.said[same] = now
			maps.DeleteFunc(t.said, func(_ string, last time.Time) bool { return now.Sub(last) >= steady })
		}
	}
}

// reportActors warns once of each setting by which the cloud changes machines by itself, for as long as it stands.
func (l *Log) reportActors(ctx context.Context, to *slog.Logger, entry journal.Entry) {
	now := map[string]bool{}
	for _, g := range entry.Seen.Groups {
		for _, h := range g.OtherActors {
			key := string(g.ID) + " " + string(h.Kind)
			if now[key] = true; !l.actors[key] {
				to.LogAttrs(ctx, slog.LevelWarn, "the cloud changes machines by itself", slog.String("group", string(g.ID)), slog.String("code", string(h.Kind)), slog.String("why", h.Does+": "+h.Remedy))
			}
		}
	}
	l.actors = now
}

// reportLacks warns once of what sluice does not do for want of rights, for as long as it is so, and tells when it is over.
func (l *Log) reportLacks(ctx context.Context, to *slog.Logger, entry journal.Entry) {
	var now []string
	for _, loss := range entry.Seen.Objects.Lacks.Losses() {
		said := loss.String()
		if now = append(now, said); !slices.Contains(l.lacks, said) {
			to.LogAttrs(ctx, slog.LevelWarn, "a right is missing", slog.String("code", string(reason.RightMissing)), slog.String("why", said))
		}
	}
	if len(now) == 0 && len(l.lacks) > 0 {
		to.LogAttrs(ctx, slog.LevelInfo, rightsWell)
	}
	l.lacks = now
}

// reportOthers warns once of machines that went by another hand, and of a group that is managed no more.
func (l *Log) reportOthers(ctx context.Context, to *slog.Logger, entry journal.Entry) {
	taken := map[cluster.GroupID]cluster.Taken{}
	for _, g := range entry.Seen.Groups {
		v, _ := entry.Plan.Verdict(reason.Group(string(g.ID)))
		if why, found := find(v.Because, reason.MachinesTaken); found && g.Taken.Last != l.taken[g.ID].Last {
			to.LogAttrs(ctx, slog.LevelWarn, "machines went by another hand", slog.String("group", string(g.ID)), slog.String("code", string(why.Code)), slog.String("why", why.Sentence()))
		}
		taken[g.ID] = g.Taken
	}
	for _, id := range slices.Sorted(maps.Keys(l.groups)) {
		if l.groups[id] && entry.Seen.Group(id) == nil {
			to.LogAttrs(ctx, slog.LevelWarn, "group managed no more", slog.String("group", string(id)), slog.String("why", releasedSentence(id)))
		}
	}
	l.taken, l.groups = taken, groupsOf(entry)
}

// groupTrouble is why a group cannot be read or may not grow, or that it lost nodes: the reason that its verdict names first.
func groupTrouble(entry journal.Entry, id cluster.GroupID) (reason.Reason, bool) {
	v, _ := entry.Plan.Verdict(reason.Group(string(id)))
	for _, r := range v.Because {
		switch r.Code {
		case reason.GroupUnreadable, reason.GroupIncomplete, reason.GroupBackoff, reason.GroupStrays, reason.GroupNoTemplate, reason.GroupDeleted, reason.GroupLost:
			return r, true
		}
	}
	return reason.Reason{}, false
}

// BridgeKlog lets the libraries that log by klog, client-go above all, speak through this logger for the whole process: a program
// calls it before it has a client. What they call informational is about their own inner life, such as a watch that was renewed, and becomes a debug line.
func BridgeKlog(to *slog.Logger) { klog.SetSlogLogger(slog.New(quieter{to.Handler()})) }

// quieter turns informational lines into debug lines.
type quieter struct{ slog.Handler }

func (q quieter) Enabled(ctx context.Context, l slog.Level) bool {
	return q.Handler.Enabled(ctx, quiet(l))
}

func (q quieter) Handle(ctx context.Context, r slog.Record) error {
	r.Level = quiet(r.Level)
	return q.Handler.Handle(ctx, r)
}

func (q quieter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quieter{q.Handler.WithAttrs(attrs)}
}

func (q quieter) WithGroup(name string) slog.Handler { return quieter{q.Handler.WithGroup(name)} }

func quiet(l slog.Level) slog.Level {
	if l >= slog.LevelInfo && l < slog.LevelWarn {
		return slog.LevelDebug
	}
	return l
}
