package page

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"sluice.dev/sluice/internal/view"
)

// The ways in which the fleet is shown, as by= in the address.
const (
	byGroup = "group"
	byZone  = "zone"
	byList  = "list"
)

// listed is how many machines one part of the list has: a browser stays quick, and so does who writes it.
const listed = 200

// mostTyped is how many letters of a filter count: nobody types more.
const mostTyped = 100

// Fleet is all machines as a query wants them: by=group|zone|list, level=cpu|memory|pods|gpu, sort=, from= in the list, and the filters q, state, zone
// and group. What the query does not know counts for nothing.
type Fleet struct {
	By, Level, Sort string
	Query           string // each of its words is part of a machine's name, state, zone, size, or group
	From            int    // of the list
	groups          []view.Group
	all             []view.Group
	query           url.Values
	root            string
}

// sorts are what the list and the groups can be sorted by; a "-" before it turns it round.
var sorts = map[string][]string{
	byGroup: {"need", "name", "nodes", "usd"},
	byList:  {"name", "group", "zone", "state", "cpu", "memory", "pods", "jobs", "until"},
}

func newFleet(v *view.Now, root string, query url.Values) Fleet {
	f := Fleet{By: query.Get("by"), Level: query.Get("level"), Sort: query.Get("sort"), query: query, root: root, all: v.Groups}
	if f.By != byZone && f.By != byList {
		f.By = byGroup
	}
	if !slices.Contains(Measures, f.Level) {
		f.Level = Measures[0]
	}
	if !slices.Contains(sorts[f.By], strings.TrimPrefix(f.Sort, "-")) {
		f.Sort = ""
	}
	f.Query = strings.TrimSpace(query.Get("q"))
	f.Query = f.Query[:min(len(f.Query), mostTyped)]
	if _, err := fmt.Sscan(query.Get("from"), &f.From); err != nil || f.From < 0 {
		f.From = 0
	}
	words := strings.Fields(strings.ToLower(f.Query))
	state, zone, group := query.Get("state"), query.Get("zone"), query.Get("group")
	for _, g := range v.Groups {
		if group != "" && !strings.Contains(string(g.ID), group) {
			continue
		}
		if state != "" || zone != "" || len(words) > 0 {
			of := strings.ToLower(string(g.ID) + " " + g.Size)
			g.Tiles = slices.DeleteFunc(slices.Clone(g.Tiles), func(t view.Tile) bool {
				return state != "" && string(t.State) != state || zone != "" && t.Zone != zone || !matches(t, of, words)
			})
			if len(g.Tiles) == 0 {
				continue
			}
		}
		f.groups = append(f.groups, g)
	}
	return f
}

// matches says whether each word is part of something that is said of the machine. What is said of its group is in of.
func matches(t view.Tile, of string, words []string) bool {
	for _, w := range words {
		switch {
		case strings.Contains(of, w), strings.Contains(strings.ToLower(t.About.Name), w), strings.Contains(stateWord(t.State), w):
		case w == strings.ToLower(t.Zone), w == "zone", w == "job" && t.Jobs > 0, w == "jobs" && t.Jobs > 0:
		default:
			return false
		}
	}
	return true
}

// stateWord is a state as the page calls it.
func stateWord(s view.State) string {
	if s == view.Trouble {
		return "needs you"
	}
	return string(s)
}

// Groups are those that the query lets through, sorted. Without a wish those of a large fleet stand by need: those in trouble, those that move, the
// large ones.
func (f Fleet) Groups() []view.Group {
	by, down := strings.TrimPrefix(f.Sort, "-"), strings.HasPrefix(f.Sort, "-")
	if f.By != byGroup {
		by, down = "", false
	}
	if by == "" && f.Dense() {
		by = "need"
	}
	if by == "" {
		return f.groups
	}
	usd := func(g view.Group) float64 {
		if g.USD == nil {
			return -1 // unknown stands behind all that is known
		}
		return *g.USD
	}
	all := slices.SortedStableFunc(slices.Values(f.groups), func(a, b view.Group) int {
		switch by {
		case "nodes":
			return cmp.Compare(b.Nodes, a.Nodes)
		case "usd":
			return cmp.Compare(usd(b), usd(a))
		case "need":
			return cmp.Or(cmp.Compare(urgency(a), urgency(b)), cmp.Compare(len(b.Tiles), len(a.Tiles)))
		}
		return cmp.Compare(a.ID, b.ID)
	})
	if down {
		slices.Reverse(all)
	}
	return all
}

func urgency(g view.Group) int {
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

// Found is how many machines the query lets through.
func (f Fleet) Found() int { return count(f.groups) }

// Filtered says whether the query leaves anything out.
func (f Fleet) Filtered() bool { return f.Found() < count(f.all) }

// Many says whether there are more machines than are shown as tiles, whatever the query lets through.
func (f Fleet) Many() bool { return count(f.all) > many }

// Dense says whether machines are squares.
func (f Fleet) Dense() bool { return f.By != byList && count(f.groups) > many }

// Wide says whether the fleet takes the page's whole width.
func (f Fleet) Wide() bool { return f.Dense() || f.By == byList }

// count is the number of machines in groups.
func count(groups []view.Group) (all int) {
	for _, g := range groups {
		all += len(g.Tiles)
	}
	return all
}

// Zone is the machines of one zone.
type Zone struct {
	Name  string
	Tiles []view.Tile
	Cells []Cell // by group
	Count []Chip // by state
}

// Nodes is how many of them are there, as a group counts them.
func (z Zone) Nodes() (n int) {
	for _, t := range z.Tiles {
		if t.State != view.Parked && t.State != view.Coming {
			n++
		}
	}
	return n
}

// Bad says whether a machine of the row is silent, which gives the row its colour.
func (z Zone) Bad() bool { return z.has(view.Silent) }

// Trouble says the same of machines in trouble.
func (z Zone) Trouble() bool { return z.has(view.Trouble) }

func (z Zone) has(s view.State) bool {
	return slices.ContainsFunc(z.Tiles, func(t view.Tile) bool { return t.State == s })
}

// Zones are the machines by zone, those of none first.
func (f Fleet) Zones() (all []Zone) {
	at := map[string]int{}
	for _, g := range f.groups {
		for _, t := range g.Tiles {
			i, known := at[t.Zone]
			if !known {
				i = len(all)
				at[t.Zone] = i
				all = append(all, Zone{Name: t.Zone})
			}
			z := &all[i]
			z.Tiles = append(z.Tiles, t)
			if len(z.Cells) == 0 || z.Cells[len(z.Cells)-1].Group != string(g.ID) {
				z.Cells = append(z.Cells, Cell{Group: string(g.ID)})
			}
			last := &z.Cells[len(z.Cells)-1]
			last.Tiles = append(last.Tiles, t)
		}
	}
	for i := range all {
		all[i].Count = f.states(all[i].Tiles)
	}
	slices.SortFunc(all, func(a, b Zone) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Row is one machine of the list.
type Row struct {
	view.Tile
	Group string
}

// Rows are the machines of the part of the list that the query wants.
func (f Fleet) Rows() []Row {
	var all []Row
	for _, g := range f.groups {
		for _, t := range g.Tiles {
			all = append(all, Row{t, string(g.ID)})
		}
	}
	by := strings.TrimPrefix(f.Sort, "-")
	order := func(s view.State) int { return slices.Index(view.States, s) }
	slices.SortStableFunc(all, func(a, b Row) int {
		switch by {
		case "group":
			return cmp.Compare(a.Group, b.Group)
		case "zone":
			return cmp.Compare(a.Zone, b.Zone)
		case "cpu", "memory", "pods":
			return cmp.Compare(measured(b.Load, by), measured(a.Load, by))
		case "jobs":
			return cmp.Compare(b.Jobs, a.Jobs)
		case "until": // what has no time comes last
			return cmp.Or(cmp.Compare(never(a), never(b)), a.Until.Compare(b.Until))
		case "name":
			return cmp.Compare(a.About.Name, b.About.Name)
		}
		return cmp.Or(cmp.Compare(order(a.State), order(b.State)), cmp.Compare(a.About.Name, b.About.Name))
	})
	if strings.HasPrefix(f.Sort, "-") {
		slices.Reverse(all)
	}
	from := min(f.From, len(all))
	return all[from:min(from+listed, len(all))]
}

func never(r Row) int {
	if r.Until.IsZero() {
		return 1
	}
	return 0
}

// Last is the number of the last row that is shown.
func (f Fleet) Last() int { return min(f.From+listed, f.Found()) }

// Earlier and Later are the addresses of the list's other parts, "" for none.
func (f Fleet) Earlier() string {
	switch {
	case f.From == 0:
		return ""
	case f.From <= listed:
		return f.Choose("from", "")
	}
	return f.Choose("from", fmt.Sprint(f.From-listed))
}

// Later is the address of the part after this one.
func (f Fleet) Later() string {
	if f.From+listed >= f.Found() {
		return ""
	}
	return f.Choose("from", fmt.Sprint(f.From+listed))
}

// Column is the head of a column that sorts.
type Column struct {
	Word, Sort, Address string // Sort as aria-sort has it, "" for another column
	Numbers             bool
}

// Columns are the heads of the list.
func (f Fleet) Columns() (all []Column) {
	for _, c := range [][2]string{{"name", "Name"}, {"group", "Group"}, {"zone", "Zone"}, {"state", "State"}, {"cpu", "CPU"}, {"memory", "Memory"}, {"pods", "Pods"}, {"jobs", "Jobs"}, {"until", "Until"}} {
		one := Column{Word: c[1], Address: f.Choose("sort", c[0]), Numbers: c[0] == "cpu" || c[0] == "memory" || c[0] == "pods" || c[0] == "jobs"}
		way := []string{"ascending", "descending"}
		if one.Numbers { // of which people look for the highest
			slices.Reverse(way)
		}
		switch {
		case f.Sort == c[0], f.Sort == "" && c[0] == "state":
			one.Sort, one.Address = way[0], f.Choose("sort", "-"+c[0])
		case f.Sort == "-"+c[0]:
			one.Sort = way[1]
		}
		all = append(all, one)
	}
	return all
}

// Choose is the address of this page with one thing changed; the empty value takes it out. Another order or way begins at the front.
func (f Fleet) Choose(name, value string) string {
	q := url.Values{}
	for k, v := range f.query {
		q[k] = v
	}
	q.Del("from")
	if q.Set(name, value); value == "" {
		q.Del(name)
	}
	if name == "by" {
		q.Del("sort")
	}
	if len(q) == 0 {
		return f.root
	}
	return f.root + "?" + q.Encode()
}

// Without is the address with no filter.
func (f Fleet) Without() string {
	q := url.Values{}
	for _, k := range []string{"at", "by", "level", "sort"} {
		if v := f.query.Get(k); v != "" {
			q.Set(k, v)
		}
	}
	if len(q) == 0 {
		return f.root
	}
	return f.root + "?" + q.Encode()
}

// Action is where a new filter is sent.
func (f Fleet) Action() string { return f.root }

// Kept are the names and values that a new filter keeps.
func (f Fleet) Kept() (all []Pair) {
	for _, k := range []string{"at", "by", "group", "level", "sort", "state", "zone"} {
		if v := f.query.Get(k); v != "" {
			all = append(all, Pair{k, v})
		}
	}
	return all
}

// Chip is a choice among some.
type Chip struct {
	ID, Word string
	Count    int
	Chosen   bool
	Address  string
}

// Ways are the ways to show the fleet.
func (f Fleet) Ways() (all []Chip) {
	for _, w := range [][2]string{{byGroup, "by group"}, {byZone, "by zone"}, {byList, "list"}} {
		value := w[0]
		if value == byGroup {
			value = ""
		}
		all = append(all, Chip{ID: "by-" + w[0], Word: w[1], Chosen: f.By == w[0], Address: f.Choose("by", value)})
	}
	return all
}

// Orders are what groups can be sorted by.
func (f Fleet) Orders() (all []Chip) {
	for _, w := range [][2]string{{"need", "needs you, then size"}, {"name", "name"}, {"nodes", "nodes"}, {"usd", "USD"}} {
		all = append(all, Chip{ID: "sort-" + w[0], Word: w[1], Chosen: f.Sort == w[0] || f.Sort == "" && w[0] == "need", Address: f.Choose("sort", w[0])})
	}
	return all
}

// Measures are what a level can show here: GPUs only where a machine has some.
func (f Fleet) Measures() (all []Chip) {
	for _, m := range Measures {
		if m == "gpu" && !has(f.all, m) {
			continue
		}
		word := map[string]string{"cpu": "CPU", "gpu": "GPU"}[m]
		all = append(all, Chip{ID: "level-" + m, Word: cmp.Or(word, m), Chosen: f.Level == m, Address: f.Choose("level", m)})
	}
	return all
}

// Chips are the states that machines have, with their numbers.
func (f Fleet) Chips() []Chip {
	var tiles []view.Tile
	for _, g := range f.all {
		tiles = append(tiles, g.Tiles...)
	}
	chosen := f.query.Get("state")
	return append([]Chip{{ID: "state-all", Word: "all", Count: len(tiles), Chosen: chosen == "", Address: f.Choose("state", "")}}, f.states(tiles)...)
}

// states are the states of machines, with their numbers.
func (f Fleet) states(tiles []view.Tile) (all []Chip) {
	counts := map[view.State]int{}
	for _, t := range tiles {
		counts[t.State]++
	}
	chosen := f.query.Get("state")
	for _, s := range view.States {
		if counts[s] > 0 {
			all = append(all, Chip{ID: "state-" + string(s), Word: stateWord(s), Count: counts[s], Chosen: chosen == string(s), Address: f.Choose("state", string(s))})
		}
	}
	return all
}

// Cell is the machines of a group in one zone.
type Cell struct {
	Zone, Group string
	Tiles       []view.Tile
}

// Cells are the zones in which a group has machines.
func (f Fleet) Cells(g view.Group) (cells []Cell) {
	for _, t := range g.Tiles {
		if len(cells) == 0 || cells[len(cells)-1].Zone != t.Zone {
			cells = append(cells, Cell{Zone: t.Zone, Group: string(g.ID)})
		}
		last := &cells[len(cells)-1]
		last.Tiles = append(last.Tiles, t)
	}
	return cells
}
