package grow

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/reason"
)

// LateBy says of a machine that is late by how much; nil for any other one.
func (d *Growth) LateBy(st *Order, in *cluster.Instance) *reason.Reason {
	limit, late := d.IsLate(st.GroupFacts, in)
	if !late {
		return nil
	}
	return new(reason.New(reason.MachineLate, reason.Instance(string(st.ID), string(in.ID)),
		"age", d.Waited(in), "longest", d.LongestBoot(st.GroupFacts).Truncate(time.Second), "limit", limit.Truncate(time.Second),
		"given-up", d.Waits(in).Add(d.Policy.Growth.Node.ProvisionTime).Format(time.RFC3339)))
}

// waitsForLate says whether other groups are asked before this one: machines of it are late, and none has joined since they began to be waited for.
func (d *Growth) waitsForLate(st *Order) bool {
	for _, in := range st.Late {
		if !d.LastJoin(st.ID).After(d.Waits(in)) {
			return true
		}
	}
	return false
}

// growPastLate chooses machines of groups none of which is late first. What these leave has room on the machines that are late, and then asks their groups.
func (d *Growth) growPastLate(wanting []*place.Demand) *Candidates {
	some := false
	for _, st := range d.Groups {
		some = some || len(st.Late) > 0
	}
	c := d.Candidates(wanting, some)
	d.gather(c)
	d.GrowFor(c)
	if !some || d.Ask != nil {
		return c
	}
	d.PlaceOnLate()
	if wanting = d.Wanting(); len(wanting) == 0 {
		return c
	}
	c = d.Candidates(wanting, false)
	d.GrowFor(c)
	return c
}
