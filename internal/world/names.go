package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// names translates what things are called in the cluster into what scripts and transcripts call them.
type names struct {
	said   map[string]string // by the name in the cluster
	meant  map[string]string // and back
	count  map[string]int    // pods of a controller, by "namespace/name"
	starts map[string][]int  // the lengths of the names that begin so, longest first
}

// startLength is how much of a name starts has, or all of one that is shorter.
const startLength = 4

func newNames() *names {
	return &names{said: map[string]string{}, meant: map[string]string{}, count: map[string]int{}, starts: map[string][]int{}}
}

func (n *names) add(actual, said string) {
	if n.said[actual] == said {
		return
	}
	n.said[actual], n.meant[said] = said, actual
	start := actual[:min(startLength, len(actual))]
	if lengths := n.starts[start]; !slices.Contains(lengths, len(actual)) {
		n.starts[start] = slices.SortedFunc(slices.Values(append(slices.Clone(lengths), len(actual))), func(a, b int) int { return b - a })
	}
}

// instance is what a machine is called that sluice calls "group/id".
func (n *names) instance(subject string) string {
	group, id, _ := strings.Cut(subject, "/")
	if said, ok := n.said[id]; ok {
		return said
	}
	return group + "_" + id
}

// pod numbers a pod that a controller made.
func (n *names) pod(namespace, name, controller string) {
	n.count[namespace+"/"+controller]++
	n.add(namespace+"/"+name, fmt.Sprintf("%s/%s-%d", namespace, controller, n.count[namespace+"/"+controller]))
}

// in is the text with all names translated, from left to right: the longest that stands there, since a name may begin another.
func (n *names) in(text string) string {
	var out strings.Builder
	copied := 0
	for i := 0; i < len(text); {
		length := n.at(text[i:])
		if length == 0 {
			i++
			continue
		}
		out.WriteString(text[copied:i])
		out.WriteString(n.said[text[i:i+length]])
		i += length
		copied = i
	}
	if copied == 0 {
		return text
	}
	out.WriteString(text[copied:])
	return out.String()
}

// at is the length of the longest name that the text begins with, 0 for none.
func (n *names) at(text string) int {
	for start := min(startLength, len(text)); start > 0; start-- {
		for _, length := range n.starts[text[:start]] {
			if length <= len(text) {
				if _, ok := n.said[text[:length]]; ok {
					return length
				}
			}
		}
	}
	return 0
}

// of is the name in the cluster of what a script calls so.
func (n *names) of(said string) string {
	if actual, ok := n.meant[said]; ok {
		return actual
	}
	return said
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
