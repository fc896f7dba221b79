package scheduling

import "slices"

// topology divides nodes by their value of one label. A node without the label is in no domain.
type topology struct {
	id      int32
	key     string
	domains map[string]int32
	of      []int32 // by node: its domain, -1 for none
}

// topology is the shared record of a label, filled in for the nodes that are there.
func (c *Checker) topology(key string) *topology {
	for _, t := range c.topologies {
		if t.key == key {
			return t
		}
	}
	t := &topology{id: int32(len(c.topologies)), key: key, domains: map[string]int32{}}
	for h := range c.slots {
		t.of = append(t.of, -1)
		t.put(c, Handle(h))
	}
	c.topologies = append(c.topologies, t)
	return t
}

// put looks up the node's domain.
func (t *topology) put(c *Checker, h Handle) {
	value, ok := c.label(h, t.key)
	if !ok {
		t.of[h] = -1
		return
	}
	d, known := t.domains[value]
	if !known {
		d = int32(len(t.domains))
		t.domains[value] = d
	}
	t.of[h] = d
}

// scope is the nodes over which spread constraints that are alike in this spread their pods, and their domains.
type scope struct {
	id          int32
	topology    *topology
	keys        []*topology  // a node must have all of these labels
	selection   *selection   // and be selected, nil for any node
	tolerations *tolerations // and have no taint that is not tolerated, nil for any node
	counts      []bool       // by node: it is one of the nodes, and present
	nodes       []int32      // by domain
	domains     int32        // that have nodes
	counters    []*counter
}

type scopeKey struct {
	keys                             string
	topology, selection, tolerations int32
}

func (c *Checker) scope(t *topology, keys []*topology, sel *selection, tol *tolerations) *scope {
	key := scopeKey{topology: t.id, selection: -1, tolerations: -1}
	if sel != nil {
		key.selection = sel.id
	}
	if tol != nil {
		key.tolerations = tol.id
	}
	ids := make([]byte, 0, 2*len(keys))
	for _, k := range keys {
		ids = append(ids, byte(k.id), byte(k.id>>8))
	}
	key.keys = string(ids)
	if s, ok := c.scopeOf[key]; ok {
		return s
	}
	s := &scope{id: int32(len(c.scopes)), topology: t, keys: keys, selection: sel, tolerations: tol}
	for h := range c.slots {
		s.counts = append(s.counts, false)
		if c.slots[h].present {
			s.join(c, Handle(h))
		}
	}
	c.scopeOf[key] = s
	c.scopes = append(c.scopes, s)
	return s
}

// join counts a node that has come, before its pods.
func (s *scope) join(c *Checker, h Handle) {
	if !s.belongs(c, h) {
		return
	}
	s.counts[h] = true
	d := s.topology.of[h]
	s.nodes = grown(s.nodes, d)
	s.nodes[d]++
	if s.nodes[d] > 1 {
		return
	}
	s.domains++
	for _, k := range s.counters {
		k.open(d)
		k.relaxed = c.last
	}
}

// leave forgets a node, after its pods.
func (s *scope) leave(h Handle) {
	if !s.counts[h] {
		return
	}
	s.counts[h] = false
	d := s.topology.of[h]
	s.nodes[d]--
	if s.nodes[d] > 0 {
		return
	}
	s.domains--
	for _, k := range s.counters {
		k.close(d)
	}
}

func (s *scope) belongs(c *Checker, h Handle) bool {
	if slices.ContainsFunc(s.keys, func(t *topology) bool { return t.of[h] < 0 }) {
		return false
	}
	return c.selected(s.selection, h) && (s.tolerations == nil || c.tolerated(s.tolerations, h)&verdictTaints != 0)
}

// grown is s with room for index i.
func grown(s []int32, i int32) []int32 {
	for len(s) <= int(i) {
		s = append(s, 0)
	}
	return s
}
