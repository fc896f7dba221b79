package top

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/internal/timeline"
	"sluice.dev/sluice/internal/view"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// Server is the source that asks a running sluice, whichever way leads to it.
type Server struct {
	Ask   func(ctx context.Context, page string, query url.Values, to any) (http.Header, error) // reads an answer's JSON; an error is a sentence
	Flags []string                                                                              // that lead explain to the same sluice
}

// seen is a cycle that the query names.
func (s *Server) seen(ctx context.Context, query url.Values) (Seen, error) {
	var n view.Now
	header, err := s.Ask(ctx, "api/v1/now", query, &n)
	if err == nil && n.Time.IsZero() {
		err = errors.New("what answers shows no cycle; is it sluice?")
	}
	clock, _ := http.ParseTime(header.Get("Date"))               // without one its clock counts as ours
	every, _ := time.ParseDuration(header.Get(view.EveryHeader)) // one older than the header has the usual limit
	return Seen{Now: &n, Clock: clock, Every: every}, err
}

// asOf is a query for the cycle at a time, and for the newest one at the zero time.
func asOf(name string, at time.Time) url.Values {
	if at.IsZero() {
		return url.Values{}
	}
	return url.Values{name: {at.UTC().Format(time.RFC3339Nano)}}
}

// Newest is the newest cycle.
func (s *Server) Newest(ctx context.Context) (Seen, error) { return s.seen(ctx, nil) }

// At is the last cycle at a time, where the server keeps a journal.
func (s *Server) At(ctx context.Context, at time.Time) (Seen, error) {
	return s.seen(ctx, asOf("at", at))
}

// After is the first cycle after a time.
func (s *Server) After(ctx context.Context, at time.Time) (Seen, error) {
	return s.seen(ctx, asOf("after", at))
}

// Told is what happened until a time, the newest first.
func (s *Server) Told(ctx context.Context, until time.Time) ([]timeline.Telling, error) {
	var page struct{ Told []timeline.Telling }
	_, err := s.Ask(ctx, "api/v1/told", asOf("until", until), &page)
	return page.Told, err
}

// Find finds things by a part of their name, also those that are gone.
func (s *Server) Find(ctx context.Context, text string, _ time.Time) ([]timeline.Found, error) {
	var page struct{ Found []timeline.Found }
	_, err := s.Ask(ctx, "api/v1/find", url.Values{"q": {text}}, &page)
	return page.Found, err
}

// Why explains a thing.
func (s *Server) Why(ctx context.Context, about reason.Ref, at time.Time) (string, error) {
	var x report.Explanation
	query := asOf("at", at)
	query.Set("kind", string(about.Kind))
	query.Set("name", about.Name)
	if _, err := s.Ask(ctx, "api/v1/explain", query, &x); err != nil {
		return "", err
	}
	var b bytes.Buffer
	err := x.WriteText(&b)
	return b.String(), err
}

// Azure is what the process has asked of Azure since it started.
func (s *Server) Azure(ctx context.Context) ([]report.APIClass, error) {
	var page struct{ Classes []report.APIClass }
	_, err := s.Ask(ctx, "api/v1/azure", nil, &page)
	return page.Classes, err
}

// Verdicts are those of the cycle at a time.
func (s *Server) Verdicts(ctx context.Context, at time.Time) ([]action.Verdict, error) {
	var page struct{ Verdicts []action.Verdict }
	_, err := s.Ask(ctx, "api/v1/verdicts", asOf("at", at), &page)
	return page.Verdicts, err
}

// Command is what says the same without a screen.
func (s *Server) Command(about reason.Ref, _ time.Time) string {
	return command(append([]string{"sluice", "explain", string(about.Kind), about.Name}, s.Flags...)...)
}

// words are further words of a command.
func words(more []string) string {
	if len(more) == 0 {
		return ""
	}
	return " " + command(slices.Clone(more)...)
}

// command is words for a shell: a word with anything else than names have is quoted.
func command(words ...string) string {
	for i, w := range words {
		other := strings.ContainsFunc(w, func(r rune) bool {
			return !strings.ContainsRune("-_./:=@+,", r) && (r > 'z' || r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a')
		})
		if other || w == "" {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
