package certify

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cloud"
)

// Record is what a run saw. It names nothing of the subscription, of its people or of the run's group.
type Record struct {
	Version int      `json:"version"`
	Date    string   `json:"date"`
	Cloud   string   `json:"cloud"` // AzurePublicCloud, or another one
	Region  string   `json:"region"`
	Size    string   `json:"size"`
	Sluice  string   `json:"sluice"`
	Results []Result `json:"results"`
}

// Result is what a run saw of one probe.
type Result struct {
	Name    string            `json:"name"`
	Verdict Verdict           `json:"verdict"`
	Seen    map[string]string `json:"seen,omitempty"`
	Why     string            `json:"why,omitempty"` // it could not be asked

	Sentence string        `json:"-"` // for the screen: what was seen, or why it could not be asked
	Took     time.Duration `json:"-"`
}

const recordVersion = 1

var (
	guid    = regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	address = regexp.MustCompile(`[0-9a-fA-F:.]*[0-9][.:][0-9a-fA-F:.]*`)
	link    = regexp.MustCompile(`https?://\S+`)
	path    = regexp.MustCompile(`(?i)/(subscriptions|tenants|providers)/\S+`)
	mail    = regexp.MustCompile(`\S+@\S+`)
)

// scrubbed is a text without what could tell whose Azure it was.
func (l *Lab) scrubbed(s string) string {
	s = link.ReplaceAllString(s, "<link>")
	s = path.ReplaceAllString(s, "<path>")
	s = guid.ReplaceAllString(s, "<id>")
	s = mail.ReplaceAllString(s, "<name>")
	s = address.ReplaceAllStringFunc(s, func(a string) string {
		if _, err := netip.ParseAddr(strings.Trim(a, ".:")); err == nil {
			return "<address>"
		}
		return a
	})
	for _, own := range []string{l.ledger.Group, l.ledger.Run, l.ledger.Subscription} {
		s = strings.ReplaceAll(s, own, "<own>")
	}
	return s
}

// result is that of a probe as it stands in a record.
func (l *Lab) result(p Probe, o Observation, err error, took time.Duration) Result {
	r := Result{Name: p.Name, Verdict: Differs, Took: took}
	if err != nil {
		r.Verdict, r.Sentence = NotSeen, err.Error()
		if first := l.whys[err.Error()]; first != "" && !errors.Is(err, errTimeUp) {
			r.Sentence = "for the same reason as " + first
		} else {
			l.whys[err.Error()] = p.Name
		}
		var refused *cloud.Error
		if r.Why = l.scrubbed(err.Error()); errors.As(err, &refused) { // its sentence may name people and policies
			r.Why = "Azure answers " + refused.Code
		}
		return r
	}
	if o.Agrees {
		r.Verdict = Agrees
	}
	var words []string
	r.Seen = map[string]string{}
	for _, v := range o.Seen {
		r.Seen[v.Name] = l.scrubbed(v.Text)
		words = append(words, v.Name+": "+cmp.Or(v.Text, "none"))
	}
	r.Sentence = strings.Join(words, ", ")
	return r
}

// Count counts the results of a verdict.
func (r *Record) Count(v Verdict) (n int) {
	for _, one := range r.Results {
		if one.Verdict == v {
			n++
		}
	}
	return n
}

// JSON is the record as a file.
func (r *Record) JSON() []byte {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		panic(err) // it is text all over
	}
	return append(raw, '\n')
}

// ParseRecord reads a record.
func ParseRecord(raw []byte) (*Record, error) {
	var r Record
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("it is no record: %w", err)
	}
	if r.Version != recordVersion {
		return nil, fmt.Errorf("its version is %d, which this sluice does not know", r.Version)
	}
	return &r, nil
}

//go:embed records
var files embed.FS

// Records are those in this repository, the oldest first.
func Records() ([]*Record, error) {
	names, err := fs.Glob(files, "records/*.json")
	if err != nil {
		return nil, err
	}
	var all []*Record
	for _, name := range names {
		raw, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		r, err := ParseRecord(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b *Record) int { return cmp.Compare(a.Date, b.Date) })
	return all, nil
}
