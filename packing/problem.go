package packing

import "math"

// Unlimited is a limit that never binds.
const Unlimited = math.MaxInt

// Problem is what to place and what may be added for it. Solve reads it and keeps nothing of it.
type Problem struct {
	Classes []Class
	// Groups stand in the order that decides between machines of equal cost and equal tie: the earlier one wins.
	Groups []Group
	// Caps bound what all added machines together may use, such as machines, cores, memory, a quota of one family, money. A machine
	// of group g uses Groups[g].Uses[k] of Caps[k].
	Caps []int64
	// Effort scales the work spent on improving the plan and its bound: 0 is the default of 100, less is faster and dearer, more is
	// slower. It is counted work, so that the same problem has the same solution on every machine.
	Effort int
}

// Class is a number of pods that are alike: the same requests, welcome on the same groups.
type Class struct {
	// Requests is what one pod asks for in each dimension, in the unit of [Group.Capacity]. What is missing at the end is zero, and
	// less than zero counts as zero.
	Requests []int64
	// Count is the number of pods.
	Count int
	// Groups are those that may run such pods, as indexes of [Problem.Groups]. The zero value is every group.
	Groups Set
	// PerMachine is the most pods of this class on one machine; 0 is no limit. Classes that have one are not merged with others.
	PerMachine int
	// Rank decides who is left when not everybody can be served: a higher rank is served before a lower one.
	Rank int
}

// Group is a kind of machine that may be added.
type Group struct {
	// Capacity is what an empty machine offers pods in each dimension: daemons are subtracted. What is missing at the end is zero.
	Capacity []int64
	// Cost is what one machine costs, in the caller's unit (such as millionths of a dollar an hour, or a rank). It is at least 1; less
	// counts as 1. The plan has the least sum that Solve finds.
	Cost int64
	// Tie decides between plans of equal cost: the least sum wins. It may be zero.
	Tie int64
	// Max is the most machines to add. The zero value adds none; see [Unlimited].
	Max int
	// Uses is what one machine takes of each of [Problem.Caps]. What is missing at the end is zero.
	Uses []int64
}

// Set is a set of small numbers as bits. The zero value stands for all of them; see [NewSet].
type Set []uint64

// NewSet is a set of numbers below n that has none yet.
func NewSet(n int) Set { return make(Set, max(1, (n+63)/64)) }

// Add puts a number below the n of [NewSet] into the set.
func (s Set) Add(i int) { s[i>>6] |= 1 << (i & 63) }

// Has says whether the number is in the set.
func (s Set) Has(i int) bool { return len(s) == 0 || i>>6 < len(s) && s[i>>6]&(1<<(i&63)) != 0 }

// Solution is which machines to add and what goes where. Every pod of the problem is either in Machines or in Left.
type Solution struct {
	// Machines are sorted by group, and in a group the ones that hold the most first.
	Machines []Machines
	// Left are pods that got no place, sorted by class.
	Left []Left
	// Cost is the sum over Machines, and Tie that of their ties.
	Cost, Tie int64
	// Bound is a cost that no plan which serves as many pods of each class as this one is below. It is at most Cost.
	Bound int64
}

// Machines are machines to add that hold the same pods.
type Machines struct {
	Group int // index of [Problem.Groups]
	Count int // at least 1
	// Pods is what each single machine holds, sorted by class; every count is at least 1.
	Pods []Pods
}

// Pods is a number of pods of one class.
type Pods struct {
	Class int // index of [Problem.Classes]
	Count int
}

// Left is a number of pods without a place and the limit that is in their way.
type Left struct {
	Pods
	Because Limit
	// Group is a group whose Max binds (Because is GroupMax), the first of several; else -1.
	Group int
	// Cap is an index of [Problem.Caps] that binds (Because is CapReached), the first of several; else -1.
	Cap int
}

// Limit is what keeps a pod from a place.
type Limit int

const (
	// NoGroupTakes says that no empty machine of any group that the class allows is large enough. More machines would not help.
	NoGroupTakes Limit = iota
	// GroupMax says that each group which could take the pod has no machine left to add.
	GroupMax
	// CapReached says that at least one group which could take the pod has machines to add and a cap forbids one more.
	CapReached
)

// Count is the number of machines of each group, indexed as [Problem.Groups].
func (s Solution) Count(groups int) []int {
	n := make([]int, groups)
	for _, m := range s.Machines {
		n[m.Group] += m.Count
	}
	return n
}
