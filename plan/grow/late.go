package grow

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// Late are groups whose machines come late.
type Late struct{ *Orders }

// LateBy says of a machine that is late by how much; nil for any other one.
func (la *Late) LateBy(st *Order, in *cluster.Instance) *reason.Reason {
	limit, late := la.IsLate(st.GroupFacts, in)
	if !late {
		return nil
	}
	return new(reason.New(reason.MachineLate, reason.Instance(string(st.ID), string(in.ID)),
		"age", la.Waited(in), "longest", la.LongestBoot(st.GroupFacts).Truncate(time.Second), "limit", limit.Truncate(time.Second),
		"given-up", la.Waits(in).Add(la.Policy.Growth.Node.ProvisionTime).Format(time.RFC3339)))
}

// waitsForLate says whether other groups are asked before this one: machines of it are late, and none has joined since they began to be
// waited for.
func (la *Late) waitsForLate(st *Order) bool {
	for _, in := range st.Late {
		if !la.LastJoin(st.ID).After(la.Waits(in)) {
			return true
		}
	}
	return false
}
