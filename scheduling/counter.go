package scheduling

// counter counts pods by the domains of a topology, as pods come and go.
type counter struct {
	topology *topology
	selector *selector // of the pods that are counted; nil for pods with anti-affinity
	scope    *scope    // for spread: which nodes count; nil for all
	counts   []int32
	total    int64
	lives    int // for anti-affinity: terms of classes that are known now

	// For spread: how many domains of the scope have so many pods, and the least that one of them has.
	levels []int32
	least  int32

	relaxed uint64 // the what-if at which a pod that was refused because of this counter may have become welcome
}

// counterOf is the counter of pods that the selector matches, by topology; in a scope it leaves out pods that are being deleted.
func (c *Checker) counterOf(s *selector, t *topology, in *scope) *counter {
	for _, k := range s.counters {
		if k.topology == t && k.scope == in {
			return k
		}
	}
	k := &counter{topology: t, scope: in}
	if in != nil {
		in.counters = append(in.counters, k)
		for d, n := range in.nodes {
			if n > 0 {
				k.open(int32(d))
			}
		}
	}
	s.counters = append(s.counters, k)
	k.selector = s
	if c.late = append(c.late, k); !c.gather {
		c.countLate()
	}
	return k
}

// ownersOf is the counter of pods with a term of required anti-affinity against whom the selector matches, by topology.
func (c *Checker) ownersOf(s *selector, t *topology) *counter {
	for _, k := range s.owners {
		if k.topology == t {
			return k
		}
	}
	k := &counter{topology: t}
	s.owners = append(s.owners, k)
	c.repelling++
	return k
}

// countLate fills new counters with the pods that are there, in one pass for all of them.
func (c *Checker) countLate() {
	if len(c.late) == 0 {
		return
	}
	memo := make([][]*counter, len(c.classes)) // that count pods of the class
	asked := make([]bool, len(c.classes))
	for h := range c.slots {
		if !c.slots[h].present {
			continue
		}
		for i := range c.slots[h].pods {
			e := &c.slots[h].pods[i]
			if !asked[e.class] {
				asked[e.class] = true
				for _, s := range c.current(c.classes[e.class]).hits {
					for _, k := range c.late {
						if k.selector == s {
							memo[e.class] = append(memo[e.class], k)
						}
					}
				}
			}
			for _, k := range memo[e.class] {
				if k.scope == nil || !e.leaving() {
					k.add(Handle(h), e.n, 0)
				}
			}
		}
	}
	c.late = nil
}

// add counts n pods more on the node, fewer when n is negative.
func (k *counter) add(h Handle, n int32, at uint64) {
	d := k.topology.of[h]
	if d < 0 || k.scope != nil && !k.scope.counts[h] {
		return
	}
	k.counts = grown(k.counts, d)
	was := k.counts[d]
	is := was + n
	k.counts[d] = is
	k.total += int64(n)
	if k.scope == nil {
		if was == 0 {
			k.relaxed = at
		}
		return
	}
	k.leaveLevel(was)
	k.levels = grown(k.levels, is)
	k.levels[is]++
	least := k.least
	k.settle(is)
	if k.least > least {
		k.relaxed = at
	}
}

// count is how many pods the domain has.
func (k *counter) count(d int32) int32 {
	if int(d) >= len(k.counts) {
		return 0
	}
	return k.counts[d]
}

// open lets a domain count that had no node.
func (k *counter) open(d int32) {
	is := k.count(d)
	k.levels = grown(k.levels, is)
	k.levels[is]++
	k.settle(is)
}

// close leaves out a domain that has no node any more.
func (k *counter) close(d int32) {
	k.leaveLevel(k.count(d))
	k.settle(k.least)
}

func (k *counter) leaveLevel(n int32) { k.levels[n]-- }

// settle finds the least again after a domain has come to have n.
func (k *counter) settle(n int32) {
	if n < k.least || int(k.least) >= len(k.levels) {
		k.least = min(n, int32(len(k.levels)-1))
	}
	for k.levels[k.least] == 0 && int(k.least) < len(k.levels)-1 {
		k.least++
	}
	if k.levels[k.least] == 0 {
		k.least = 0 // no domain at all
	}
}

// lowest is the number that skews are measured against.
func (k *counter) lowest(minDomains int32) int32 {
	if k.scope.domains < minDomains {
		return 0
	}
	return k.least
}
