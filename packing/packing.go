// Package packing chooses machines: given classes of pods that are alike and groups of machines that are alike, it says how many
// machines of each group to add at the least cost, which pods go on which of them, and a cost that no choice can be below.
//
// It knows no more of a cluster than integer vectors. A pod asks for a vector, an empty machine offers one (what its DaemonSets take
// already subtracted), and a set of pods fits a machine when their sum is at most the offer in every dimension. What is asked and
// offered has no unit here: the caller picks one for each dimension and keeps to it. A rule that at most so many pods of some kind
// share a machine is a dimension of its own, such as one for each host port, or [Class.PerMachine].
//
// Machines with the same content are one pattern with a count, so that the work follows the number of classes and not the number of
// pods. How the pieces meet:
//
//	problem.go    what is asked                        instance.go  the same, merged and compact
//	room.go       limits, and drafts of plans          dominated.go groups that no plan needs
//	fluid.go      prices of pods that could be poured  columns.go   prices by what machines really hold
//	knapsack.go   the most valuable content            simplex.go   the linear program behind columns.go
//	fill.go       content of one machine               build.go     many machines, greedily
//	limits.go     limits that could bind               tolls.go     prices of what machines take of them
//	cuts.go       what machines must satisfy           fleets.go    how many of which group satisfy it
//	repack.go     few machines, nearly exactly         exact.go     all ways to put pods on few machines
//	improve.go    some machines built anew, cheaper    scarce.go    when limits leave somebody
//	bound.go      what nothing costs less than
//	solve.go      all of it in order                   answer.go    back to the caller's classes
//
// All of it is deterministic, on every platform: no map is ranged over, products are rounded before they are added, and budgets are
// counted work.
package packing
