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

// errNoPast says why a server answers for its newest cycle alone.
var errNoPast = errors.New("A running sluice answers here for its newest cycle alone: give --journal=FILE for what was before.") //nolint:revive // a sentence on a screen

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

// Newest is the newest cycle.
func (s *Server) Newest(ctx context.Context) (Seen, error) {
	var n view.Now
	clock, err := s.get(ctx, "api/v1/now", nil, &n)
	if err == nil && n.Time.IsZero() {
		err = fmt.Errorf("%s answers something else than a cycle; is it sluice?", s.Address)
	}
	return Seen{&n, clock}, err
}

// At has no answer.
func (s *Server) At(context.Context, time.Time) (Seen, error) { return Seen{}, errNoPast }

// After has no answer.
func (s *Server) After(context.Context, time.Time) (Seen, error) { return Seen{}, errNoPast }

// Told has no answer.
func (s *Server) Told(context.Context, time.Time) ([]timeline.Telling, error) { return nil, errNoPast }

// Find knows no more than the cycle that is shown.
func (s *Server) Find(context.Context, string, time.Time) ([]timeline.Found, error) { return nil, nil }

// Why explains a thing.
func (s *Server) Why(ctx context.Context, about reason.Ref, _ time.Time) (string, error) {
	var x report.Explanation
	if _, err := s.get(ctx, "api/v1/explain", url.Values{"kind": {string(about.Kind)}, "name": {about.Name}}, &x); err != nil {
		return "", err
	}
	var b bytes.Buffer
	err := x.WriteText(&b)
	return b.String(), err
}

// Verdicts are those of the newest cycle.
func (s *Server) Verdicts(ctx context.Context, _ time.Time) ([]action.Verdict, error) {
	var page struct{ Verdicts []action.Verdict }
	_, err := s.get(ctx, "api/v1/verdicts", nil, &page)
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
