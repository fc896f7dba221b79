package scheduling

import (
	"cmp"
	"slices"

	"sluice.dev/sluice/cluster"
)

// recollection is what a row has done since [Row.Recall], and what the row did that it recalls.
//
// Whether pods that mind nobody are welcome on a node depends on that node alone. So a fill is as it was in the cycle before on every node to
// which the same has happened until then: the same pods came, in the same order. The others are strange, and only they are asked. Nodes are
// told by their places in the row.
type recollection struct {
	snapshot uint64          // of the checker: see [Checker.snapshots]
	place    []int32         // in the row, by handle; -1 for nodes that are not in it
	touched  map[Handle]bool // nodes on which something was pretended already
	fills    []fill
	takes    []taken // of all fills, one fill after the other

	// What is recalled, nil when nothing is.
	past    *recollection
	heard   int     // of the checker's nodes on which pods came to stand or stand no longer
	now     []int32 // the places that the nodes of the row before have now, -1 for those that are gone
	next    int     // fills before it have happened again, or never will
	first   []int32 // by class: its first fill, -1 for none; then in the same way what it kept
	strange []int32 // places of nodes that are not as they were at this fill, in order
	is      []bool  // by place: it is among them
	differs []int32 // by place: how many pods more came in this fill than in the one before; zero between fills
}

// fill is one call of [Row.Fill] or [Row.Keep].
type fill struct {
	class    int32
	kept     bool  // it was the latter, which asks nodes for what they had
	again    int32 // the next fill of the class, -1 for none
	from, to int32 // of the takes
	whole    bool  // all pods found a place: nodes behind the last one were not asked
	minds    bool  // other pods had a bearing on where they went
}

// taken is pods that one node took.
type taken struct{ place, n int32 }

// farAhead is how many fills may be passed over to find the one that is happening again.
const farAhead = 32

// Recall has the row remember what it does, until [Row.Rest], and make use of what the last row remembers, nil for none: that of the
// snapshot before, over what the checker's nodes were then. The row finds the same places as without it. Who stands on a node from snapshot to
// snapshot (see [Checker.Lodge]) is part of the node.
func (r *Row) Recall(last *Row) {
	c := r.c
	m := &recollection{snapshot: c.snapshots, place: make([]int32, len(c.slots)), touched: map[Handle]bool{}}
	r.memory, r.remembers = nil, false
	if len(c.nominated) > 0 {
		return // pods that wait for a node make others unwelcome there
	}
	r.memory, r.remembers = m, true
	for i := range m.place {
		m.place[i] = -1
	}
	for i, h := range r.nodes {
		m.place[h] = int32(i)
	}
	for i := range c.journal.len() {
		switch w := c.journal.at(i); w.what {
		case placed, evicted:
			if m.place[w.node] >= 0 {
				m.touched[w.node] = true
			}
		case seated:
			for _, s := range w.more.seats {
				if m.place[s.On] >= 0 {
					m.touched[s.On] = true
				}
			}
		}
	}
	if last == nil || last.c != c || last.memory == nil || last.memory.snapshot+1 != c.snapshots {
		return
	}
	m.past = last.memory
	m.past.forget()
	m.is, m.differs = make([]bool, len(r.nodes)), make([]int32, len(r.nodes))
	m.now = make([]int32, len(last.marks))
	m.first = make([]int32, 2*len(c.classes))
	r.mark()
	i := 0
	for j := range last.marks { // both are in the order of names
		was := &last.marks[j]
		for i < len(r.marks) && r.marks[i].name < was.name {
			m.wonder(int32(i))
			i++
		}
		if m.now[j] = -1; i == len(r.marks) || r.marks[i].name != was.name {
			continue
		}
		m.now[j] = int32(i)
		if r.marks[i].made != was.made || was.made == 0 || c.slots[r.nodes[i]].turned == c.snapshots {
			m.wonder(int32(i))
		}
		i++
	}
	for ; i < len(r.marks); i++ {
		m.wonder(int32(i))
	}
	m.listen(c)
	for i := range m.first {
		m.first[i] = -1
	}
	for i := len(m.past.fills) - 1; i >= 0; i-- {
		f := &m.past.fills[i]
		slot := m.slot(f.class, f.kept)
		f.again, m.first[slot] = m.first[slot], int32(i)
	}
}

// Rest ends what [Row.Recall] began: what the row does from now on is not remembered.
func (r *Row) Rest() {
	if r.remembers {
		r.remembers = false
		r.mark()
	}
}

// forget leaves out what a row recalled itself.
func (m *recollection) forget() {
	m.past, m.now, m.first, m.strange, m.is, m.differs, m.place = nil, nil, nil, nil, nil, nil, nil
}

// mark is how a node is told from one of another cycle.
type mark struct {
	name string
	made uint64 // the same for nodes that began alike, 0 for those of which nobody knows
}

// mark marks the row's nodes.
func (r *Row) mark() {
	if len(r.marks) == len(r.nodes) {
		return
	}
	r.marks = make([]mark, len(r.nodes))
	for i, h := range r.nodes {
		s := &r.c.slots[h]
		made := uint64(h)<<1 | 1 // a node of the snapshot keeps its handle as long as it is there
		if s.template != nil {
			made = s.template.mark() &^ 1
		} else if int(h) >= r.c.settled {
			made = 0
		}
		if r.memory != nil && r.memory.touched[h] {
			made = 0
		}
		r.marks[i] = mark{s.name, made}
	}
}

// mark digests all that a machine begins with; 0 for machines with devices.
func (t *Template) mark() uint64 {
	if t.slices != nil {
		return 0
	}
	sum := mix(mix(t.digest, uint64(t.attaches)), uint64(len(t.pods)))
	for i := range t.pods {
		sum = mixEntry(sum, &t.pods[i])
	}
	return sum
}

// wonder notes that the node is not as it was.
func (m *recollection) wonder(place int32) {
	if m.is[place] {
		return
	}
	m.is[place] = true
	if n := len(m.strange); n == 0 || m.strange[n-1] < place {
		m.strange = append(m.strange, place)
		return
	}
	i, _ := slices.BinarySearch(m.strange, place)
	m.strange = slices.Insert(m.strange, i, place)
}

// listen notes the nodes on which others stand than stood there in the snapshot before. Who stands is kept before anybody is filled in: so the fills of
// that snapshot were all beside those who stood at its end.
func (m *recollection) listen(c *Checker) {
	for _, h := range c.shaken[m.heard:] {
		if m.past != nil && int(h) < len(m.place) && m.place[h] >= 0 {
			m.wonder(m.place[h])
		}
	}
	m.heard = len(c.shaken)
}

// note remembers pods that were kept on the node, if the row remembers.
func (r *Row) note(h Handle, n int) {
	if r.remembers {
		r.memory.takes = append(r.memory.takes, taken{r.memory.place[h], int32(n)})
	}
}

// happened finds the fill that is happening again, nil when it never happened. Those that come before it have not happened this time: the
// nodes that took pods then are not as they were.
func (m *recollection) happened(class int32, kept bool) *fill {
	if m.past == nil || int(class) >= len(m.first)/2 {
		return nil
	}
	slot := m.slot(class, kept)
	i := m.first[slot]
	for i >= 0 && int(i) < m.next {
		i = m.past.fills[i].again
	}
	m.first[slot] = i
	if i < 0 || int(i) > m.next+farAhead {
		return nil
	}
	for ; m.next < int(i); m.next++ {
		m.missed(&m.past.fills[m.next])
	}
	m.next++
	return &m.past.fills[i]
}

// slot is the place in first of a class.
func (m *recollection) slot(class int32, kept bool) int {
	if kept {
		return len(m.first)/2 + int(class)
	}
	return int(class)
}

// missed notes the nodes that a fill had pods on.
func (m *recollection) missed(f *fill) {
	for _, t := range m.past.takes[f.from:f.to] {
		if at := m.now[t.place]; at >= 0 {
			m.wonder(at)
		}
	}
}

// recall is [Row.Fill] with a memory.
func (r *Row) recall(of *cluster.Class, n int, visit func(h Handle, n int)) int {
	m, c := r.memory, r.c
	m.listen(c)
	cl := c.class(of)
	k := c.kindFor(of)
	was := m.happened(cl.id, false)
	from, took := len(m.takes), m.hear(visit)
	var placed int
	minds := c.minds(k)
	if was != nil && !was.minds && !minds {
		placed = r.repeat(k, cl, was, n, took)
	} else {
		placed = r.fillAnew(k, of, n, took)
	}
	m.listen(c)
	m.note(was, fill{class: cl.id, from: int32(from), whole: placed == n, minds: minds})
	return placed
}

// hear has every node that takes pods remembered before visit, which may be nil, hears of it.
func (m *recollection) hear(visit func(h Handle, n int)) func(h Handle, n int) {
	return func(h Handle, n int) {
		m.takes = append(m.takes, taken{m.place[h], int32(n)})
		if visit != nil {
			visit(h, n)
		}
	}
}

// note remembers a fill that took what has been taken since its beginning; was is the one that it repeats, nil for none.
func (m *recollection) note(was *fill, f fill) {
	m.gather(int(f.from))
	f.to = int32(len(m.takes))
	m.fills = append(m.fills, f)
	if m.past != nil {
		m.compare(was, m.takes[f.from:])
	}
}

// gather puts the takes of a fill in the order of places, one for each.
func (m *recollection) gather(from int) {
	own := m.takes[from:]
	byPlace := func(a, b taken) int { return cmp.Compare(a.place, b.place) }
	if !slices.IsSortedFunc(own, byPlace) {
		slices.SortFunc(own, byPlace)
	}
	kept := own[:0]
	for _, t := range own {
		if last := len(kept) - 1; last >= 0 && kept[last].place == t.place {
			kept[last].n += t.n
			continue
		}
		kept = append(kept, t)
	}
	m.takes = m.takes[:from+len(kept)]
}

// compare notes the nodes that took more pods or fewer than before; was is nil when there was no such fill.
func (m *recollection) compare(was *fill, own []taken) {
	for _, t := range own {
		m.differs[t.place] += t.n
	}
	if was != nil {
		for _, t := range m.past.takes[was.from:was.to] {
			if at := m.now[t.place]; at >= 0 {
				if m.differs[at] != t.n {
					m.wonder(at)
				}
				m.differs[at] = 0
			}
		}
	}
	for _, t := range own {
		if m.differs[t.place] != 0 {
			m.wonder(t.place)
		}
		m.differs[t.place] = 0
	}
}

// repeat places pods that mind nobody as a fill before did, but on nodes that are not as they were.
func (r *Row) repeat(k *kind, cl *class, was *fill, n int, visit func(h Handle, n int)) int {
	m, left := r.memory, n
	strange, before := m.strange, m.past.takes[was.from:was.to]
	end := len(r.nodes) // from here on nobody was asked
	if was.whole {
		end = 0
		for _, t := range before {
			end = max(end, int(m.now[t.place])+1)
		}
	}
	last := len(before) - 1
	for i := 0; left > 0; {
		for i < len(before) && m.now[before[i].place] < 0 {
			i++ // a node that is gone
		}
		at := int32(end)
		known := i < len(before)
		if known {
			at = m.now[before[i].place]
		}
		if len(strange) > 0 && strange[0] <= at && int(strange[0]) < end {
			if known && strange[0] == at {
				i++
			}
			left -= r.ask(k, cl, strange[0], left, visit)
			strange = strange[1:]
			continue
		}
		if !known {
			break
		}
		if i == last && was.whole { // it may have room for more
			left -= r.ask(k, cl, at, left, visit)
		} else {
			left -= r.have(cl, at, min(int(before[i].n), left), visit)
		}
		i++
	}
	for i := end; i < len(r.nodes) && left > 0; i++ {
		left -= r.ask(k, cl, int32(i), left, visit)
	}
	return n - left
}

// ask has the node take as many of the pods as it welcomes.
func (r *Row) ask(k *kind, cl *class, place int32, left int, visit func(h Handle, n int)) int {
	taken := 0
	for h := r.nodes[place]; taken < left && r.c.judge(k, h, nil) == welcome; {
		taken += r.have(cl, place, int(min(r.c.room(k, h), int64(left-taken))), visit)
	}
	return taken
}

// have has the node take so many of the pods.
func (r *Row) have(cl *class, place int32, n int, visit func(h Handle, n int)) int {
	r.c.put(r.nodes[place], entry{class: cl.id, n: int32(n)})
	visit(r.nodes[place], n)
	return n
}
