package reason

import "maps"

// A row is all that is said of a code. Names in braces are facts of the reason; {node}, {group} and {instance} are what the reason is about
// where no fact has that name. None ends with a full stop.
type row struct {
	says   string // the sentence
	remedy string // what would change it that a node or a machine stays; empty for a code that keeps nothing
	ends   string // what ends the wait, where the remedy does not say it; empty for a code that is no wait
	turn   bool   // a node stays for it only until its time or its turn comes
}

// A table has the rows of one subject. A new code stands in one file: its constant, and its row below. One with a remedy has a scenario
// besides, which the page docs/reference/blocking.md shows: see [Keeping].
type table map[Code]row

// rows has the row of every code.
var rows = merge(fits, pods, requests, groups, growth, nodes, evictions, machines, refusals, writes)

func merge(tables ...table) table {
	all := table{}
	for _, t := range tables {
		maps.Copy(all, t)
	}
	return all
}
