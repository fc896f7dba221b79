package plan

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// refusals collects why groups cannot hold pods, by class of pod.
type refusals struct {
	why    map[*class]map[cluster.GroupID][]reason.Reason
	always map[*class]map[cluster.GroupID]bool // not even an empty machine of the group takes such a pod
}

func newRefusals() *refusals {
	return &refusals{map[*class]map[cluster.GroupID][]reason.Reason{}, map[*class]map[cluster.GroupID]bool{}}
}

// note says why the group cannot hold more pods of the class now.
func (r *refusals) note(c *class, g cluster.GroupID, why ...reason.Reason) {
	if r.why[c] == nil {
		r.why[c] = map[cluster.GroupID][]reason.Reason{}
	}
	r.why[c][g] = why
}

// never says why an empty new machine of the group refuses pods of the class.
func (r *refusals) never(c *class, g cluster.GroupID, why []reason.Reason) {
	about := make([]reason.Reason, len(why))
	for i, w := range why {
		w.About = reason.Group(string(g))
		about[i] = w
	}
	r.note(c, g, about...)
	if !c.plain {
		return // other pods' places may change the answer
	}
	if r.always[c] == nil {
		r.always[c] = map[cluster.GroupID]bool{}
	}
	r.always[c][g] = true
}

// final says whether the answer for the class and group is known and will not change in this cycle.
func (r *refusals) final(c *class, g cluster.GroupID) bool { return r.always[c][g] }

// of lists the reasons of a class, group by group.
func (r *refusals) of(c *class, groups []*cluster.Group) []reason.Reason {
	var all []reason.Reason
	for _, g := range groups {
		all = append(all, r.why[c][g.ID]...)
	}
	return all
}
