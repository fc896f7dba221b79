package grow

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"sluice.dev/sluice/reason"
)

// weighedGroups is how many groups that grow say what they were weighed against. All in this file explains a decision and changes none.
const weighedGroups = 16

// batch is so many pods of a demand.
type batch struct {
	*wanted
	n int
}

// rival is a group that could have grown instead of another one. machines is a lower bound: what the pods ask for together, without the
// gaps that real pods leave. misses are pods of the other group that the rival would not take.
type rival struct {
	*Order
	machines int // too few to hold the pods, or just enough
	misses   int // of the pods that it would not take
}

// weigh says of groups that grow for pods what the nearest other group would have cost. Of groups that do not grow, although they may and
// take all of these pods, it says which group outweighed them. Machines of a floor are left out, since no choice led to them.
func (jt *Joint) weigh(c *Candidates, b *mix) {
	weighed := 0
	for i, st := range c.Groups {
		pods := c.servedBy(st)
		if len(jt.Snapshot.Groups) < 2 || st.Adding <= st.raised || len(pods) == 0 || weighed == weighedGroups {
			continue
		}
		weighed++
		machines := st.Adding - st.raised
		rivals := c.rivals(b, i, pods)
		against := "no other group takes these pods"
		if len(rivals) > 0 {
			against = "against " + jt.versus(b, rivals[0])
		}
		cost := b.inWords(st, machines) + b.unit()
		r := reason.New(reason.Weighed, reason.Group(string(st.ID)), "machines", plural(machines, "machine"), "cost", cost, "against", against)
		st.weigh(&r)
		for _, o := range rivals {
			if o.Adding == 0 && o.Weighed == nil && o.misses == 0 && jt.limits.MostMore(o.Order) > 0 {
				r := reason.New(reason.Outweighed, reason.Group(string(o.ID)), "group", st.ID, "machines", machines, "cost", cost, "instead", o.inWords(b))
				o.weigh(&r)
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

// rivals are the other groups that would take some of the pods, the nearest first: those that miss fewest pods, then the cheapest.
func (c *Candidates) rivals(b *mix, own int, pods []batch) []rival {
	var all []rival
	for i, st := range c.Groups {
		one := rival{Order: st}
		var taken []batch
		for _, p := range pods {
			if c.suited(p.wanted, i) {
				taken = append(taken, p)
			} else {
				one.misses += p.n
			}
		}
		if i != own && len(taken) > 0 {
			one.machines = atLeast(taken, c.free[c.first[i]])
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(x, y rival) int {
		return cmp.Or(cmp.Compare(x.misses, y.misses), cmp.Compare(int64(x.machines)*b.cost(x.Order), int64(y.machines)*b.cost(y.Order)))
	})
	return all
}

// atLeast is a number of machines with so much free that is too small for the pods, or just enough: what they ask for together, as if it
// could be poured.
func atLeast(pods []batch, free []int64) int {
	n := 1
	for dim := range free {
		sum := 0.0
		for _, p := range pods {
			if p.alone {
				n = max(n, p.n)
			}
			if dim < len(p.needs) {
				// The conversion keeps the compiler from fusing product and sum. Fused, they round differently on some processors.
				sum += float64(float64(p.needs[dim]) * float64(p.n))
			}
		}
		// Where nothing is free no pod here asks for it: the machine suits them all.
		if sum > 0 && free[dim] > 0 {
			n = max(n, int(math.Ceil(sum/float64(free[dim])-1e-9)))
		}
	}
	return n
}

// versus is the nearest rival in words: what it would have cost, and the first of these that kept it from being chosen.
//
//	case                                 words
//	it does not take all pods            without so many pods
//	it may add no machine                but may not grow
//	it may add fewer than it would need  but may add so many
//	else                                 none: it costs more
func (jt *Joint) versus(b *mix, r rival) string {
	one := fmt.Sprintf("%s: %s", r.ID, r.inWords(b))
	switch more := jt.limits.MostMore(r.Order) + r.Adding - r.raised; {
	case r.misses > 0:
		one += fmt.Sprintf(" without %s that it does not take", plural(r.misses, "pod"))
	case more == 0:
		one += " but may not grow"
	case more < r.machines:
		one += fmt.Sprintf(" but may add %d", more)
	}
	return one
}

func (r rival) inWords(b *mix) string {
	return fmt.Sprintf("at least %d for %s", r.machines, b.inWords(r.Order, r.machines))
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
