package azure

import (
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
)

// While a group is steady its nodes tell of its machines: the list of those is only a check. One list of scale sets tells each minute
// whether the capacity, the provisioning state or the entity tag of any has moved.
const (
	// steadyTTL is how long a list of a steady group's machines serves while its model stays as it was, unless the setting says for how long.
	steadyTTL = 20 * time.Minute
	// steadyJitter is how much sooner the list is renewed at most, so that the groups' lists do not come together.
	steadyJitter = 2 * time.Minute
)

var _ cloud.Economizer = (*Provider)(nil)

// Attend is [cloud.Economizer].
func (p *Provider) Attend(groups map[cluster.GroupID]cloud.Attention) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	for _, g := range p.groups {
		was, is := g.reads.steady, groups[g.id]
		if g.reads.steady = is == cloud.Seldom; was && !g.reads.steady {
			g.reads.checked = time.Time{} // what counts is when its machines were listed
			p.hasty = p.hasty || is == cloud.AtOnce && p.pace.stale(g, now)
		}
	}
}

// vouched says whether nodes tell of the group's machines, and its model of the rest. Of a group of which lists alone tell there is no such model.
// state.mu is held.
func (s *state) vouched(g *group) bool {
	return g.reads.steady && !g.bare() && s.options.InstanceCacheTTL == 0
}
