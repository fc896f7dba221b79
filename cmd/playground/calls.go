package main

import (
	"maps"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/internal/azuresim"
)

// span is a part of the story, from included and to excluded.
type span struct{ from, to time.Time }

func (s span) holds(t time.Time) bool { return !t.Before(s.from) && t.Before(s.to) }

// purpose is what a request to Azure is for.
type purpose int

const (
	read     purpose = iota // of scale sets and their machines
	write                   // everything that changes something
	progress                // of an operation: Azure says itself when to ask again
	identity                // tokens and instance metadata
)

func (p purpose) String() string { return [...]string{"read", "write", "poll", "identity"}[p] }

// purposeOf tells it from a kind as azuresim counts it.
func purposeOf(kind string) purpose {
	method, resource, _ := strings.Cut(kind, " ")
	switch {
	case resource == "operations":
		return progress
	case resource == "token" || strings.HasPrefix(resource, "metadata/"):
		return identity
	case method == "GET" || method == "LIST":
		return read
	}
	return write
}

// calls are numbers of requests by kind.
type calls map[string]int

// during counts the requests of a part of the story.
func during(requests []azuresim.Request, s span) calls {
	c := calls{}
	for _, r := range requests {
		if s.holds(r.Time) {
			c[r.Kind]++
		}
	}
	return c
}

// of counts the calls for one purpose.
func (c calls) of(p purpose) int {
	n := 0
	for kind, times := range c {
		if purposeOf(kind) == p {
			n += times
		}
	}
	return n
}

// kinds are the kinds for one purpose, sorted.
func (c calls) kinds(p purpose) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c)), func(kind string) bool { return purposeOf(kind) != p })
}

// growths are the capacity requests for a scale set in a part of the story, refused ones included.
func growths(requests []azuresim.Request, set string, s span) []azuresim.Request {
	return slices.DeleteFunc(slices.Clone(requests), func(r azuresim.Request) bool {
		return r.Kind != "PATCH virtualMachineScaleSets" || !strings.EqualFold(r.ScaleSet, set) || !s.holds(r.Time)
	})
}

func accepted(r azuresim.Request) bool { return r.Status >= 200 && r.Status < 300 }

// lowered describes the accepted writes that made a capacity smaller otherwise than by naming machines, which must be none. It keeps
// the book of capacities from the log alone, beginning with every group at its minimum.
func lowered(requests []azuresim.Request) []string {
	capacity := map[string]int{}
	for _, g := range groups {
		capacity[g.name] = g.min
	}
	var found []string
	for _, r := range requests {
		set := strings.ToLower(r.ScaleSet)
		switch {
		case purposeOf(r.Kind) != write || !accepted(r):
		case r.Kind == "PATCH virtualMachineScaleSets" && r.Capacity != nil:
			if int(*r.Capacity) < capacity[set] {
				found = append(found, r.Kind+" "+r.ScaleSet)
			}
			capacity[set] = int(*r.Capacity)
		case r.Kind == deleteKind:
			capacity[set] -= len(r.InstanceIDs)
		default:
			found = append(found, r.Kind+" "+r.ScaleSet)
		}
	}
	return found
}

// deleteKind removes machines from a scale set.
const deleteKind = "POST virtualMachineScaleSets/delete"

// removals are the accepted requests that removed machines, how many they named, and how many of them named none.
func removals(requests []azuresim.Request) (times, machines, unnamed int) {
	for _, r := range requests {
		if r.Kind != deleteKind || !accepted(r) {
			continue
		}
		times++
		machines += len(r.InstanceIDs)
		if len(r.InstanceIDs) == 0 || slices.Contains(r.InstanceIDs, "*") {
			unnamed++
		}
	}
	return times, machines, unnamed
}
