package grow

import (
	"fmt"

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
	handles := ad.Machines.OpenMachines(st.Incoming, n, place.NewName)
	ad.admit(st, handles)
	return handles
}

// admit adds machines of a group for good that are open already.
func (ad *Additions) admit(st *Order, machines []scheduling.Handle) {
	st.add(len(machines))
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

// served are the pending pods that the group grows for, "namespace/name", and the requests and buffers, each with the number of its pods.
func (o *Orders) served(st *Order) (pods, claims []string) {
	n, order, asked := 0, []*place.Claim(nil), map[*place.Claim]int{}
	for _, g := range st.serves {
		switch c := g.demand.Claim; {
		case c == nil:
			n += g.n
		case asked[c] == 0:
			order = append(order, c)
			fallthrough
		default:
			asked[c] += g.n
		}
	}
	for _, c := range order {
		claims = append(claims, fmt.Sprintf("%s: %d", c.About, asked[c]))
	}
	if n > 0 {
		pods = make([]string, 0, n)
	}
	for _, g := range st.serves {
		if g.demand.Claim != nil {
			continue
		}
		for _, at := range g.demand.Pods[g.from : g.from+g.n] {
			pods = append(pods, o.Key(at))
		}
	}
	return pods, claims
}
