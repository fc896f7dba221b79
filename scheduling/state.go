package scheduling

import "math/bits"

// State tells apart what a checker is asked about: the cluster it was made of and all that is pretended now. As long as it is the
// same, the same question of the same checker has the same answer. Only its own checker's states compare.
type State struct {
	cluster uint64 // how often the cluster has changed from snapshot to snapshot
	whatIfs uint64 // a digest of those that stand, in their order
}

// State is what the checker is asked about now. Undoing a what-if brings the state from before it back; the same what-ifs made again
// lead to the same state again.
func (c *Checker) State() State {
	from := c.journal.len()
	for from > 0 && !c.journal.at(from-1).digested {
		from--
	}
	var sum uint64
	if from > 0 {
		sum = c.journal.at(from - 1).digest
	}
	for i := from; i < c.journal.len(); i++ {
		w := c.journal.at(i)
		sum = c.digest(sum, w)
		w.digest, w.digested = sum, true
	}
	return State{c.changes, sum}
}

// digest adds a what-if to a digest. Of pods it tells the class, how many they are and whether they are leaving: nothing else about
// them plays a part, unless they are waited for.
func (c *Checker) digest(sum uint64, w *whatIf) uint64 {
	if w.what == nothing {
		return sum
	}
	sum = mix(mix(sum, uint64(w.what)), uint64(w.node))
	switch w.what {
	case placed, evicted:
		if sum = mixEntry(sum, &w.entry); w.more != nil && w.more.waiting != nil {
			sum = mixString(mixString(mix(sum, uint64(w.more.waited)), w.entry.pod.String()), string(w.entry.pod.UID))
		}
	case seated:
		sum = mix(sum, uint64(w.entry.class))
		for _, s := range w.more.seats {
			sum = mix(mix(sum, uint64(s.On)), uint64(s.Pods))
		}
	case added:
		s := &c.slots[w.node]
		sum = mixString(sum, s.name)
		if s.template != nil {
			sum = mix(mix(sum, s.template.digest), uint64(s.template.attaches))
			for _, own := range s.template.slices {
				sum = mixObject(sum, own)
			}
		} else {
			sum = mixObject(sum, s.node)
		}
		for i := range w.more.before {
			sum = mixEntry(sum, &w.more.before[i])
		}
	}
	return sum
}

func mixEntry(sum uint64, e *entry) uint64 {
	n := uint64(uint32(e.n)) << 1
	if e.leaving() {
		n++
	}
	return mix(mix(sum, uint64(e.class)), n)
}

// mixObject adds all that an object says.
func mixObject(sum uint64, o interface{ Marshal() ([]byte, error) }) uint64 {
	raw, err := o.Marshal() // with the keys of maps in order
	if err != nil {
		panic("scheduling: an object does not encode: " + err.Error()) // its types leave no room for that
	}
	return mixString(sum, string(raw))
}

func mixString(sum uint64, s string) uint64 {
	sum = mix(sum, uint64(len(s)))
	for ; len(s) >= 8; s = s[8:] {
		sum = mix(sum, uint64(s[0])|uint64(s[1])<<8|uint64(s[2])<<16|uint64(s[3])<<24|uint64(s[4])<<32|uint64(s[5])<<40|uint64(s[6])<<48|uint64(s[7])<<56)
	}
	for i := range len(s) {
		sum = mix(sum, uint64(s[i]))
	}
	return sum
}

// mix is one round of a multiplying hash: each bit of what went in moves half the bits of the sum.
func mix(sum, v uint64) uint64 {
	high, low := bits.Mul64(sum^v^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return high ^ low ^ bits.RotateLeft64(sum, 23)
}
