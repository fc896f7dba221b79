package grow

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// Late are groups whose machines come late: later than three times the longest that machines of the group, or of its size, took before, and
// three minutes at least. Where nothing was learned no machine is late, and pods wait as long as --max-node-provision-time (scenario
// late-nothing-learned).
type Late struct{ *Orders }

// LateBy says of a machine that is late by how much, and when it is given up. It is nil for a machine that is not late.
func (la *Late) LateBy(st *Order, in *cluster.Instance) *reason.Reason {
	limit, late := la.IsLate(st.GroupFacts, in)
	if !late {
		return nil
	}
	return new(reason.New(reason.MachineLate, reason.Instance(string(st.ID), string(in.ID)),
		"age", la.Waited(in), "longest", la.LongestBoot(st.GroupFacts).Truncate(time.Second), "limit", limit.Truncate(time.Second),
		"given-up", la.Waits(in).Add(la.Policy.Growth.Node.ProvisionTime).Format(time.RFC3339)))
}

// waitsForLate says whether other groups are asked before this one: a machine of it is late, and none has joined since the wait for it
// began. When another one has joined since, the group delivers, and late machines do not hold it back.
func (la *Late) waitsForLate(st *Order) bool {
	for _, in := range st.Late {
		if !la.LastJoin(st.ID).After(la.Waits(in)) {
			return true
		}
	}
	return false
}
