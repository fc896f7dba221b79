package nodes

import (
	"math"

	"sluice.dev/sluice/scheduling/internal/resources"
)

// NoRoom is what a node has free that is not there.
const NoRoom = math.MinInt64 / 2

// BlockLength is how many nodes make a block: few enough that one of them with much room hides few that have none.
const BlockLength = 16

// Block is the node's block.
func Block(h Handle) int { return int(h) / BlockLength }

// free is what nodes have left. Nodes lie in blocks by their handles, and of each resource it is known what no node of a block has more
// of. A pod passes over a block in which no node has room for it without asking them one by one.
type free struct {
	left   [][]int64 // by dimension and node; of a node that is gone, no room for pods
	most   [][]int64 // by dimension and block: no node of the block has more. It may be too much, never too little
	shrunk []bool    // by block: a node of it may have less than when most was found
}

// reach makes room for so many nodes in so many dimensions.
func (f *free) reach(nodes, dims int) {
	for len(f.shrunk)*BlockLength < nodes {
		f.shrunk = append(f.shrunk, false)
	}
	for len(f.left) < dims {
		f.left, f.most = append(f.left, nil), append(f.most, nil)
	}
	for d := range f.left {
		for len(f.left[d]) < nodes {
			f.left[d] = append(f.left[d], 0)
		}
		for len(f.most[d]) < len(f.shrunk) {
			f.most[d] = append(f.most[d], 0)
		}
	}
}

// set says what the node has left of a resource.
func (f *free) set(d resources.Dimension, h Handle, n int64) {
	b := Block(h)
	f.left[d][h] = n
	f.shrunk[b] = true
	if most := &f.most[d][b]; *most < n {
		*most = n
	}
}

// full says that no node of the block, of so many nodes in all, has what is needed.
func (f *free) full(needs []resources.Need, block, nodes int) bool {
	if f.lacks(needs, block) {
		return true
	}
	if !f.shrunk[block] {
		return false
	}
	f.shrunk[block] = false
	from := block * BlockLength
	to := min(from+BlockLength, nodes)
	for d := range f.left {
		most := int64(NoRoom)
		for _, n := range f.left[d][from:to] {
			most = max(most, n)
		}
		f.most[d][block] = most
	}
	return f.lacks(needs, block)
}

// lacks says that no node of the block has more than what is known, and that this is too little.
func (f *free) lacks(needs []resources.Need, block int) bool {
	for i := range needs {
		if n := &needs[i]; n.Exceeds(f.most[n.Dim][block]) {
			return true
		}
	}
	return false
}
