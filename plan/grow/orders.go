package grow

import (
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/reason"
)

// Orders are the groups of a cycle, with what each adds.
type Orders struct {
	*place.Room
	Groups map[cluster.GroupID]*Order
	Listed []*Order // the same in the snapshot's order
}

// Order is a group and the machines that this cycle adds to it. A round of [Rounds] that is taken back gives each Order back as it was.
//
//	field           written by                                         read by
//	Blocked         Failures.Notice, once a cycle                      whoever adds machines, and the group's verdict
//	Adding          add; the floor's machines among them               limits, and Request
//	Wanted          want: noteFull, and the row of bounds for the max  the group's verdict
//	uneven          apart                                              tells and seated
//	serves, needed  Additions.grant                                    Request
//	Short           floors and headroom                                the group's verdict
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

// BlockedRead says why nothing may be written to the group, nil when its state is known well. These reasons forbid removal as well. Others,
// such as a back-off or a missing template, forbid growth only.
func (st *Order) BlockedRead() *reason.Reason {
	if st.Blocked != nil {
		switch st.Blocked.Code {
		case reason.GroupAsked, reason.GroupUnreadable, reason.GroupIncomplete, reason.GroupContradicted:
			return st.Blocked
		}
	}
	return nil
}

// Tally is what became of the pods of demands, in numbers, by their verdicts:
//
//	verdict                                                      counts as
//	scheduling: a node has room                                  There
//	rescues: a cordoned node is taken back                       Coming
//	waiting for an expander's server, or for the end of a burst  Asked
//	waiting for a machine that is coming                         Coming
//	grows: a machine is being added                              Grows
//	stuck                                                        Stuck
//	any other, such as too young                                 nothing
func (o *Orders) Tally(demands []*place.Demand) Tally {
	var t Tally
	for _, dm := range demands {
		for _, at := range dm.Pods[:dm.Served] {
			v := o.PodVerdicts[at]
			switch {
			case v.Outcome == action.PodScheduling:
				t.There++
			case v.Outcome == action.PodRescues:
				t.Coming++
			case v.Outcome == action.PodWaiting && (v.Because[0].Code == reason.ExpanderAsked || v.Because[0].Code == reason.PodsKeepComing || v.Because[0].Code == reason.PodsComeAndPause):
				t.Asked++
			case v.Outcome == action.PodWaiting:
				t.Coming++
			case v.Outcome == action.PodGrows:
				t.Grows++
			case v.Outcome == action.PodStuck:
				t.Stuck++
			}
		}
	}
	return t
}

// Tally is what became of some pods, in numbers.
type Tally struct{ There, Coming, Grows, Stuck, Asked int }

// Placed is how many found a place.
func (t Tally) Placed() int { return t.There + t.Coming + t.Grows }

// add notes so many more machines that the group adds, or fewer.
func (st *Order) add(machines int) { st.Adding += machines }

// Grows adds a reason for which the group grows.
func (st *Order) Grows(why reason.Reason) { st.Because = append(st.Because, why) }

// first puts a reason before the others.
func (st *Order) first(why reason.Reason) { st.Because = slices.Insert(st.Because, 0, why) }

// lacks notes what the operator's settings ask of the group beyond what it may add.
func (st *Order) lacks(why ...reason.Reason) { st.Short = append(st.Short, why...) }

// weigh notes against which groups it grows, or by which one it was outweighed.
func (st *Order) weigh(why *reason.Reason) { st.Weighed = why }

// want notes that a pending pod asked for the group and was refused for its size.
func (st *Order) want() { st.Wanted = true }

// Unasked has what follows count as asked by no pod, until the undo: Wanted is as it was then. Floors, headroom and buffers use it, since a
// group is not called full for their sake.
func (st *Order) Unasked() (undo func()) {
	was := st.Wanted
	return func() { st.Wanted = was }
}
