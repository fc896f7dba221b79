package packing

import "math"

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
	fewKinds   = 24
	angleBands = 8
	sizeBands  = 5
	fitBands   = 3
)

// newLanes sorts the kinds of which there are pods.
func newLanes(in *instance, g int, p *prices, have []int) *lanes {
	l := &lanes{group: g, pull: make([]float64, 3*in.dims)}
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
		for _, c := range in.order.large {
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
	one, two := scarcest(p.weight[l.group*in.dims : (l.group+1)*in.dims])
	places := make([]place, 0, len(flat))
	size := make([]int, angleBands*sizeBands*fitBands)
	fit := make([]float64, len(size))
	for _, c := range in.order.large {
		if have[c] == 0 || !in.takes[c].Has(l.group) {
			continue
		}
		most := 0.0
		for d, r := range in.share[c*in.dims : (c+1)*in.dims] {
			most = max(most, float64(r*in.inverse[l.group*in.dims+d]))
		}
		x, y := in.share[c*in.dims+one]*in.inverse[l.group*in.dims+one], in.share[c*in.dims+two]*in.inverse[l.group*in.dims+two]
		of := 0
		if x > 0 {
			of = min(angleBands-1, int(angleBands*x/(x+y)))
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

// scarcest is the dimensions with the largest weights; they are the same where there is one alone.
func scarcest(weight []float64) (one, two int) {
	for d, w := range weight {
		if w > weight[one] {
			one = d
		}
	}
	for d, w := range weight {
		if d != one && (two == one || w > weight[two]) {
			two = d
		}
	}
	return one, two
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
	balanced style = iota // the pods that go best with what is left of each dimension, large ones rather than small ones
	largest               // the pods that need most of the scarce dimensions
	styles
)

// fill puts pods of which there are have on one machine that has free left, and appends what it put there to onto. It takes from free
// and not from have. Pods of kinds with a limit for one machine must not be on it yet.
func (l *lanes) fill(in *instance, p *prices, have []int, free []int64, how style, onto []load) []load {
	clear(l.cursor)
	weight := p.weight[l.group*in.dims : (l.group+1)*in.dims]
	inverse := in.inverse[l.group*in.dims : (l.group+1)*in.dims]
	pull, size, square := l.pull[:in.dims], l.pull[in.dims:2*in.dims], l.pull[2*in.dims:]
	first := len(onto)
	for {
		var long float64 // of what is free, as a weighted vector
		for d, w := range weight {
			w += 0.01
			f := float64(free[d]) * inverse[d]
			long += float64(w * f * f)
			pull[d] = w * f * inverse[d]
			size[d] = w * inverse[d]
			square[d] = w * inverse[d] * inverse[d]
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
			var along, big, short float64
			for d, r := range in.share[c*in.dims : (c+1)*in.dims] {
				along += float64(r * pull[d])
				big += float64(r * size[d])
				short += float64(r*r) * square[d]
			}
			score := big
			if how == balanced && short > 0 {
				score = math.Sqrt(big)
				cos := along * along / float64(long*short) // of the angle, squared
				cos *= cos
				score *= float64(cos * cos)
			}
			if score *= l.fit[q]; score > best {
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
