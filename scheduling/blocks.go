package scheduling

// Nodes lie in blocks by their handles, and of each resource it is known what no node of a block has more of: a pod passes over a block
// in which no node has room for it without asking them one by one. What is known may be too much, never too little.

// blockLength is how many nodes make a block: few enough that one of them with much room hides few that have none.
const blockLength = 16

func blockOf(h Handle) int { return int(h) / blockLength }

// blocks is what is known of the blocks.
type blocks struct {
	most   [][]int64 // by dimension and block
	shrunk []bool    // by block: a node of it may have less than when most was found
}

// reach makes room for nodes up to one, in so many dimensions.
func (b *blocks) reach(h Handle, dims int) {
	for len(b.shrunk) <= blockOf(h) {
		b.shrunk = append(b.shrunk, false)
	}
	for len(b.most) < dims {
		b.most = append(b.most, nil)
	}
	for d := range b.most {
		for len(b.most[d]) < len(b.shrunk) {
			b.most[d] = append(b.most[d], 0)
		}
	}
}

// setFree says what the node has left of a resource.
func (c *Checker) setFree(d dimension, h Handle, n int64) {
	b := blockOf(h)
	c.free[d][h] = n
	c.blocks.shrunk[b] = true
	if most := &c.blocks.most[d][b]; *most < n {
		*most = n
	}
}

// full says that no node of the block has what a pod of the spec asks for. It says so only where [Checker.judge] answers notAnyMore for
// each of them.
func (c *Checker) full(s *spec, block int) bool {
	if c.blocks.lacks(s, block) {
		return true
	}
	if !c.blocks.shrunk[block] {
		return false
	}
	c.blocks.shrunk[block] = false
	from := block * blockLength
	to := min(from+blockLength, len(c.slots))
	for d := range c.free {
		most := int64(noRoom)
		for _, n := range c.free[d][from:to] {
			most = max(most, n)
		}
		c.blocks.most[d][block] = most
	}
	return c.blocks.lacks(s, block)
}

func (b *blocks) lacks(s *spec, block int) bool {
	for _, n := range s.needs {
		if n.asked > 0 && n.asked > b.most[n.dim][block] {
			return true
		}
	}
	return false
}
