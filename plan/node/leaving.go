package node

import (
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/reason"
)

// contractFor is the contract of a group when a cycle begins.
// Both batches are empty then, and package remove adds to them. Whatever leaves has to be allowed beside all that is in its batch.
func (d *View) contractFor(g *cluster.Group) contract {
	id, limits := fleet.GroupID(g.ID), d.Policy.Fleet(g)
	limits.Planned = true
	return contract{Leaving: d.Fleet.Batch(id, limits), Leave: d.Fleet.Batch(id, limits)}
}

// Unregistered is a machine that has no node.
func (d *View) Unregistered(in *cluster.Instance) Exit {
	return Exit{fleet.Delete, fleet.Target{UID: fleet.UID(in.UID), ID: string(in.ID), Forced: d.Policy.Removal.Forces(in)}}
}

// May is why the safety contract keeps the machine beside those that go already, nil when it may go.
func (e Exit) May(with *fleet.Batch) *fleet.Refusal { return with.May(e.Verb, e.Target) }

// IsLoss says whether the safety contract holds a machine back because its node, or others with it, were lost.
func IsLoss(c reason.Code) bool {
	return c == reason.MachineLostRecently || c == reason.NodesLostTogether || c == reason.NodeObjectsMissing
}

// HeldBy says what the safety contract holds back, and of a machine of a lost node what holds for its group.
func (d *View) HeldBy(about reason.Ref, st *GroupFacts, r *fleet.Refusal) []reason.Reason {
	id, until := fleet.GroupID(st.ID), r.Until.Time()
	d.Wake(until)
	held := []reason.Reason{r.Reason(id, about)}
	if IsLoss(r.Code) {
		word := "an operator acknowledges it"
		if !until.IsZero() {
			word = until.Format(time.RFC3339)
		}
		lost := reason.New(reason.GroupLost, reason.Group(string(st.ID)), "machines", st.Contract.Leaving.Lost(), "until", word)
		if c := &st.Contract; c.Lost == nil || !until.IsZero() && (c.until.IsZero() || until.Before(c.until)) {
			c.Lost, c.until = &lost, until
		}
		held = append(held, lost)
	}
	return held
}

// Needed says why its group's min keeps one of so many machines such as this one, beside those that go already; nil when it does not.
//
//	what keeps it                                                  said as
//	the capacity is below the min already                          GroupBelowMin
//	enough machines are there, and some of these are no nodes yet  GroupAwaits (scenario min-counts-what-runs)
//	the list has fewer machines than the capacity                  GroupListsFewer
//	enough machines are there, and some serve nobody               the refusal itself (S-44; scenario min-counts-ready)
//	it would be one too few                                        GroupAtMin
func (d *View) Needed(g *GroupFacts, e Exit, with *fleet.Batch, n int) *reason.Reason {
	r := with.Needs(e.Verb, e.Target, n)
	if r == nil {
		return nil
	}
	id := fleet.GroupID(g.ID)
	about, has := reason.Group(string(g.ID)), d.Fleet.Bounds(id)
	switch {
	case g.Capacity < g.Min:
		return new(reason.New(reason.GroupBelowMin, about, "capacity", g.Capacity, "min", g.Min))
	case has.Coming > 0 && has.Sure > g.Min:
		return new(reason.New(reason.GroupAwaits, about, "machines", has.Ready, "coming", has.Coming, "min", g.Min))
	case g.standing < g.Capacity:
		return new(reason.New(reason.GroupListsFewer, about, "machines", has.Sure, "capacity", g.Capacity, "min", g.Min))
	case r.Property == "S-44" && has.Sure-has.Coming > has.Ready: // machines that serve nobody count for nothing
		return new(r.Reason(id, about))
	}
	return new(reason.New(reason.GroupAtMin, about, "capacity", g.Capacity, "min", g.Min))
}

// marked notes of a node by its machine's state that the mark on it is to be changed: that of a machine which is parked is cordoned, and
// one that stays bears no mark of its removal by somebody else.
//
//	node                                                                 what is to change
//	its machine is parked, and that is certain                           it is cordoned, unless it says so already
//	it bears sluice's taint; has no machine; runs the control plane      nothing here: its phase, or nobody, changes it
//	its machine is being deleted                                         nothing
//	it names a machine without the taint, or bears cluster-autoscaler's  the mark comes off
func marked(n *cluster.Node) (changed bool) {
	removal, on := cluster.RemovalOf(n.Object)
	_, incumbent := cluster.IncumbentSince(n.Object)
	switch {
	case n.Parked.UID != "":
		return n.Rests() && removal.Why != cluster.Parked
	case on || n.Instance == nil || cluster.ControlPlane(n.Object):
		return false
	}
	return n.Instance.State != cluster.StateDeleting && (n.Marked.UID != "" || incumbent)
}

// Departed says whether nothing but the Node object may be left of the node: its machine is gone, or on its way out and in no list. It
// counts as no node.
// The share of nodes that may be not Ready is taken without it.
func (d *View) Departed(n *cluster.Node) bool {
	if n.Instance != nil || n.Parked.UID != "" {
		return false
	}
	kept := n.MayDelete(d.Fleet)
	return kept == nil || kept.Code == reason.MachineLeaving
}

// Finalized are the finalizers that hold the Node object although somebody has deleted it, in one word, "" for one that nobody has deleted.
func Finalized(n *cluster.Node) string {
	if n.Object.DeletionTimestamp == nil {
		return ""
	}
	return strings.Join(n.Object.Finalizers, ", ")
}
