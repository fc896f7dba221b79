package place

import (
	"strconv"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/scheduling"
)

// Recall is what placing knows of the last cycle.
type Recall struct {
	held  held
	names names
}

// held is where the places of the last cycle were, as its checker knew them.
type held struct {
	of    *memory.Places
	check *scheduling.Checker
	on    []scheduling.Handle // by [memory.Places.Nodes]
}

// names are the names of machines that are coming, each made once.
type names map[cluster.GroupID][]known

// known is a machine that is coming, and where it was in the last cycle in which it was.
type known struct {
	name string
	on   scheduling.Handle
}

// coming are the first so many of the group, whose names are [comingName].
func (n *names) coming(g cluster.GroupID, machines int) []known {
	if *n == nil {
		*n = names{}
	}
	for len((*n)[g]) < machines {
		(*n)[g] = append((*n)[g], known{name: comingName(g, len((*n)[g]))})
	}
	return (*n)[g]
}

// comingName names one of the machines of a group that are coming. They are numbered from 0 on: when one of them has come, the last
// number is gone.
func comingName(g cluster.GroupID, number int) string {
	return comingPrefix + string(g) + ":" + strconv.Itoa(number)
}

// comingPrefix begins the names of machines that are coming, as no node's name does.
const comingPrefix = "coming:"

// NewName names a machine that is being added.
func NewName(g cluster.GroupID, number int) string {
	return "new:" + string(g) + ":" + strconv.Itoa(number)
}
