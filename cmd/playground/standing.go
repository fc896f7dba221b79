package main

import (
	"fmt"
	"strings"
)

// machinesOf counts the machines that Azure has of a group, those that boot or are being deleted included.
func (p *playground) machinesOf(g group) int {
	n := 0
	for _, m := range p.azure.Machines() {
		if m.ScaleSet == g.name {
			n++
		}
	}
	return n
}

func (p *playground) atMinimum() bool {
	for _, g := range groups {
		if p.machinesOf(g) != g.min {
			return false
		}
	}
	return true
}

func (p *playground) readyNodes() int {
	n := 0
	for _, node := range p.observer.nodesNow() {
		if node.ready {
			n++
		}
	}
	return n
}

// standing is how many machines each group has, in a few words.
func (p *playground) standing() string {
	var words []string
	for _, g := range groups {
		words = append(words, fmt.Sprintf("%s %d", g.name, p.machinesOf(g)))
	}
	return strings.Join(words, ", ") + "; " + counted(p.readyNodes(), "node") + " up"
}
