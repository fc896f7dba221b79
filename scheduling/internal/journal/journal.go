// Package journal keeps the what-ifs that stand, and numbers all changes to a pretended world.
//
//	value     what it tells
//	Clock     how many changes there were, and after which one a pod may be welcome where it was not
//	Journal   the what-ifs that stand, in their order, each with what takes it back
//	Point     a moment: whatever was found out then still holds while Holds says so
package journal

// Clock numbers changes. Taking something back is a change too, so the number never falls.
type Clock struct {
	last     uint64
	loosened uint64 // the last change that stands and after which a pod may be welcome where it was not
}

// Last is the number of the last change.
func (c *Clock) Last() uint64 { return c.last }

// Tick begins a change.
func (c *Clock) Tick() { c.last++ }

// Loosen says that after the last change pods may be welcome where they were not.
func (c *Clock) Loosen() { c.loosened = c.last }

// Journal holds what-ifs. It keeps its memory: one that is tried and taken back many times costs none.
type Journal[T any] struct {
	*Clock
	revert func(*T)
	stand  []record[T] // in their order
}

// record is one what-if.
type record[T any] struct {
	number   uint64 // unique, rising
	loosened uint64 // of the clock, before
	change   T
}

// New makes an empty journal. Revert takes back one what-if, the last that stands.
func New[T any](clock *Clock, revert func(*T)) *Journal[T] {
	return &Journal[T]{Clock: clock, revert: revert}
}

// Len is how many what-ifs stand.
func (j *Journal[T]) Len() int { return len(j.stand) }

// Push begins a what-if. What is returned is to be completed before the next one.
func (j *Journal[T]) Push(change T) *T {
	j.Tick()
	j.stand = append(j.stand, record[T]{j.last, j.loosened, change})
	return &j.stand[len(j.stand)-1].change
}

// Undo takes back the last what-if and all that will have come after it. Once that one is gone it does nothing.
func (j *Journal[T]) Undo() func() {
	mark, number := len(j.stand)-1, j.last
	return func() {
		if mark < len(j.stand) && j.stand[mark].number == number {
			j.Unwind(mark)
		}
	}
}

// Unwind takes back all but the first what-ifs, the last one first.
func (j *Journal[T]) Unwind(keep int) {
	for len(j.stand) > keep {
		last := len(j.stand) - 1
		r := &j.stand[last]
		j.Tick() // counters that relax now did so after everything that stands
		j.revert(&r.change)
		j.loosened = r.loosened
		*r = record[T]{}
		j.stand = j.stand[:last]
	}
}

// Point is a moment in the life of a world.
type Point struct {
	Number uint64 // of the last change by then
	depth  int    // what-ifs that stood
	known  bool   // the zero value is no moment
}

// Now is this moment.
func (j *Journal[T]) Now() Point { return Point{j.last, len(j.stand), true} }

// Holds says whether what refused pods then still refuses them: what was pretended stands, and nothing has left since.
func (j *Journal[T]) Holds(p Point) bool {
	if !p.known || p.depth > len(j.stand) || j.loosened > p.Number {
		return false
	}
	return p.depth == 0 || j.stand[p.depth-1].number <= p.Number
}
