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

// Journal holds what-ifs. It grows by pages, which stay where they are and are used again: a what-if is never copied, and one that is
// tried and taken back many times costs no memory.
type Journal[T any] struct {
	*Clock
	revert func(*T)
	pages  []*[pageLength]record[T]
	n      int
}

// pageLength makes a page of what-ifs as long as a block of memory that the runtime has at hand.
const pageLength = 256

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
func (j *Journal[T]) Len() int { return j.n }

func (j *Journal[T]) at(i int) *record[T] { return &j.pages[i/pageLength][i%pageLength] }

// Push begins a what-if. It stays where it is until it is taken back.
func (j *Journal[T]) Push(change T) *T {
	if j.n == len(j.pages)*pageLength {
		j.pages = append(j.pages, new([pageLength]record[T]))
	}
	j.Tick()
	r := j.at(j.n)
	r.number, r.loosened, r.change = j.last, j.loosened, change
	j.n++
	return &r.change
}

// Undo takes back the last what-if and all that will have come after it. Once that one is gone it does nothing.
func (j *Journal[T]) Undo() func() {
	mark, number := j.n-1, j.last
	return func() {
		if mark < j.n && j.at(mark).number == number {
			j.Unwind(mark)
		}
	}
}

// Unwind takes back all but the first what-ifs, the last one first.
func (j *Journal[T]) Unwind(keep int) {
	for j.n > keep {
		r := j.at(j.n - 1)
		j.Tick() // counters that relax now did so after everything that stands
		j.revert(&r.change)
		j.loosened = r.loosened
		*r = record[T]{}
		j.n--
	}
}

// Point is a moment in the life of a world.
type Point struct {
	Number uint64 // of the last change by then
	depth  int    // what-ifs that stood
	known  bool   // the zero value is no moment
}

// Now is this moment.
func (j *Journal[T]) Now() Point { return Point{j.last, j.n, true} }

// Holds says whether what refused pods then still refuses them: what was pretended stands, and nothing has left since.
func (j *Journal[T]) Holds(p Point) bool {
	if !p.known || p.depth > j.n || j.loosened > p.Number {
		return false
	}
	return p.depth == 0 || j.at(p.depth-1).number <= p.Number
}
