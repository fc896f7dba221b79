package azure

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// ClassBudget is what one class of requests in one region has spent, and what it may spend now.
type ClassBudget struct {
	Class  string // such as "machine lists"; "front door reads" and its like count every request besides
	Region string // "" when it is not known, and for the front door

	Answered []Answered // requests sent so far, by status
	Held     int        // requests not sent so far, to keep within the share
	Shut     int        // requests not sent so far, because Azure had asked for a pause

	Limited         bool    // whether Azure publishes a limit of the class; the next three are zero when not
	Left            float64 // requests that may be sent at once
	Most, PerMinute float64 // what the share holds when it is full, and gains

	Until     time.Time // Azure asked for no request of the class before; zero: it may be asked
	Resources []Pause   // single resources that Azure asked to be left alone, sorted by name
}

// Answered counts the answers of one status.
type Answered struct {
	Status string // such as "200"; "none" when no answer came
	Count  int
}

// A Pause is one resource that is left alone until a time.
type Pause struct {
	Resource string // such as "virtualmachinescalesets/agents"
	Until    time.Time
}

// tally counts what became of a class's requests.
type tally struct {
	answers    map[string]int
	held, shut int
}

// tally is a class's own. gate.mu is held.
func (g *gate) tally(key string) *tally {
	t := g.tallies[key]
	if t == nil {
		t = &tally{answers: map[string]int{}}
		g.tallies[key] = t
	}
	return t
}

// Budget is what requests to Resource Manager have spent so far, and may spend now, sorted by class and region. The caller owns it.
func (p *Provider) Budget() []ClassBudget { return p.gate.budget() }

func (g *gate) budget() []ClassBudget {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	rows := map[string]*ClassBudget{}
	row := func(key string) *ClassBudget {
		if rows[key] == nil {
			name, region, _ := strings.Cut(key, "@")
			rows[key] = &ClassBudget{Class: name, Region: region}
		}
		return rows[key]
	}
	for key, t := range g.tallies {
		r := row(key)
		r.Held, r.Shut = t.held, t.shut
		for _, status := range slices.Sorted(maps.Keys(t.answers)) {
			r.Answered = append(r.Answered, Answered{status, t.answers[status]})
		}
	}
	for key, b := range g.buckets {
		if strings.Contains(key, " of ") {
			continue
		}
		b.refill(now)
		r := row(key)
		r.Limited, r.Left, r.Most, r.PerMinute = true, b.tokens, b.most, b.perMinute
	}
	for _, key := range slices.Sorted(maps.Keys(g.until)) {
		until := g.until[key].UTC()
		class, resource, single := strings.Cut(key, " of ")
		switch {
		case !until.After(now):
		case single:
			resource = strings.TrimPrefix(resource[:strings.LastIndex(resource, "/")], "microsoft.compute/")
			row(class).Resources = append(row(class).Resources, Pause{resource, until})
		default:
			row(key).Until = until
		}
	}
	out := make([]ClassBudget, 0, len(rows))
	for _, r := range rows {
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b ClassBudget) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Region, b.Region))
	})
	return out
}
