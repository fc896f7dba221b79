package grow

import (
	"fmt"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// Growth chooses the machines to add.
type Growth struct {
	*place.Room
	missed *Misses
	Groups map[cluster.GroupID]*Order
	Listed []*Order // the same in the snapshot's order

	has        *Totals // what the cluster has without what this cycle adds, once somebody has asked
	Cost       *action.Cost
	ceilings   *Ceilings
	tried      []scheduling.Handle // machines that the last estimate opened
	Ask        *action.AskExpander // what to ask before pods that are left can be helped
	Complaints []reason.Reason     // of expanders that could not do what they are there for
	Grows      []action.SetCapacity
}

// NewGrowth is a cycle that adds nothing yet.
func NewGrowth(room *place.Room, missed *Misses) *Growth {
	d := &Growth{Room: room, missed: missed, Groups: make(map[cluster.GroupID]*Order, len(room.Listed))}
	for _, g := range room.Listed {
		st := &Order{Incoming: g}
		d.Groups[g.ID], d.Listed = st, append(d.Listed, st)
	}
	return d
}

// Order is a group and the machines that this cycle adds to it.
type Order struct {
	*place.Incoming
	Blocked *reason.Reason // why it may not grow now, nil when it may
	Adding  int            // machines that this cycle adds
	raised  int            // of these, those that its floor asks for
	Wanted  bool           // a pending pod asked for it and was refused for its size
	uneven  bool           // daemons leave more room in some of its zones than in others
	fresh   []*machine     // machines that this cycle adds, where it spans zones, in the order of opening
	serves  []granted      // pending pods that it grows for
	needed  reason.Reason  // why they have their place there, once one has

	Because    []reason.Reason // why it grows, pods before the operator's settings
	Short      []reason.Reason // what the operator's settings ask of it beyond what it may add, with the limits
	Headroom   *headroom       // nil when it keeps none
	Assumed    *reason.Reason  // what its price is taken for, nil when it is known or was not asked for
	PassedOver *reason.Reason  // by which expander, nil when by none
	Weighed    *reason.Reason  // against which groups it grows, or by which one it was outweighed; nil when it was not weighed
}

// granted is pods of a demand that a group grows for: so many of its pods, from one on.
type granted struct {
	demand  *place.Demand
	from, n int
}

// served are the pending pods that the group grows for, "namespace/name", and the requests and buffers, each with the number of its pods.
func (d *Growth) served(st *Order) (pods, claims []string) {
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
			pods = append(pods, d.Key(at))
		}
	}
	return pods, claims
}

// BlockedRead says why nothing may be written to the group for what is known of it, nil when it is known well. A back-off and a
// missing template forbid growth only.
func (st *Order) BlockedRead() *reason.Reason {
	if st.Blocked != nil {
		switch st.Blocked.Code {
		case reason.GroupAsked, reason.GroupUnreadable, reason.GroupIncomplete, reason.GroupContradicted:
			return st.Blocked
		}
	}
	return nil
}
