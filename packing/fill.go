package packing

// lanes are the kinds that one group takes, sorted into queues of kinds that are much alike: they ask mostly for the same dimension,
// are of similar size and are similarly worth having on this group. The largest stands first. Filling a machine looks at the heads
// alone, so that its work does not grow with the number of kinds.
type lanes struct {
	group  int
	queues [][]int32
	fit    []float64 // by queue: what its pods are worth there, by their price elsewhere; at most about 1
	cursor []int     // scratch, by queue
	pull   []float64 // scratch, by dimension
}

// Up to fewKinds kinds each have a lane of their own; more are sorted by octaves of size and the sizeBands below.
const (
	fewKinds  = 24
	sizeBands = 5
	fitBands  = 3
)

// newLanes sorts the kinds of which there are pods.
func newLanes(in *instance, g int, p *prices, have []int) *lanes {
	l := &lanes{group: g, pull: make([]float64, in.dims)}
	n := 0
	for c, k := range have {
		if k > 0 && in.takes[c].Has(g) {
			n++
		}
	}
	flat := make([]int32, n)
	if n <= fewKinds {
		l.queues, l.fit = make([][]int32, 0, n), make([]float64, 0, n)
		i := 0
		for _, c := range in.large {
			if have[c] > 0 && in.takes[c].Has(g) {
				flat[i] = int32(c)
				l.queues = append(l.queues, flat[i:i+1])
				l.fit = append(l.fit, l.fitness(in, c, p))
				i++
			}
		}
	} else {
		l.sort(in, p, have, flat)
	}
	l.cursor = make([]int, len(l.queues))
	return l
}

// sort fills queues by dominant dimension, size and fitness; flat has room for all of them.
func (l *lanes) sort(in *instance, p *prices, have []int, flat []int32) {
	type place struct {
		kind int32
		lane int32
	}
	places := make([]place, 0, len(flat))
	size := make([]int, in.dims*sizeBands*fitBands)
	fit := make([]float64, len(size))
	for _, c := range in.large {
		if have[c] == 0 || !in.takes[c].Has(l.group) {
			continue
		}
		most, of := 0.0, 0
		for d, r := range in.share[c*in.dims : (c+1)*in.dims] {
			if a := float64(r * in.inverse[l.group*in.dims+d]); a > most {
				most, of = a, d
			}
		}
		band := 0
		for ; band < sizeBands-1 && most < 0.5; band++ {
			most *= 2
		}
		f := l.fitness(in, c, p)
		grade := 0
		switch {
		case f < 0.8:
			grade = 2
		case f < 0.95:
			grade = 1
		}
		lane := (of*sizeBands+band)*fitBands + grade
		size[lane]++
		fit[lane] += f
		places = append(places, place{int32(c), int32(lane)})
	}
	queue := make([]int, len(size)) // by lane: its queue
	for i, n := range size {
		if n > 0 {
			queue[i] = len(l.queues)
			l.queues = append(l.queues, flat[:0:n])
			l.fit = append(l.fit, fit[i]/float64(n))
			flat = flat[n:]
		}
	}
	for _, p := range places {
		q := queue[p.lane]
		l.queues[q] = append(l.queues[q], p.kind)
	}
}

// fitness is the price of a pod of the kind by what it would be worth on this group: 1 where the group is the cheapest place for it.
func (l *lanes) fitness(in *instance, c int, p *prices) float64 {
	var v float64
	for d, r := range in.share[c*in.dims : (c+1)*in.dims] {
		i := l.group*in.dims + d
		v += float64(r*in.inverse[i]) * p.weight[i]
	}
	if v *= in.price[l.group]; v <= 0 {
		return 1
	}
	return p.pod[c] / v
}

// style is how [lanes.fill] chooses the next pods for a machine.
type style int

const (
	balanced style = iota // the pods that go best with what is left of each dimension
	largest               // the pods that need most of the scarce dimensions
	styles
)

// fill puts pods of which there are have on one machine that has free left, and appends what it put there to onto. It takes from free
// and not from have. Pods of kinds with a limit for one machine must not be on it yet.
func (l *lanes) fill(in *instance, p *prices, have []int, free []int64, how style, onto []load) []load {
	clear(l.cursor)
	weight := p.weight[l.group*in.dims : (l.group+1)*in.dims]
	inverse := in.inverse[l.group*in.dims : (l.group+1)*in.dims]
	pull := l.pull
	first := len(onto)
	for {
		for d := range weight {
			pull[d] = inverse[d]
			if how == balanced {
				pull[d] *= float64((weight[d]+0.05)*float64(free[d])) * inverse[d]
			} else {
				pull[d] *= weight[d] + 0.01
			}
		}
		best, of := -1.0, -1
		for q, queue := range l.queues {
			i := l.cursor[q]
			for i < len(queue) && (have[queue[i]] == 0 || !fits(in.requests(int(queue[i])), free)) {
				i++
			}
			l.cursor[q] = i
			if i == len(queue) {
				continue
			}
			c := int(queue[i])
			var score float64
			for d, r := range in.share[c*in.dims : (c+1)*in.dims] {
				score += float64(r * pull[d])
			}
			if score *= float64(l.fit[q] * l.fit[q]); score > best {
				best, of = score, q
			}
		}
		if of < 0 {
			return onto
		}
		c := int(l.queues[of][l.cursor[of]])
		l.cursor[of]++ // back below, unless all that may go here have gone
		already := 0
		at := -1
		for i := first; i < len(onto); i++ {
			if onto[i].kind == c {
				at, already = i, onto[i].count
			}
		}
		n := times(in.requests(c), free, min(have[c], in.per[c])-already)
		if n <= 0 {
			continue
		}
		if how == balanced && n > 3 {
			n = (n + 3) / 4
			l.cursor[of]--
		} else if how == balanced && n > 1 {
			n = 1
			l.cursor[of]--
		}
		for d, r := range in.requests(c) {
			free[d] -= int64(n) * r
		}
		if at >= 0 {
			onto[at].count += n
		} else {
			onto = append(onto, load{c, n})
		}
	}
}

// worthOf is the worth of what a machine holds.
func worthOf(loads []load, worth []float64) float64 {
	var v float64
	for _, l := range loads {
		v += float64(float64(l.count) * worth[l.kind])
	}
	return v
}
