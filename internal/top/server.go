package top

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/internal/timeline"
	"sluice.dev/sluice/internal/view"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// Server is the source that asks a running sluice.
type Server struct {
	Address string // such as http://127.0.0.1:8085
}

// largest is how much of an answer is read.
const largest = 256 << 20

// get reads an answer as JSON, and gives the clock of the server.
func (s *Server) get(ctx context.Context, path string, query url.Values, to any) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	address, err := url.Parse(s.Address)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return time.Time{}, fmt.Errorf("--server=%s: give an address such as http://127.0.0.1:8085", s.Address)
	}
	address = address.JoinPath(path)
	address.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return time.Time{}, fmt.Errorf("--server=%s: %w", s.Address, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		var cause *url.Error
		if errors.As(err, &cause) {
			err = cause.Err // it names the address again
		}
		return time.Time{}, fmt.Errorf("%s does not answer: %w; is sluice run there, with --address?", s.Address, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, largest))
	if err != nil {
		return time.Time{}, fmt.Errorf("%s: read the answer: %w", s.Address, err)
	}
	if resp.StatusCode != http.StatusOK {
		var problem struct{ Error string }
		if json.Unmarshal(body, &problem) == nil && problem.Error != "" {
			return time.Time{}, errors.New(problem.Error)
		}
		return time.Time{}, fmt.Errorf("%s answers %s; is it sluice?", s.Address, resp.Status)
	}
	if err := json.Unmarshal(body, to); err != nil {
		return time.Time{}, fmt.Errorf("%s answers something that sluice does not; is it sluice?", s.Address)
	}
	clock, _ := http.ParseTime(resp.Header.Get("Date")) // without one its clock counts as ours
	return clock, nil
}

// seen is a cycle that the query names.
func (s *Server) seen(ctx context.Context, query url.Values) (Seen, error) {
	var n view.Now
	clock, err := s.get(ctx, "api/v1/now", query, &n)
	if err == nil && n.Time.IsZero() {
		err = fmt.Errorf("%s answers something else than a cycle; is it sluice?", s.Address)
	}
	return Seen{&n, clock}, err
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
	_, err := s.get(ctx, "api/v1/told", asOf("until", until), &page)
	return page.Told, err
}

// Find finds things by a part of their name, also those that are gone.
func (s *Server) Find(ctx context.Context, text string, _ time.Time) ([]timeline.Found, error) {
	var page struct{ Found []timeline.Found }
	_, err := s.get(ctx, "api/v1/find", url.Values{"q": {text}}, &page)
	return page.Found, err
}

// Why explains a thing.
func (s *Server) Why(ctx context.Context, about reason.Ref, at time.Time) (string, error) {
	var x report.Explanation
	query := asOf("at", at)
	query.Set("kind", string(about.Kind))
	query.Set("name", about.Name)
	if _, err := s.get(ctx, "api/v1/explain", query, &x); err != nil {
		return "", err
	}
	var b bytes.Buffer
	err := x.WriteText(&b)
	return b.String(), err
}

// Verdicts are those of the cycle at a time.
func (s *Server) Verdicts(ctx context.Context, at time.Time) ([]action.Verdict, error) {
	var page struct{ Verdicts []action.Verdict }
	_, err := s.get(ctx, "api/v1/verdicts", asOf("at", at), &page)
	return page.Verdicts, err
}

// Command is what says the same without a screen.
func (s *Server) Command(about reason.Ref, _ time.Time) string {
	return command("sluice", "explain", string(about.Kind), about.Name, "--server="+s.Address)
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
