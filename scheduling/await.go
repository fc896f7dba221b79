package scheduling

import (
	"slices"
	"strings"
)

// Awaited is a machine that is coming.
type Awaited struct {
	Like *Template
	Name string // that no node has
	Was  Handle // its handle in the last snapshot where that is known; any other one costs a look
}

// Await opens machines as [Checker.Open] does, but below all what-ifs: they stand in later snapshots as well until they are not among those that
// are awaited there, or are to be like another template. It is to be called before anything is pretended in a snapshot. The handles are in the
// order of the machines.
func (c *Checker) Await(all []Awaited) []Handle {
	if c.journal.len() > 0 {
		panic("scheduling: machines are awaited while something is pretended")
	}
	handles := make([]Handle, len(all))
	changed := false
	for i, a := range all {
		h, ok := a.Was, c.Is(a.Was, a.Name)
		if !ok {
			h, ok = c.byName[a.Name]
		}
		if ok && c.slots[h].awaited > 0 {
			if s := &c.slots[h]; s.template.same(a.Like) {
				s.awaited, handles[i] = c.snapshots+1, h
				continue
			}
			c.dismiss(h)
		}
		h = c.slot(slot{name: a.Name, template: a.Like, pods: a.Like.pods, awaited: c.snapshots + 1})
		c.enter(h)
		changed = true
		handles[i] = h
		c.awaited = append(c.awaited, h)
	}
	for _, h := range c.awaited {
		if s := &c.slots[h]; s.present && s.awaited != c.snapshots+1 {
			c.dismiss(h)
			changed = true
		}
	}
	if changed {
		c.awaited = slices.DeleteFunc(c.awaited, func(h Handle) bool { return !c.slots[h].present })
		slices.SortFunc(c.awaited, func(a, b Handle) int { return strings.Compare(c.slots[a].name, c.slots[b].name) })
	}
	return handles
}

// dismiss gives up the place of a machine that was awaited.
func (c *Checker) dismiss(h Handle) {
	c.vacate(h)
	c.leave(h)
	c.slots[h].pods = nil
}

// same says whether machines that are like the templates begin alike.
func (t *Template) same(o *Template) bool { return t == o || t.mark() != 0 && t.mark() == o.mark() }

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
