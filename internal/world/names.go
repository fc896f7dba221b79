package world

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
)

// names translates what things are called in the cluster into what scripts and transcripts call them.
type names struct {
	said     map[string]string // by the name in the cluster
	meant    map[string]string // and back
	count    map[string]int    // pods of a controller, by "namespace/name"
	replacer *strings.Replacer // nil when a name has come since
}

func newNames() *names {
	return &names{said: map[string]string{}, meant: map[string]string{}, count: map[string]int{}}
}

func (n *names) add(actual, said string) {
	if n.said[actual] == said {
		return
	}
	n.said[actual], n.meant[said], n.replacer = said, actual, nil
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

// in is the text with all names translated.
func (n *names) in(text string) string {
	if n.replacer == nil {
		actual := slices.Collect(maps.Keys(n.said))
		sort.Slice(actual, func(i, j int) bool { // the longer first: a name may begin another
			if len(actual[i]) != len(actual[j]) {
				return len(actual[i]) > len(actual[j])
			}
			return actual[i] < actual[j]
		})
		var pairs []string
		for _, r := range actual {
			pairs = append(pairs, r, n.said[r])
		}
		n.replacer = strings.NewReplacer(pairs...)
	}
	return n.replacer.Replace(text)
}

// of is the name in the cluster of what a script calls so.
func (n *names) of(said string) string {
	if actual, ok := n.meant[said]; ok {
		return actual
	}
	return said
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
