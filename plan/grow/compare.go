package grow

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"sluice.dev/sluice/packing"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// What weighing may cost: it explains a decision and changes none.
const (
	weighedGroups = 16      // that grow, with their rivals
	weighingWork  = 1 << 13 // steps in filling machines; beyond it a bound is told
	remixedWork   = 256     // classes by groups of a mix that is solved again without a group
	remixEffort   = 10      // of such a mix, see [packing.Problem]
	namedRivals   = 3
)

// batch is so many pods of a demand.
type batch struct {
	*wanted
	n int
}

// rival is a group that could have grown instead of another one.
type rival struct {
	at       int // among the candidates
	machines int // that would hold the pods
	atLeast  bool
	misses   int // of the pods that it would not take
}

// weigh says of groups that grow what they were weighed against, and of those that could have grown for the same pods by whom they were
// outweighed: how many machines each alone would have needed, and what the best mix without the group costs where that is quickly found.
func (d *Growth) weigh(c *Candidates, b *mix) {
	if len(d.Snapshot.Groups) < 2 {
		return
	}
	work, weighed := weighingWork, 0
	for i, st := range c.Groups {
		if st.Adding <= st.raised || weighed == weighedGroups {
			continue
		}
		pods := c.servedBy(st)
		if len(pods) == 0 {
			continue
		}
		weighed++
		machines := st.Adding - st.raised
		rivals := d.rivals(c, b, i, pods, &work)
		words := d.versus(c, b, rivals)
		words = append(words, d.blockedRivals(pods)...)
		if more := d.remix(b, st); more != "" {
			words = append(words, more)
		}
		against := "no other group takes these pods"
		if len(words) > 0 {
			against = "against " + strings.Join(words, ", ")
		}
		cost := b.inWords(st, machines) + b.unit()
		r := reason.New(reason.Weighed, reason.Group(string(st.ID)), "machines", plural(machines, "machine"), "cost", cost, "against", against)
		st.Weighed = &r
		for _, other := range rivals {
			if o := c.Groups[other.at]; o.Adding == 0 && o.Weighed == nil && other.misses == 0 && d.MostMore(o) > 0 {
				r := reason.New(reason.Outweighed, reason.Group(string(o.ID)), "group", st.ID, "machines", machines, "cost", cost, "instead", other.inWords(b, o))
				o.Weighed = &r
			}
		}
	}
}

// servedBy are the pods that the group's new machines are for.
func (c *Candidates) servedBy(st *Order) []batch {
	var all []batch
	for _, w := range c.wanted {
		if n := w.at[st]; n > 0 {
			all = append(all, batch{w, n})
		}
	}
	return all
}

// rivals are the groups that would take some of the pods: those first that would take all of them, then the cheapest. Only of those that are
// named it is found out how many machines they would need; of the others it is bounded.
func (d *Growth) rivals(c *Candidates, b *mix, own int, pods []batch, work *int) []rival {
	var all []rival
	whole := newVolume(pods)
	var taken []batch
	takenBy := func(i int) []batch {
		taken = taken[:0]
		for _, p := range pods {
			if c.suited(p.wanted, i) {
				taken = append(taken, p)
			}
		}
		return taken
	}
	for i := range c.Groups {
		one := rival{at: i, atLeast: true}
		for _, p := range pods {
			if !c.suited(p.wanted, i) {
				one.misses += p.n
			}
		}
		if i == own || one.misses == whole.pods {
			continue
		}
		v := whole
		if one.misses > 0 {
			v = newVolume(takenBy(i))
		}
		one.machines = v.machines(c.free[c.first[i]])
		all = append(all, one)
	}
	cost := func(r rival) int64 { return int64(r.machines) * b.cost(c.Groups[r.at]) }
	nearest := func(x, y rival) int { return cmp.Or(cmp.Compare(x.misses, y.misses), cmp.Compare(cost(x), cost(y))) }
	slices.SortStableFunc(all, nearest)
	for k := range all[:min(namedRivals, len(all))] {
		r := &all[k]
		those := takenBy(r.at)
		if steps := len(those) * len(those); steps <= *work {
			*work -= steps
			r.machines = c.fillAlone(r.at, those)
			r.atLeast = slices.ContainsFunc(those, func(p batch) bool { return p.depends })
		}
	}
	slices.SortStableFunc(all[:min(namedRivals, len(all))], nearest)
	return all
}

// fillAlone is how many machines of one group hold the pods when each goes to the first machine with room, the largest first. Machines with
// the same content are counted together.
func (c *Candidates) fillAlone(group int, pods []batch) int {
	type alike struct {
		free []int64
		n    int
	}
	take := func(free []int64, p batch, n int) []int64 {
		left := slices.Clone(free)
		for dim, need := range p.needs {
			left[dim] -= need * int64(n)
		}
		return left
	}
	var open []alike
	machines, empty := 0, c.free[c.first[group]]
	for _, p := range pods {
		left := p.n
		for k, known := 0, len(open); k < known && left > 0; k++ {
			each := howMany(open[k].free, p)
			if each == 0 {
				continue
			}
			full, rest := left/each, left%each
			if full >= open[k].n {
				full, rest = open[k].n, 0
			}
			left -= full*each + rest
			if full > 0 {
				open = append(open, alike{take(open[k].free, p, each), full})
			}
			if rest > 0 {
				open = append(open, alike{take(open[k].free, p, rest), 1})
				full++
			}
			open[k].n -= full
		}
		open = slices.DeleteFunc(open, func(a alike) bool { return a.n == 0 })
		if each := max(1, howMany(empty, p)); left > 0 {
			full, rest := left/each, left%each
			if full > 0 {
				open = append(open, alike{take(empty, p, each), full})
			}
			if rest > 0 {
				open = append(open, alike{take(empty, p, rest), 1})
				full++
			}
			machines += full
		}
	}
	return machines
}

// howMany is how many of the pods go into what is free.
func howMany(free []int64, p batch) int {
	fit := int64(p.n)
	if p.alone {
		fit = 1
	}
	for dim, need := range p.needs {
		if need > 0 {
			fit = min(fit, max(0, free[dim])/need)
		}
	}
	return int(fit)
}

// volume is what pods ask for together, as if it could be poured.
type volume struct {
	pods int
	sum  []float64 // by dimension
	most int       // pods of one demand of which no two share a machine
}

func newVolume(pods []batch) volume {
	var v volume
	for _, p := range pods {
		v.pods += p.n
		if more := len(p.needs) - len(v.sum); more > 0 {
			v.sum = append(v.sum, make([]float64, more)...)
		}
		for dim, need := range p.needs {
			v.sum[dim] += float64(float64(need) * float64(p.n))
		}
		if p.alone {
			v.most = max(v.most, p.n)
		}
	}
	return v
}

// machines is a number of machines with so much free that is too small for the pods, or just enough.
func (v volume) machines(free []int64) int {
	n := max(1, v.most)
	for dim, sum := range v.sum {
		if sum > 0 && free[dim] > 0 {
			n = max(n, int(math.Ceil(sum/float64(free[dim])-1e-9)))
		}
	}
	return n
}

// versus are the nearest rivals in words.
func (d *Growth) versus(c *Candidates, b *mix, rivals []rival) []string {
	var words []string
	for _, r := range rivals[:min(namedRivals, len(rivals))] {
		st := c.Groups[r.at]
		one := fmt.Sprintf("%s: %s", st.ID, r.inWords(b, st))
		switch more := d.MostMore(st) + st.Adding - st.raised; {
		case r.misses > 0:
			one += fmt.Sprintf(" without %s that it does not take", plural(r.misses, "pod"))
		case more == 0:
			one += " but may not grow"
		case more < r.machines:
			one += fmt.Sprintf(" but may add %d", more)
		}
		words = append(words, one)
	}
	if more := len(rivals) - namedRivals; more > 0 {
		words = append(words, plural(more, "more group"))
	}
	return words
}

func (r rival) inWords(b *mix, st *Order) string {
	words := fmt.Sprintf("%d for %s", r.machines, b.inWords(st, r.machines))
	if r.atLeast {
		return "at least " + words
	}
	return words
}

// blockedRivals are groups in words that may not grow now and would take all of the pods.
func (d *Growth) blockedRivals(pods []batch) []string {
	var words []string
	for _, g := range d.Snapshot.Groups {
		st := d.Groups[g.ID]
		if st.Blocked == nil || st.Blocked.Code != reason.GroupBackoff || st.Template == nil || len(words) == namedRivals {
			continue
		}
		takes := false
		for _, zone := range st.Sites() {
			d.OnEmpty(st.Incoming, zone, func(h scheduling.Handle) {
				takes = takes || len(pods) <= remixedWork && !slices.ContainsFunc(pods, func(p batch) bool { return !d.Check.Suits(p.Of, h) })
			})
		}
		if takes {
			words = append(words, fmt.Sprintf("%s: in backoff until %s", g.ID, st.Blocked.Facts["until"]))
		}
	}
	return words
}

// remix says what the best mix without the group and those alike costs, "" where that is not quickly found.
func (d *Growth) remix(b *mix, st *Order) string {
	first := slices.IndexFunc(b.lots, func(l lot) bool { return slices.Contains(l.groups, st) })
	if !b.priced || first < 0 || len(b.lots) < 3 || len(b.lots)*len(b.classes) > remixedWork || slices.ContainsFunc(b.classes, func(w *wanted) bool { return w.depends }) {
		return "" // of two lots one is left: that is the rival itself
	}
	p := b.problem
	p.Groups = slices.Clone(p.Groups)
	p.Effort = remixEffort
	for i, l := range b.lots {
		if slices.Contains(l.groups, st) {
			p.Groups[i].Max = 0
		}
	}
	without := packing.Solve(p)
	if more := countLeft(without) - countLeft(b.found); more > 0 {
		return fmt.Sprintf("without it %s would have no place", plural(more, "more pod"))
	}
	return fmt.Sprintf("the best mix without it costs %s instead of %s", Dollars(float64(without.Cost)/1e6), Dollars(float64(b.found.Cost)/1e6))
}

// countLeft is how many pods got no place.
func countLeft(s packing.Solution) int {
	n := 0
	for _, l := range s.Left {
		n += l.Count
	}
	return n
}

// inWords is what machines of the group cost: their price by the hour, or what they have where none is known.
func (b *mix) inWords(st *Order, machines int) string {
	if b.priced {
		return Dollars(float64(machines) * b.price(st))
	}
	has := st.Template.Status.Allocatable
	return fmt.Sprintf("%d cores and %d GiB", int64(machines)*has.Cpu().MilliValue()/1000, int64(machines)*has.Memory().Value()>>30)
}

// unit follows the first of several prices.
func (b *mix) unit() string {
	if b.priced {
		return " USD an hour"
	}
	return ""
}
