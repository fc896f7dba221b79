package scheduling

// journal is the what-ifs that stand, in their order. It grows by pages, which stay where they are and are used again: a what-if is never
// copied, and one that is tried and taken back many times costs no memory.
type journal struct {
	pages []*page
	n     int
}

// page is what-ifs that lie together: as many as make a block of memory that the runtime has at hand.
type page [pageLength]whatIf

const pageLength = 256

// len is how many what-ifs stand.
func (j *journal) len() int { return j.n }

// at is a what-if by its place. It stays valid until it is dropped.
func (j *journal) at(i int) *whatIf { return &j.pages[i/pageLength][i%pageLength] }

// push adds one at the end.
func (j *journal) push(w whatIf) *whatIf {
	if j.n == len(j.pages)*pageLength {
		j.pages = append(j.pages, new(page))
	}
	j.n++
	last := j.at(j.n - 1)
	*last = w
	return last
}

// drop forgets the last one.
func (j *journal) drop() {
	j.n--
	*j.at(j.n) = whatIf{}
}
