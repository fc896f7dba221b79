package grow

import (
	"fmt"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// Additions are the machines that this cycle adds. A machine that stays passes through admit, so that Order.Adding, the ceilings and the
// witness agree. What is opened on trial ([turns.reach], [Chain.estimate]) does not pass through it.
type Additions struct {
	*Orders
	limits *Limits
}

// Adopt opens and adds n machines of a group. It checks no limit: the caller has asked [Limits]. Within a round only [Joint.closeEmpty]
// gives a machine back, and only while no pod is on it.
func (ad *Additions) Adopt(st *Order, n int) []scheduling.Handle {
	handles := ad.Machines.OpenMachines(st.Incoming, n, place.NewName)
	ad.admit(st, handles)
	return handles
}

// admit adds machines that are open in the checker already. Their numbers are in Order.Opened since they were opened.
func (ad *Additions) admit(st *Order, machines []scheduling.Handle) {
	st.add(len(machines))
	ad.limits.ceilings.Take(st.Group, len(machines))
	ad.TellOpen(st.ID, machines...)
}

// grant gives the next n pods of a demand their verdict: they have a place on a machine that is being added. The caller calls
// [place.Room.Place] first, since Serve moves dm.Served on and Place reads it.
func (ad *Additions) grant(dm *place.Demand, n int, g cluster.GroupID) {
	if n == 0 {
		return
	}
	st := ad.Groups[g]
	// One reason serves all pods of the group: thousands of pods may wait for it.
	if st.needed.Code == "" {
		st.needed = reason.New(reason.NeedsMachine, reason.Ref{}, "group", g)
	}
	st.serves = append(st.serves, granted{dm, dm.Served, n})
	ad.Serve(dm, n, action.PodGrows, st.needed)
}

// served are the pending pods that the group grows for, as "namespace/name", and the requests and buffers, each with the number of its
// pods. It runs through the grants twice, so that pods is allocated once. Requests and buffers stand in the order of their first grant.
func (o *Orders) served(st *Order) (pods, claims []string) {
	n, order, asked := 0, []*place.Claim(nil), map[*place.Claim]int{}
	for _, g := range st.serves {
		// A grant has at least one pod, so 0 in asked means that the claim is new here.
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
