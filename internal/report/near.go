package report

import (
	"fmt"
	"sort"
	"strings"

	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/reason"
)

// NotFoundError says that a cycle knows no such thing, and which things of that kind have a name like it.
type NotFoundError struct {
	About reason.Ref
	Near  []string // at most five names, the most like first
	Known int      // how many things of the kind there are
}

// Error is one sentence for whoever mistyped the name.
func (e *NotFoundError) Error() string {
	switch {
	case e.Known == 0:
		return fmt.Sprintf("no %s %q in this cycle; it knows no %s at all", e.About.Kind, e.About.Name, e.About.Kind)
	case len(e.Near) == 0:
		return fmt.Sprintf("no %s %q in this cycle, and none of the %d known has a name like it", e.About.Kind, e.About.Name, e.Known)
	}
	return fmt.Sprintf("no %s %q in this cycle; did you mean %s?", e.About.Kind, e.About.Name, strings.Join(e.Near, ", "))
}

func notFound(entry journal.Entry, about reason.Ref) *NotFoundError {
	names := namesOf(entry, about.Kind)
	e := &NotFoundError{About: about, Known: len(names)}
	distance := map[string]int{}
	for _, name := range names {
		d := EditDistance(strings.ToLower(name), strings.ToLower(about.Name))
		part := about.Name != "" && strings.Contains(name, about.Name)
		if part {
			d = 0
		}
		if part || d <= max(2, len(about.Name)/3) {
			distance[name] = d
			e.Near = append(e.Near, name)
		}
	}
	sort.Slice(e.Near, func(i, j int) bool {
		a, b := e.Near[i], e.Near[j]
		if distance[a] != distance[b] {
			return distance[a] < distance[b]
		}
		return a < b
	})
	e.Near = e.Near[:min(5, len(e.Near))]
	return e
}

// namesOf are the names of all things of a kind that the cycle saw.
func namesOf(entry journal.Entry, kind reason.Kind) []string {
	var names []string
	switch kind {
	case reason.KindPod:
		for _, p := range entry.Seen.Objects.Pods {
			names = append(names, p.String())
		}
	case reason.KindNode:
		for _, n := range entry.Seen.Nodes {
			names = append(names, n.Name())
		}
	case reason.KindGroup:
		for _, g := range entry.Seen.Groups {
			names = append(names, string(g.ID))
		}
	case reason.KindRequest:
		for _, r := range entry.Seen.Objects.ProvisioningRequests {
			names = append(names, r.String())
		}
	case reason.KindBuffer:
		for _, b := range entry.Seen.Objects.CapacityBuffers {
			names = append(names, b.String())
		}
	case reason.KindInstance:
		for _, g := range entry.Seen.Groups {
			for _, in := range g.Instances {
				names = append(names, reason.Instance(string(g.ID), string(in.ID)).Name)
			}
			for _, in := range g.Parked {
				names = append(names, reason.Instance(string(g.ID), string(in.ID)).Name)
			}
		}
	}
	return names
}

// EditDistance is the least number of bytes to insert, delete or change that turns a into b.
func EditDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
