package plan

import (
	"fmt"
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// roll is what a group's machines come to.
type roll struct {
	nodeless []*cluster.Instance // machines without a node, whatever they do, in their order
	faulty   []*cluster.Instance // machines that failed, in their order
	joined   int                 // machines with a node
	deleting int
	standing int
	usable   bool // see [cluster.Group.Usable]
}

// groupState is what a group shows within one cycle.
type groupState struct {
	*cluster.Group
	roll
	at        int             // its place among the snapshot's groups
	removal   policy.Removal  // that holds for its nodes
	servers   bool            // it has control-plane nodes, which are not opted in: nothing is done to it (S-17)
	restarted []*cluster.Node // of machines that are started again: not Ready yet, and not for too long
	contract  contract        // what the safety contract says of it
	paused    *reason.Reason  // that somebody has paused it, nil when nobody has
}

// placeGroup is a group and its machines that are coming or being added.
type placeGroup struct {
	*groupState
	coming     int                             // machines that are expected and have no Ready node yet
	taken      *reason.Reason                  // which of these waits for the node of an earlier one of its name to go; nil when none does
	late       []*cluster.Instance             // machines without a node that come late, if they come
	templates  map[string]*scheduling.Template // what machines are opened like, by zone, "" for a group that spans none; once one was
	opened     int                             // machines that were opened, to name them and to know whose turn it is
	expects    int                             // of these, those that are coming; see [comingName]
	unanswered int                             // of these, those that the cloud was asked for and has not answered about
	rotation   *rotation                       // of its zones, nil where it spans none
	awaited    reason.Reason                   // why pods have their place on a machine that is coming, once one has
	asks       reason.Reason                   // the same of one that the cloud was asked for
}

// growGroup is a group and the machines that this cycle adds to it.
type growGroup struct {
	*placeGroup
	blocked *reason.Reason // why it may not grow now, nil when it may
	adding  int            // machines that this cycle adds
	raised  int            // of these, those that its floor asks for
	wanted  bool           // a pending pod asked for it and was refused for its size
	uneven  bool           // daemons leave more room in some of its zones than in others
	fresh   []*machine     // machines that this cycle adds, where it spans zones, in the order of opening
	serves  []granted      // pending pods that it grows for
	needed  reason.Reason  // why they have their place there, once one has

	because    []reason.Reason // why it grows, pods before the operator's settings
	short      []reason.Reason // what the operator's settings ask of it beyond what it may add, with the limits
	headroom   *headroom       // nil when it keeps none
	assumed    *reason.Reason  // what its price is taken for, nil when it is known or was not asked for
	passedOver *reason.Reason  // by which expander, nil when by none
	weighed    *reason.Reason  // against which groups it grows, or by which one it was outweighed; nil when it was not weighed
}

// removeGroup is a group and its machines that leave.
type removeGroup struct {
	*growGroup
	leaving    int // machines that still count as capacity and are on the ladder, stepping on it or being cleaned up
	unrepaired int // nodes that are not Ready and that its min keeps
	drying     int // nodes that run dry, or could
	emptied    int // further nodes of which this cycle found that they can be emptied with those that leave
}

// parks says whether the node's machine is parked when it leaves. A pod that goes with it would stay bound to the Node object for as long as that is there, and
// nobody would make it again, and a volume that is attached still would not come off: then the machine is deleted.
func (d *view) parks(st *groupState, n *cluster.Node) bool {
	return st.Parks && len(d.attachments()[n.Name()]) <= d.keptAttached(n) && !slices.ContainsFunc(n.Pods, func(p *cluster.Pod) bool { return !p.Daemon() })
}

// fate is what becomes of a machine that leaves.
func fate(parks bool) string {
	if parks {
		return "parked"
	}
	return "deleted"
}

// leaves is what is said of a node whose machine is on its way to that fate.
func leaves(parks bool) Outcome {
	if parks {
		return NodeParking
	}
	return NodeDeleting
}

// Usable, Standing and Deleting are what the group says, counted already.
func (st *groupState) Usable() bool  { return st.usable }
func (st *groupState) Standing() int { return st.standing }
func (st *groupState) Deleting() int { return st.deleting }

// callRoll counts the group's machines.
func callRoll(g *cluster.Group) roll {
	r := roll{deleting: g.Deleting(), standing: g.Standing(), usable: g.Usable()}
	for _, in := range g.Instances {
		if in.Node == "" {
			r.nodeless = append(r.nodeless, in)
		} else {
			r.joined++
		}
		if in.State == cluster.StateFailed {
			r.faulty = append(r.faulty, in)
		}
	}
	return r
}

// granted is pods of a demand that a group grows for: so many of its pods, from one on.
type granted struct {
	demand  *demand
	from, n int
}

// served are the pending pods that the group grows for, "namespace/name", and the requests and buffers, each with the number of its pods.
func (d *growing) served(st *growGroup) (pods, claims []string) {
	n, order, asked := 0, []*claim(nil), map[*claim]int{}
	for _, g := range st.serves {
		switch c := g.demand.claim; {
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
		claims = append(claims, fmt.Sprintf("%s: %d", c.about, asked[c]))
	}
	if n > 0 {
		pods = make([]string, 0, n)
	}
	for _, g := range st.serves {
		if g.demand.claim != nil {
			continue
		}
		for _, at := range g.demand.pods[g.from : g.from+g.n] {
			pods = append(pods, d.key(at))
		}
	}
	return pods, claims
}
