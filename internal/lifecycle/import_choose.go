package lifecycle

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice.dev/sluice/internal/render"
)

// ownerTags are what names of tags begin with by which tools say whose cluster something is of; the rest is its name.
var ownerTags = []string{"sigs.k8s.io_cluster-api-provider-azure_cluster_", "kubernetes.io_cluster_"}

// owner is the cluster that the tags of a resource name; "" where none does.
func owner(tags map[string]string) string {
	if name := tags[render.ClusterTag]; name != "" {
		return name
	}
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		for _, of := range ownerTags {
			if name, ok := strings.CutPrefix(tag, of); ok && name != "" {
				return name
			}
		}
	}
	return ""
}

// choose keeps the machines and scale sets of one cluster, beside those whose tags name none. Of several a person chooses one: a file with the scale
// sets of two would have sluice remove machines of both.
func (e *estate) choose(name string) error {
	owners := map[string]bool{}
	for _, t := range slices.Concat(e.machines, e.sets, slices.Collect(maps.Values(e.members))) {
		if of := owner(t.tags); of != "" {
			owners[of] = true
		}
	}
	all := slices.Sorted(maps.Keys(owners))
	switch {
	case name != "" && !owners[name] && len(all) == 0:
		return fmt.Errorf("no tag in resource group %s names cluster %s: leave --name out", e.group, name)
	case name != "" && !owners[name]:
		return fmt.Errorf("resource group %s has no cluster %s: its tags name %s", e.group, name, strings.Join(all, ", "))
	case name != "":
		e.of, e.chosen = name, true
	case len(all) > 1:
		return fmt.Errorf("resource group %s has machines of %d clusters, by their tags: choose one by --name=%s", e.group, len(all), strings.Join(all, " or --name="))
	case len(all) == 1:
		e.of = all[0]
	}
	others := func(t thing) bool {
		of := owner(t.tags)
		if of == "" || of == e.of {
			return false
		}
		e.loses("%s is of cluster %s, and is not in the file", t, of)
		return true
	}
	e.machines, e.sets = slices.DeleteFunc(e.machines, others), slices.DeleteFunc(e.sets, others)
	maps.DeleteFunc(e.members, func(_ string, t thing) bool { of := owner(t.tags); return of != "" && of != e.of })
	return nil
}

// leaveOut takes scale sets whose tags name no cluster from the pools, where those of others do: they may be anybody's. A node says whose one is.
func (e *estate) leaveOut() {
	if !slices.ContainsFunc(e.pools, func(set thing) bool { return owner(set.tags) != "" }) {
		return
	}
	e.pools = slices.DeleteFunc(e.pools, func(set thing) bool {
		if owner(set.tags) != "" || slices.ContainsFunc(e.known.Nodes, func(n Member) bool { return e.runs(set, n) }) {
			return false
		}
		e.loses("%s has no tag of cluster %s, and is not in the file: it may be of something else", set, e.of)
		return true
	})
}
