package grow

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// Additions are the machines that this cycle adds.
type Additions struct {
	*Orders
	limits *Limits
}

// Adopt adds so many machines of a group for good.
func (ad *Additions) Adopt(st *Order, n int) []scheduling.Handle {
	handles := ad.OpenMachines(st.Incoming, n, place.NewName)
	ad.admit(st, handles)
	return handles
}

// admit adds machines of a group for good that are open already.
func (ad *Additions) admit(st *Order, machines []scheduling.Handle) {
	st.Adding += len(machines)
	ad.limits.ceilings.Take(st.Group, len(machines))
	ad.TellOpen(st.ID, machines...)
}

// grant gives the next n pods of a demand a place on a machine that is being added.
func (ad *Additions) grant(dm *place.Demand, n int, g cluster.GroupID) {
	if n == 0 {
		return
	}
	st := ad.Groups[g]
	if st.needed.Code == "" {
		st.needed = reason.New(reason.NeedsMachine, reason.Ref{}, "group", g)
	}
	st.serves = append(st.serves, granted{dm, dm.Served, n})
	ad.Serve(dm, n, action.PodGrows, st.needed)
}
