// Package report tells people and programs what a cycle saw, decided and did: Kubernetes Events, metrics, the status ConfigMap,
// log lines, and the answers of explain and plan. All of it is a view of one [journal.Entry]; nothing here decides, or reads the
// cluster a second time. Codes and sentences are those of package reason wherever they appear.
package report

import (
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/reason"
)

// stamp is how a moment is written for people.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// podsByKey are the pods that the cycle saw, by "namespace/name".
func podsByKey(entry journal.Entry) map[string]*cluster.Pod {
	pods := make(map[string]*cluster.Pod, len(entry.Seen.Objects.Pods))
	for _, p := range entry.Seen.Objects.Pods {
		pods[p.String()] = p
	}
	return pods
}

// find is the first reason of that code, and whether there is one.
func find(because []reason.Reason, code reason.Code) (reason.Reason, bool) {
	for _, r := range because {
		if r.Code == code {
			return r, true
		}
	}
	return reason.Reason{}, false
}

// Phrase is the reason in words, led by what it is about unless that is the subject the reader is looking at already.
func Phrase(r reason.Reason, subject reason.Ref) string {
	if r.About == subject {
		return r.Sentence()
	}
	return r.String()
}

// Phrases joins reasons about a subject with "; ". Of several in a row that are about one other thing, the first names it.
func Phrases(because []reason.Reason, subject reason.Ref) string {
	parts := make([]string, len(because))
	last := subject
	for i, r := range because {
		parts[i] = Phrase(r, subject)
		if r.About == last {
			parts[i] = r.Sentence()
		}
		last = r.About
	}
	return strings.Join(parts, "; ")
}

// Words are the pieces of [Phrase].
func Words(r reason.Reason, subject reason.Ref) reason.Words {
	w := r.Words()
	if led, is := strings.CutSuffix(Phrase(r, subject), w.String()); is && led != "" {
		w = append(reason.Plain(led), w...)
	}
	return w
}

// WordsOf are the pieces of [Phrases].
func WordsOf(because []reason.Reason, subject reason.Ref) (all reason.Words) {
	last := subject
	for i, r := range because {
		if i > 0 {
			all = append(all, reason.Piece{Text: "; "})
		}
		if r.About == last {
			all = append(all, r.Words()...)
		} else {
			all = append(all, Words(r, subject)...)
		}
		last = r.About
	}
	return all
}
