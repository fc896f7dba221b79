package packing

// mix is how many machines of which content the relaxed problem wants: parts of machines are allowed.
type mix struct {
	prices
	columns []column  // machines, of which
	amount  []float64 // so many
	limited bool      // some limit binds
}

// Limits on the work of [columns]: kinds; steps of one knapsack; of all together, with what setting them up and the steps of the
// simplex count; and rounds.
const (
	columnKinds    = 160
	knapsackSteps  = 2_000
	knapsackBudget = 600_000
	columnRounds   = 200
)

// columns prices pods by what whole machines can really hold: the relaxed problem chooses amounts of contents, each of which fits its
// machine pod by pod, and the contents are made as they are needed: by the most valuable one at the present prices. Its bound is
// far better than that of [fluid] where pods are large, and its amounts, rounded down, are a plan for all but the last few machines.
func columns(in *instance, count []int, start *prices, left *room, effort int) mix {
	m := mix{prices: *start}
	master, limits := in.master(count, left)
	var k knapsack
	budget := knapsackBudget * effort / 100
	worth := make([]float64, in.kinds)
	dear := make([]float64, in.groups) // what a machine costs with what its limits cost
	fresh := make([]column, 0, in.groups)
	steps := knapsackSteps
	for range columnRounds {
		master.drain(in.kinds)
		copy(worth, master.dual[:in.kinds])
		var debt float64
		limits.charge(in, master.dual[in.kinds:], dear, &debt)
		fresh = fresh[:0]
		scale := 1.0
		for g := range in.groups {
			if left.machines(g, 1) == 0 {
				continue
			}
			before := max(0, min(budget, steps))
			loads, upper := k.solve(in, g, in.order.large, worth, start.weight, count, dear[g], before)
			budget -= before - k.steps + len(k.kinds)
			scale = min(scale, dear[g]/upper)
			if len(loads) > 0 && worthOf(loads, worth) > dear[g]*(1+1e-7) {
				fresh = append(fresh, limits.column(in, g, loads))
			}
		}
		total := -debt
		for c, w := range worth {
			total += float64(float64(count[c])*max(0, w)) * scale
		}
		if total > m.total {
			m.total = total
			m.pod = make([]float64, in.kinds)
			for c, w := range worth {
				m.pod[c] = max(0, w) * scale
			}
		}
		if budget <= 0 || m.total > master.cost*(1-1e-5) {
			break
		}
		if len(fresh) == 0 { // the best contents are not found, or not known to be the best
			if steps *= 8; steps > budget {
				break
			}
			continue
		}
		moved := false
		for _, c := range fresh {
			if master.reduced(&c) < -1e-7*c.cost {
				moved = master.enter(c) || moved
				budget -= master.rows * master.rows / 32
			}
		}
		if !moved {
			break
		}
	}
	for i, c := range master.basis {
		if c.group >= 0 && master.value[i] > 1e-9 {
			m.columns = append(m.columns, c)
			m.amount = append(m.amount, master.value[i])
		}
	}
	m.limited = len(limits.rows) > 0
	return m
}

// drain lets kinds be served more often than asked where that would be cheaper, so that no price is below zero.
func (s *simplex) drain(kinds int) {
	for range kinds {
		worst, of := -1e-9, -1
		for c, y := range s.dual[:kinds] {
			if y < worst {
				worst, of = y, c
			}
		}
		if of < 0 || !s.enter(column{group: -1, entries: []entry{{of, -1}}}) {
			break
		}
	}
	for r := kinds; r < s.rows; r++ {
		if s.dual[r] > 1e-9 {
			s.enter(column{group: -1, entries: []entry{{r, 1}}})
		}
	}
}

// column is a machine of the group with these loads.
func (l *limits) column(in *instance, g int, loads []load) column {
	c := column{cost: in.price[g], group: g, loads: loads, entries: make([]entry, 0, len(loads)+2)}
	for _, x := range loads {
		c.entries = append(c.entries, entry{x.kind, float64(x.count)})
	}
	for i, r := range l.rows {
		if n := l.use(in, r, g); n > 0 {
			c.entries = append(c.entries, entry{in.kinds + i, n})
		}
	}
	return c
}

// master is the program with its first basis. Without limits that could bind, each kind has its best group to itself. With them, pods
// may stay without a place, at a price far above every machine's.
func (in *instance) master(count []int, left *room) (*simplex, *limits) {
	l := in.limits(count, left)
	right := make([]float64, in.kinds, in.kinds+len(l.rows))
	basis := make([]column, in.kinds, in.kinds+len(l.rows))
	dearest := 0.0
	for c := range in.kinds {
		right[c] = float64(count[c])
		g, n := in.cheapestAlone(c, count[c])
		dearest = max(dearest, in.price[g])
		basis[c] = l.column(in, g, []load{{c, n}})
	}
	if len(l.rows) > 0 {
		for c := range in.kinds {
			basis[c] = column{cost: 20 * dearest, group: -1, entries: []entry{{c, 1}}}
		}
		for i, r := range l.rows {
			basis = append(basis, column{group: -1, entries: []entry{{in.kinds + i, 1}}})
			right = append(right, r.right)
		}
	}
	return newSimplex(basis, right), l
}

// floor is the whole machines of the mix. Their pods are taken from have and the machines from the room.
func (m *mix) floor(have []int, left *room) []pattern {
	var patterns []pattern
	for i, c := range m.columns {
		n := min(int(m.amount[i]+1e-6), copies(c.loads, have))
		if n = left.machines(c.group, n); n == 0 {
			continue
		}
		for _, l := range c.loads {
			have[l.kind] -= n * l.count
		}
		left.take(c.group, n)
		patterns = append(patterns, pattern{c.group, n, c.loads})
	}
	return patterns
}
