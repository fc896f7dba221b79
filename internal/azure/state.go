package azure

import (
	"fmt"
	"sync"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
)

// state is what is known of all groups, by answers and by what this process has asked for. Who writes and who reads them are parts of
// their own (question.go, read.go, refresh.go, operation.go, write.go); they share it, and so the lock.
type state struct {
	*client
	source source // of the groups: scale sets or pools
	facts  *facts

	mu         sync.Mutex        // guards what follows and every group; never held during a request
	groups     map[string]*group // by key
	operations []*operation      // in the order of acceptance
	stamps     uint64            // of questions asked so far: facts are ordered by when they were asked for
}

func newState(c *client) *state {
	s := &state{client: c, groups: map[string]*group{}}
	c.about = s.subject
	return s
}

// newGroup is a group of which nothing is known yet.
func (s *state) newGroup(name string) *group {
	s.options.Ledger.Spell(cluster.GroupID(name))
	return &group{id: cluster.GroupID(name), noun: s.source.noun(), name: name, facts: s.facts}
}

// stamp numbers a question. state.mu is held.
func (s *state) stamp() uint64 {
	s.stamps++
	return s.stamps
}

// store keeps what a read found, unless something younger is known: that is a fault, too. state.mu is held.
func (s *state) store(g *group, stamp uint64, r *reading, fault *cloud.Error) *cloud.Error {
	if stamp < g.reads.stamp {
		return &cloud.Error{Kind: cloud.Conflict, Group: g.id, Code: "ChangedInBetween", Message: fmt.Sprintf("read %s: it changed before the answer came", g)}
	}
	if fault == nil {
		g.reads.stamp = stamp
		s.obey(g, r.model)
		fault = s.take(g, r)
		if fault == nil && g.writing.lost > 0 {
			if g.view.Capacity >= g.writing.lost {
				g.failure = nil
			}
			g.writing.lost = 0
		}
	}
	if fault != nil {
		g.refuse(fault, s.now())
	}
	return fault
}

func unknown(id cluster.GroupID) *cloud.Error {
	return &cloud.Error{Kind: cloud.NotFound, Group: id, Code: "GroupUnknown", Message: fmt.Sprintf("%q is no node group: name it in --nodes, or give its scale set the tags that --node-group-auto-discovery asks for", id)}
}
