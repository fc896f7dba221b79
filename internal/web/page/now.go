package page

import (
	"cmp"
	"html/template"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/internal/timeline"
	"sluice.dev/sluice/internal/view"
)

// many is from how many machines on they are squares instead of tiles.
const many = 150

// Now is the body of the page that shows one cycle.
type Now struct {
	View  *view.Now
	By    string // what the level of a tile shows, of [Measures]
	Told  []timeline.Telling
	Strip template.HTML // of the last hour

	groups []view.Group // that the query lets through
	query  url.Values
	root   string
}

// NewNow is the body for a query: by=cpu|memory|pods|gpu, and filters state, zone, group. What the query does not know counts for nothing.
func NewNow(v *view.Now, f Frame, query url.Values) Now {
	n := Now{View: v, By: query.Get("by"), query: query, root: f.Root}
	if !slices.Contains(Measures, n.By) {
		n.By = Measures[0]
	}
	state, zone, group := query.Get("state"), query.Get("zone"), query.Get("group")
	for _, g := range v.Groups {
		if group != "" && !strings.Contains(string(g.ID), group) {
			continue
		}
		if state != "" || zone != "" {
			g.Tiles = slices.DeleteFunc(slices.Clone(g.Tiles), func(t view.Tile) bool {
				return state != "" && string(t.State) != state || zone != "" && t.Zone != zone
			})
			if len(g.Tiles) == 0 {
				continue
			}
		}
		n.groups = append(n.groups, g)
	}
	return n
}

// Groups are those that the query lets through; with many machines, those in trouble come first, then the large ones.
func (n Now) Groups() []view.Group {
	if !n.Dense() {
		return n.groups
	}
	rank := func(g view.Group) int {
		switch {
		case g.Bad || g.Silent > 0:
			return 0
		case g.Trouble || g.NotJoined > 0:
			return 1
		case g.Coming > 0 || g.Leaving > 0:
			return 2
		}
		return 3
	}
	return slices.SortedStableFunc(slices.Values(n.groups), func(a, b view.Group) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(len(b.Tiles), len(a.Tiles)))
	})
}

// Many says whether there are more machines than are shown as tiles, whatever the query lets through.
func (n Now) Many() bool { return count(n.View.Groups) > many }

// Dense says whether machines are squares.
func (n Now) Dense() bool { return count(n.groups) > many }

// count is the number of machines in groups.
func count(groups []view.Group) (all int) {
	for _, g := range groups {
		all += len(g.Tiles)
	}
	return all
}

// Measures are what a level can show here: GPUs only where a machine has some.
func (n Now) Measures() []string {
	return slices.DeleteFunc(slices.Clone(Measures), func(by string) bool { return by == "gpu" && !has(n.View.Groups, by) })
}

// Choose is the address of this page with one thing changed; the empty value takes it out.
func (n Now) Choose(name, value string) string {
	q := url.Values{}
	for k, v := range n.query {
		q[k] = v
	}
	if q.Set(name, value); value == "" {
		q.Del(name)
	}
	if len(q) == 0 {
		return n.root
	}
	return n.root + "?" + q.Encode()
}

// Chip is a filter that can be chosen.
type Chip struct {
	State   view.State
	Word    string
	Count   int
	Chosen  bool
	Address string
}

// Chips are the states that machines have, with their numbers.
func (n Now) Chips() (all []Chip) {
	counts := map[view.State]int{}
	total := 0
	for _, g := range n.View.Groups {
		for _, t := range g.Tiles {
			counts[t.State]++
			total++
		}
	}
	chosen := view.State(n.query.Get("state"))
	all = []Chip{{Word: "all", Count: total, Chosen: chosen == "", Address: n.Choose("state", "")}}
	for _, s := range view.States {
		if counts[s] > 0 {
			word := string(s)
			if s == view.Trouble {
				word = "needs you"
			}
			all = append(all, Chip{s, word, counts[s], chosen == s, n.Choose("state", string(s))})
		}
	}
	return all
}

// Cell is the machines of a group in one zone.
type Cell struct {
	Zone  string
	Tiles []view.Tile
}

// Cells are the zones in which a group has machines.
func (n Now) Cells(g view.Group) (cells []Cell) {
	for _, t := range g.Tiles {
		if len(cells) == 0 || cells[len(cells)-1].Zone != t.Zone {
			cells = append(cells, Cell{Zone: t.Zone})
		}
		last := &cells[len(cells)-1]
		last.Tiles = append(last.Tiles, t)
	}
	return cells
}

// USD is the sum of what is known.
func (n Now) USD() string {
	if n.View.USD == 0 && n.View.Unpriced > 0 {
		return "unknown"
	}
	return Money(n.View.USD)
}

// ToldSince ends the sentence "Nothing".
func (n Now) ToldSince() string { return "since this process started" }

// ZeroTime is no time, for links to the present.
func (Frame) ZeroTime() time.Time { return time.Time{} }
