package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/journal"
)

// Azure is the body of the page that says how Azure answers.
type Azure struct {
	Headline, Detail string
	Classes          []Class
	Backoffs         []Backoff
	Operations       []Operation
	Ages             []Age
	Failures         []Failed
}

// Class is a class of requests.
type Class struct {
	Class, Region           string
	Answered, Refused, Held int
	Limited                 bool
	Spent, Most             float64
	Until                   time.Time // zero unless it is shut
}

// Backoff is a rest of a group.
type Backoff struct {
	Group         cluster.GroupID
	What          string
	Since, Until  time.Time
	Code, Message string
}

// Operation is a request that Azure has accepted, and that no list shows the end of.
type Operation struct {
	Group cluster.GroupID
	What  string
	Since time.Time
}

// Age is how old the evidence of a group is.
type Age struct {
	Group   cluster.GroupID
	ReadAt  time.Time
	Age     time.Duration
	Old     bool
	Problem string
}

// Failed are the groups' last failures of one code.
type Failed struct {
	Code, Message string
	Times         int
	Last          time.Time
}

// old is from when on an age is marked. While nothing moves, a group is read every few minutes.
const old = 10 * time.Minute

// NewAzure is the page for a cycle; classes are those of the process, nil for another time.
func NewAzure(entry journal.Entry, classes []report.APIClass) Azure {
	now := entry.Seen.Time
	a := Azure{}
	shut, throttled := 0, 0
	for _, c := range classes {
		row := Class{Class: c.Class, Region: c.Region, Limited: c.Limited, Spent: c.Most - c.Left, Most: c.Most}
		row.Answered, row.Refused, row.Held = c.Counts()
		throttled += c.Answered["429"]
		if c.Until.After(now) {
			row.Until = c.Until
			shut++
		}
		if row.Answered+row.Held > 0 || !row.Until.IsZero() {
			a.Classes = append(a.Classes, row)
		}
	}
	slices.SortStableFunc(a.Classes, func(x, y Class) int {
		return cmp.Or(-x.Until.Compare(y.Until), -cmp.Compare(x.Answered, y.Answered))
	})
	unread, oldest := 0, 0
	for _, g := range entry.Seen.Groups {
		a.group(entry, g)
		last := a.Ages[len(a.Ages)-1]
		if last.Problem != "" {
			unread++
		}
		if last.Old {
			oldest++
		}
	}
	var parts []string
	for _, p := range []struct {
		n    int
		word string
	}{{unread, "group cannot be read"}, {shut, "class of requests is throttled"}, {len(a.Backoffs), "group rests"}} {
		switch {
		case p.n == 1:
			parts = append(parts, "1 "+p.word)
		case p.n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", p.n, strings.NewReplacer("group cannot", "groups cannot", "class of requests is", "classes of requests are", "group rests", "groups rest").Replace(p.word)))
		}
	}
	switch {
	case len(entry.Seen.Groups) > 0 && unread == len(entry.Seen.Groups):
		a.Headline = "Azure cannot be read."
	case len(parts) == 0:
		a.Headline = "Azure answers."
	default:
		a.Headline = "Azure answers. " + strings.Join(parts, ", ") + "."
	}
	a.Detail = fmt.Sprintf("Throttled since the start: %d times. Lists older than %s: %d.", throttled, Span(old), oldest)
	return a
}

func (a *Azure) group(entry journal.Entry, g *cluster.Group) {
	now, m := entry.Seen.Time, entry.After.Groups[g.ID]
	if len(entry.After.Groups) == 0 {
		m = entry.Before.Groups[g.ID]
	}
	age := Age{Group: g.ID, ReadAt: g.Read.At, Problem: g.Problem}
	if !g.Read.At.IsZero() {
		age.Age = now.Sub(g.Read.At)
	}
	age.Old = g.Read.At.IsZero() || age.Age > old
	a.Ages = append(a.Ages, age)
	for _, b := range []struct {
		what string
		Backoff
	}{
		{"does not grow", Backoff{Since: m.Backoff.Last, Until: m.Backoff.Until, Code: m.Backoff.Code, Message: m.Backoff.Message}},
		{"deletes no machine", Backoff{Since: m.Rest.Last, Until: m.Rest.Until, Code: m.Rest.Code, Message: m.Rest.Message}},
		{"empties no node", Backoff{Since: m.AbortedDrain.Last, Until: m.AbortedDrain.Until, Code: m.AbortedDrain.Code, Message: m.AbortedDrain.Message}},
	} {
		if b.Until.After(now) {
			b.Group, b.What = g.ID, b.what
			a.Backoffs = append(a.Backoffs, b.Backoff)
		}
	}
	switch lacks := g.Capacity - g.Live(); {
	case g.Asked > 0:
		a.Operations = append(a.Operations, Operation{g.ID, fmt.Sprintf("group %s is asked for %d machines; no answer yet", g.ID, g.Asked), m.Requested})
	case lacks > 0 && g.Read.Complete:
		a.Operations = append(a.Operations, Operation{g.ID, fmt.Sprintf("group %s grows to %d; %d not in its list yet", g.ID, g.Capacity, lacks), m.Requested})
	}
	if n := g.Deleting(); n > 0 {
		a.Operations = append(a.Operations, Operation{g.ID, fmt.Sprintf("group %s deletes %s", g.ID, plural(n, "machine")), m.Deleted})
	}
	if f := g.Failure; f != nil {
		i := slices.IndexFunc(a.Failures, func(x Failed) bool { return x.Code == f.Code })
		if i < 0 {
			i = len(a.Failures)
			a.Failures = append(a.Failures, Failed{Code: f.Code, Message: f.Message})
		}
		a.Failures[i].Times++
		if f.At.After(a.Failures[i].Last) {
			a.Failures[i].Last = f.At
		}
	}
}
