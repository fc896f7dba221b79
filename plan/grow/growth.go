package grow

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/packing"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// Orders are the groups of a cycle, with what each adds.
type Orders struct {
	*place.Room
	Groups map[cluster.GroupID]*Order
	Listed []*Order // the same in the snapshot's order
}

// Growth chooses the machines to add.
type Growth struct {
	*Orders
	Grows []action.SetCapacity

	Limits    *Limits
	Failures  *Failures
	Late      *Late
	Bursts    *Bursts
	Chain     *Chain
	Joint     *Joint
	Rounds    *Rounds
	Additions *Additions
	Headrooms *Headrooms
	Stuck     *Stuck
	turns     *turns
}

// NewGrowth is a cycle that adds nothing yet.
func NewGrowth(room *place.Room, missed *Misses) *Growth {
	o := &Orders{Room: room, Groups: make(map[cluster.GroupID]*Order, len(room.Listed))}
	for _, g := range room.Listed {
		st := &Order{Incoming: g}
		o.Groups[g.ID], o.Listed = st, append(o.Listed, st)
	}
	limits := &Limits{Orders: o}
	failures, additions, turns := &Failures{o, limits}, &Additions{o, limits}, &turns{o, limits}
	joint := &Joint{Orders: o, limits: limits, additions: additions, turns: turns}
	chain := &Chain{Orders: o, limits: limits, additions: additions, turns: turns, joint: joint}
	d := &Growth{
		Orders: o, Limits: limits, Failures: failures, Additions: additions, Joint: joint, Chain: chain,
		Late: &Late{o}, Bursts: &Bursts{o, limits}, Headrooms: &Headrooms{o, limits, additions}, turns: turns, Stuck: &Stuck{o, limits, failures, turns, chain, missed},
	}
	d.Rounds = &Rounds{o, d}
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

// Candidates are the groups that may grow for what is wanted, and which of them would do for whom.
type Candidates struct {
	Groups []*Order
	sites  []site    // by group
	first  []int     // by group: the place of its first site
	free   [][]int64 // by site: what an empty machine has left beside its daemons, by dimension
	wanted []*wanted
}

// site is where machines of a group come up: one of the zones of a group that spans several, or all there is of another.
type site struct {
	*Order
	group int    // among the candidates
	fails bool   // none of the group's nodes is Ready: see [Failures.Failing]
	zone  string // "" of a group that spans none
}

// wanted is a demand before any group grows for it.
type wanted struct {
	*place.Demand
	needs   []int64 // of one pod, by dimension
	suits   []bool  // by site: an empty machine would do for such a pod, whoever else is near
	fits    []bool  // by site: it would take such a pod as things stand
	depends bool    // on where other pods are
	alone   bool    // no two of them share a machine
	zonal   bool    // it matters in which zone of a group its machine comes up

	at    map[*Order]int // that grow for some of them, for how many
	grown int            // pods that went to machines which are being added
}

// machine is one that is being added.
type machine struct {
	handle scheduling.Handle
	of     *Order
	number int    // in the order in which machines of the group are opened
	zone   string // "" in a group that spans none
	pods   int
	plain  []meant   // pods that do not mind others, which are there already
	meant  []meant   // pods that do, to be shown to the checker
	zonal  []granted // of its pods those that are there for its zone
}

// Option is one way to help pending pods: so many machines of one group.
type Option struct {
	Group cluster.GroupID
	Nodes int      // machines to add
	Pods  []string // that they help, "namespace/name", sorted

	RequestedMilli, RequestedBytes int64 // of these pods: thousandths of cores, memory
	CapacityMilli, CapacityBytes   int64 // of these machines

	PriceUSDPerHour float64 // of these machines together; 0 when unknown
}

// Choice is what a chain of expanders made of options.
type Choice struct {
	Group   cluster.GroupID     // that grows; "" when none does
	Ask     *action.AskExpander // what to ask before there is a choice; then Group is ""
	Dropped []reason.Reason     // one for each group that is not chosen and one for what went wrong, in the order in which it happened
	Because *reason.Reason      // by which steps the group was chosen, nil when there was nothing to choose from
}

// Totals is what the whole cluster has, with machines that are coming and those that this cycle adds.
type Totals struct {
	nodes int
	Milli int64 // thousandths of cores
	Bytes int64 // of memory
	Kinds []policy.GPUTotal
	Gpus  []int64 // by kind; never changed
}

// Ceilings says how many machines each group may still add under the operator's ceilings. It is one cycle's; machines that are taken count
// for those asked about later.
type Ceilings struct {
	now     time.Time
	allowed *policy.Policy
	used    map[string]memory.Usage
	rates   map[string]float64 // what machines cost an hour that count for a ceiling of a rate, by its words
	taken   map[string]float64 // in this cycle, by the ceiling's words
	any     bool
}

// headroom is the room that a group keeps free, and what of it is there once the pods of this cycle have their places.
type headroom struct {
	words    string // as the operator says it
	machines int    // that are to carry nothing but daemons
	milli    int64  // thousandths of cores that are to be free, wherever they are

	empty int   // machines that carry nothing but daemons, those that are coming included
	free  int64 // thousandths of cores

	leaves map[string]space // of the group's nodes that count, what of the headroom leaves with them, by name
	ladder []spare          // nodes on the removal ladder that could be room again
}

// Misses is why groups do not hold the pods that are stuck. What was found of pods that do not mind others holds for as long as the groups stand
// as they do.
type Misses struct {
	allowed *policy.Policy
	stances []*stance                  // of the snapshot's groups, as they stood last
	last    map[*cluster.Class]*missed // what the last cycle found
	now     map[*cluster.Class]*missed // what this one has found, or found to hold
	untold  *missed                    // what is said of pods that are not asked about
}

// stance is what a group says to every pod alike.
type stance struct {
	*Order
	digest uint64         // of an empty machine, in each zone
	turns  string         // of its zones, and until when some are passed over
	total  Totals         // of the cluster, for the limit
	limit  *reason.Reason // why the group may not add a machine, once somebody has asked
	asked  bool

	free    []int64                      // of an empty machine, by dimension, while it is asked
	notes   map[string]*reason.Reason    // that it has given
	devices map[corev1.ResourceName]bool // that some size has, once somebody has asked
	rooms   [][]int64                    // of an empty machine of each size the same as free, once somebody has asked
	largest []int64                      // of these the most, by dimension
}

// missed is why no group holds pods of a class.
type missed struct {
	far     bool  // a group was asked how far away a zone is, which any pod may change
	limited []int // the groups that would do, by their place, with what limits each
	limits  []*reason.Reason
	because []reason.Reason
}

// Ranking is what the expander priority goes by. The zero value ranks nothing and keeps every group.
type Ranking struct {
	ranks []rank // highest number first
	wrong string // why there is none, for the operator
}

// mix is a packing problem and what its parts stand for.
type mix struct {
	problem packing.Problem
	alone   []packing.Group // by the candidates' sites: each as a group of its own
	found   packing.Solution
	lots    []lot     // by the problem's groups
	classes []*wanted // by the problem's classes; a demand may be several
	priced  bool      // costs are millionths of a dollar an hour; else they are weights
	assumed assumed   // prices that nobody knows
}

// lot is groups that are one to the problem, as nothing that is wanted tells them apart; or one zone of a group, where something does.
type lot struct {
	groups []*Order
	zone   string // "" for all of the groups
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
