package azure

import (
	"fmt"
	"slices"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/internal/azure/config"
)

// absence is how far it is known that Azure has the group no more, though it was read before.
type absence int

const (
	there    absence = iota
	unlisted         // the last list of all groups lacks it
	denied           // and of it alone Azure says the same
	gone             // and the next list as well
)

// drop forgets the discovered groups whose tags say that they are none any more, and notes which scale sets are not there. One whose machines were all seen
// leaving, that two lists lack and that Azure denies in between, is shown as deleted, so that its nodes are judged; one that nobody saw leaving cannot be read.
// A discovered group is forgotten after an hour of that, a named one never. state.mu is held.
func (rs *rounds) drop(l *listing, found, listed map[string]bool) {
	for k, g := range rs.groups {
		switch {
		case g.reads.stamp > l.stamp:
		case listed[k]:
			if g.presence.how = there; g.discovered && !found[k] {
				rs.forget(k)
			}
		case rs.options.Kind == config.Standard: // a pool is its machines
		case g.presence.how == there:
			g.presence.how = unlisted
		case g.presence.how == denied && g.good != nil && rs.left(g):
			g.presence.how, g.presence.since = gone, l.asked
		case g.presence.how != unlisted && g.discovered && l.asked.Sub(g.presence.since) >= takenFor:
			rs.forget(k)
		}
	}
}

func (rs *rounds) forget(k string) {
	rs.facts.note(rs.groups[k].id, nil)
	delete(rs.groups, k)
}

// left says whether all machines of the group were seen leaving when lists had them last. A scale set that Azure denies all at once may be a lie. state.mu
// is held.
func (s *state) left(g *group) bool {
	known := s.beyond(g)
	return !slices.ContainsFunc(g.listed(), func(m *machine) bool { return known[m.uid].does != verbDelete })
}

// clear has a group that is not there show no machine, on the word of a list that lacks it. state.mu is held.
func (s *state) clear(g *group, asked time.Time) *cloud.Error {
	m := *g.good.model
	m.capacity, m.version = 0, ""
	return s.take(g, &reading{model: &m, at: asked.UTC(), asked: fleet.At(asked)})
}

// unlisted says that the list of all groups lacks one.
func (s *state) unlisted(g *group) *cloud.Error {
	e := s.missing(g.id, g.name)
	switch {
	case g.good == nil:
	case s.left(g):
		e.Message = fmt.Sprintf("%s was being deleted, and resource group %q lacks it now: the next list decides whether it is gone", g, s.options.ResourceGroup)
	default:
		e.Message = fmt.Sprintf("Azure says that %s is not in resource group %q, and no read showed its deletion: nothing is done to its machines and nodes", g, s.options.ResourceGroup)
	}
	return e
}
