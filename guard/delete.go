package guard

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// on is where the pods of a node run.
func (e Evidence) on(n *cluster.Node) policy.Where {
	return policy.On(n, e.Newest.Group(n.Group), e.Newest.Objects.Budgets)
}

// instance is what a reason about a machine is about.
func instance(in *cluster.Instance) reason.Ref {
	return reason.Instance(string(in.Group), string(in.ID))
}

func checkDelete(w Delete, e Evidence, allowed *policy.Policy) error {
	if len(w.Machines) == 0 {
		return refuse("S-10", reason.DeletionInvalid, reason.Group(string(w.Group)), "named", "none")
	}
	if err := checkEvidence(w.Group, e); err != nil {
		return err
	}
	if err := checkOwn(w.Group, e, allowed); err != nil {
		return err
	}
	if err := checkServers(w.Group, e, allowed); err != nil {
		return err
	}
	seen := map[cluster.InstanceID]bool{}
	for _, t := range w.Machines {
		if seen[t.ID] {
			return refuse("S-11", reason.DeletionInvalid, reason.Group(string(w.Group)), "named", t.Machine.String()+" twice")
		}
		seen[t.ID] = true
		if err := checkTarget(t, e, allowed); err != nil {
			return err
		}
	}
	if err := checkBudgets(w.Machines, e, allowed); err != nil {
		return err
	}
	return checkFleet(w, e, allowed)
}

func checkTarget(t Target, e Evidence, allowed *policy.Policy) error {
	in := e.Group.Instance(t.ID)
	if in == nil || in.UID != t.UID {
		return refuse("S-11", reason.MachineNotListed, reason.Instance(string(t.Group), string(t.ID)))
	}
	if t.Node == "" {
		return checkUnregistered(in, e)
	}
	return checkNodeOf(t, in, e, allowed)
}

// checkUnregistered holds a machine that was never seen as a node: no node, not even one that registered a moment ago, may be it.
func checkUnregistered(in *cluster.Instance, e Evidence) error {
	for _, n := range e.Newest.Nodes {
		if !n.CouldBe(in) || n.Parked.UID != "" {
			continue
		}
		if e.Decided != nil && e.Decided.Node(n.Name()) == nil {
			return refuse("S-13", reason.MachineAmbiguous, instance(in), "node", n.Name())
		}
		return refuse("S-12", reason.MachineAmbiguous, instance(in), "node", n.Name())
	}
	if n := e.Looked[strings.ToLower(in.ComputerName)]; n != nil && in.MayBe(n) {
		return refuse("S-13", reason.MachineAmbiguous, instance(in), "node", n.Name)
	}
	if p := e.Newest.Orphan(in.ComputerName); p != nil {
		return refuse("S-15", reason.MachineCarriesPods, instance(in), "pod", p)
	}
	return nil
}

// checkNodeOf holds a machine whose node was drained: it is that node and no other, cordoned, empty, and no pending pod wants it.
func checkNodeOf(t Target, in *cluster.Instance, e Evidence, allowed *policy.Policy) error {
	n, about := e.Newest.Node(t.Node), reason.Node(t.Node)
	if n == nil || !in.MayBe(n.Object) {
		return refuse("S-12", reason.NodeMatchUnclear, about, "machine", t.Machine)
	}
	for _, other := range e.Newest.Nodes {
		if other != n && other.Parked.UID == "" && other.CouldBe(in) {
			return refuse("S-12", reason.MachineAmbiguous, instance(in), "node", other.Name())
		}
	}
	if len(n.Suspects) > 0 {
		return refuse("S-12", reason.NodeMatchesSeveral, about)
	}
	if err := checkControlPlane(n, e, allowed); err != nil {
		return err
	}
	if err := checkSeen(t.Node, e); err != nil {
		return err
	}
	if _, on := cluster.RemovalOf(n.Object); !on {
		return refuse("S-16", reason.NodeNotRemoving, about)
	}
	if err := checkActors(n, e); err != nil {
		return err
	}
	if err := checkLooked(n, e); err != nil {
		return err
	}
	removal, on := cluster.RemovalOf(n.Object)
	for _, p := range n.Pods {
		if err := checkGoesWith(p, n, e, allowed); err != nil {
			return err
		}
		if allowed.Belongs(p, e.on(n), e.Newest.Time) || p.Overstayed(e.Newest.Time) || on && allowed.Outlasted(p, e.on(n), removal.Since, e.Newest.Time) {
			continue
		}
		if why, keeps := allowed.Keeps(p, e.on(n), e.Newest.Time); keeps {
			return refuseFor("S-15", why)
		}
		return refuse("S-15", reason.PodStillThere, about, "pod", p)
	}
	return checkWanted(n, e, allowed)
}

// checkGoesWith holds a pod that would go with the machine of its node, where its controller would hold its eviction, or where it has come
// since the cordon and no person has asked for the removal.
func checkGoesWith(p *cluster.Pod, n *cluster.Node, e Evidence, allowed *policy.Policy) error {
	if p.Finished() || !allowed.GoesWith(p, e.on(n), e.Newest.Time) {
		return nil
	}
	if why, keeps := allowed.Uncontrolled(p, e.Newest.Objects.Controllers); keeps {
		return refuseFor("S-15", why)
	}
	if removal, _ := cluster.RemovalOf(n.Object); removal.Why != cluster.AskedFor && allowed.Joins(p, e.on(n), e.Newest.Time) {
		return refuse("S-15", reason.NodeJoined, reason.Node(n.Name()), "pod", p)
	}
	return nil
}

// checkBudgets holds pods that would go with the machines of their nodes beyond what a disruption budget allows.
func checkBudgets(targets []Target, e Evidence, allowed *policy.Policy) error {
	for _, b := range e.Newest.Objects.Budgets {
		going := e.Newest.Away(b)
		for _, t := range targets {
			n := e.Newest.Node(t.Node)
			if n == nil {
				continue
			}
			for _, p := range n.Pods {
				if p.Finished() || !allowed.GoesWith(p, e.on(n), e.Newest.Time) || !cluster.Protects(b, p) || !cluster.Holds(b, p) {
					continue
				}
				if going++; going > b.Status.DisruptionsAllowed {
					return refuse("S-15", reason.PodBudget, reason.Node(n.Name()), "pod", p, "budget", b.Name, "allowed", b.Status.DisruptionsAllowed)
				}
			}
		}
	}
	return nil
}

// checkActors holds a cordoned node that a person has uncordoned or annotated to stay.
func checkActors(n *cluster.Node, e Evidence) error {
	if err := checkKept(n, e); err != nil {
		return err
	}
	if !n.Object.Spec.Unschedulable {
		return refuse("S-18", reason.NodeFreedByPerson, reason.Node(n.Name()))
	}
	return nil
}

// checkLooked holds a node that is not found when it is looked at for this very write, or of which a person has said meanwhile that it
// stays.
func checkLooked(n *cluster.Node, e Evidence) error {
	now := e.Looked[n.Name()]
	if now == nil || now.UID != n.Object.UID {
		return refuse("S-20", reason.NodeReplaced, reason.Node(n.Name()))
	}
	return checkActors(&cluster.Node{Object: now, Group: n.Group}, e)
}

// checkKept holds a node that a person has annotated to stay, or whose group he has paused.
func checkKept(n *cluster.Node, e Evidence) error {
	if cluster.Kept(n.Object) {
		return refuse("S-18", reason.NodeScaleDownOff, reason.Node(n.Name()))
	}
	if until, held := cluster.Held(n.Object, e.Newest.Time); held {
		return refuse("S-18", reason.NodeHeld, reason.Node(n.Name()), "until", until)
	}
	return paused(n.Group, e)
}

// checkWanted holds a node that a pending pod counts on, and one that a pod fits which has come since the decision.
func checkWanted(n *cluster.Node, e Evidence, allowed *policy.Policy) error {
	if pod, ok := e.Counted[n.Name()]; ok {
		return refuse("S-16", reason.NodeCounted, reason.Node(n.Name()), "pod", pod)
	}
	if p := scheduling.May(newcomers(e, allowed), cluster.GivenBack(n.Object), n.Pods, e.Newest.Objects); p != nil {
		return refuse("S-16", reason.NodeFitsPod, reason.Node(n.Name()), "pod", p)
	}
	return nil
}

// newcomers are the pending pods that have come since the decision and that a scheduler may bind.
func newcomers(e Evidence, allowed *policy.Policy) []*cluster.Pod {
	known := make(map[types.UID]bool, len(e.Decided.Pending))
	for _, p := range e.Decided.Pending {
		known[p.UID] = true
	}
	var all []*cluster.Pod
	for _, p := range e.Newest.Pending {
		if !known[p.UID] && !p.Gated() && !allowed.Expendable(p) {
			all = append(all, p)
		}
	}
	return all
}
