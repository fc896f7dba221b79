// Package certify asks Azure, a real one or the simulated one, whether the facts are so that sluice stands on.
//
// A fact is a [Probe]: one sentence, where it comes from, the promises of docs/safety.md that lean on it, and how to see it. A run makes a resource
// group of its own with two small scale sets and at most two spot machines, asks each probe, and removes by name what it made, however it ends. A probe
// knows nothing of the simulator: it states the fact itself, and says what it saw.
//
//	survey    which size, what it costs at most    reads
//	run       group, network, scale sets, probes   each written into a ledger before it is asked for
//	remove    what the ledger names, the group     only while nothing of others is in it
//
// What a run saw is a [Record], which names nothing of the subscription. The records in this repository make docs/reference/azure-facts.md.
package certify

import (
	"context"
	"fmt"
	"slices"
)

// Needs is what has to be there before a probe can ask.
type Needs int

// What probes need, each beside what is before it.
const (
	Group    Needs = iota // a resource group
	Set                   // a uniform scale set without machines
	Dear                  // a scale set whose machines nobody sells for what it offers
	Machine               // a machine of the uniform set
	Two                   // two of them
	Flexible              // a flexible scale set with one machine
)

func (n Needs) String() string {
	return [...]string{"a resource group", "a scale set", "a set no machine is sold to", "a machine", "two machines", "a flexible set with a machine"}[n]
}

// Probe is a fact of Azure that sluice stands on, and how to see whether it is so.
type Probe struct {
	Name     string   // in kebab case
	Fact     string   // one sentence in the present tense
	Source   string   // who says so: an address, or unseen
	Promises []string // of docs/safety.md that lean on it
	Needs    Needs
	Run      func(context.Context, *Lab) (Observation, error) // an error: it could not be asked
}

// Sources without an address.
const (
	unseen = "observed by nobody"           // somebody has concluded it, and nobody has published it
	unread = "documented; page not checked" // Azure's documentation is said to have it, and no page was read that does
)

// NotProbed is a fact that cannot be tried on purpose.
type NotProbed struct{ Fact, Source, Why string }

// Observation is what a probe saw.
type Observation struct {
	Agrees bool
	Seen   []Value
}

// Value is a small thing that was seen: a number, a word, a code.
type Value struct{ Name, Text string }

// seen makes an observation of names and values in turn.
func seen(agrees bool, pairs ...any) Observation {
	o := Observation{Agrees: agrees}
	for i := 0; i+1 < len(pairs); i += 2 {
		o.Seen = append(o.Seen, Value{fmt.Sprint(pairs[i]), fmt.Sprint(pairs[i+1])})
	}
	return o
}

// Probes are all of them, in the order in which a run asks.
func Probes() []Probe {
	return slices.Concat(answerProbes, setProbes, dearProbes, growthProbes, removalProbes, machineProbes, flexibleProbes, limitProbes)
}

// Verdict is what a run says of a probe.
type Verdict string

// The verdicts.
const (
	Agrees  Verdict = "agrees"
	Differs Verdict = "differs"
	NotSeen Verdict = "not seen"
)
