package actuate

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/guard"
	"sluice.dev/sluice/internal/kube"
	"sluice.dev/sluice/plan/action"
)

// leastWithin is the least time that a request is given; a process that leads for less sends none.
const leastWithin = 5 * time.Second

// within is how long a request may take: no longer than this process leads for certain. That the guard has seen [leastWithin] left does not mean that
// it is left still: what was read for the guard took its time.
func (a *Actuator) within() time.Duration {
	leads := a.leads()
	if leads.IsZero() {
		return requestTimeout
	}
	return min(requestTimeout, leads.Sub(a.Now()))
}

// known is the evidence that every write has.
func (a *Actuator) known(decided, newest *cluster.Snapshot, p action.Plan) guard.Evidence {
	return guard.Evidence{
		DryRun: a.DryRun, Started: a.Started, Decided: decided, Newest: newest, Counted: p.Counted, Unseen: a.unseen(), Answer: leastWithin,
		Silent: a.silence(), Leads: a.leads(), Fleet: a.Ledger.View(),
	}
}

// cordonWithin is how old the read of a group may be on which a cordon rests. A person may have protected the machine in the cloud since (S-18), of
// which no node tells, and steady groups are read seldom.
const cordonWithin = 2 * time.Minute

// renew reads a group where it was read too long ago for one of its nodes to be cordoned.
func (a *Actuator) renew(ctx context.Context, id cluster.GroupID) error {
	i := slices.IndexFunc(a.groups, func(g *cluster.Group) bool { return g.ID == id })
	if i < 0 || a.Now().Sub(a.groups[i].Read.At) <= cordonWithin {
		return nil
	}
	g, err := a.Cloud.Group(ctx, id)
	if err != nil {
		return err
	}
	g = a.Policy.Bound(g, a.Now())
	g.Learned, g.Joined = a.groups[i].Learned, a.groups[i].Joined
	a.know(g)
	return nil
}

// silence is for how long the API server has said nothing.
func (a *Actuator) silence() time.Duration {
	if a.Silent == nil {
		return 0
	}
	return a.Silent()
}

// leads is until when this process leads for certain, zero when nothing ends that.
func (a *Actuator) leads() time.Time {
	if a.Leads == nil {
		return time.Time{}
	}
	return a.Leads()
}

// emptying has the budget charged for a write that empties a node, whether or not its answer will be good.
func (a *Actuator) emptying(w guard.Write, e guard.Evidence) {
	if in := guard.Emptying(w, e, a.Policy); in != nil {
		a.charge(in.Group, []fleet.UID{fleet.UID(in.UID)})
	}
}

// charge has the budget of removals charged for machines.
func (a *Actuator) charge(id cluster.GroupID, machines []fleet.UID) {
	if len(machines) > 0 {
		a.Ledger.Observe(fleet.Asked{Group: fleet.GroupID(id), At: a.Ledger.Instant(), Verb: fleet.Empty, Charge: machines})
	}
}

// nodes writes to Kubernetes, and remembers what each write to a node has left.
func (a *Actuator) nodes() kube.Writer {
	w := a.Nodes
	w.Wrote = func(node, version string) {
		v, err := strconv.ParseUint(version, 10, 64)
		if err != nil || a.Seen == nil {
			return // versions are no numbers here, and nothing tells old from new
		}
		if a.wrote == nil {
			a.wrote = map[string]uint64{}
		}
		a.wrote[node] = v
	}
	return w
}

// look reads the nodes of machines of a group that are to be removed past every watch, which may be silent: of a machine that was not seen as a
// node, the one that would bear its name. One that is not there is left out.
func (a *Actuator) look(ctx context.Context, g *cluster.Group, leaving []action.Leaving) (map[string]*corev1.Node, error) {
	looked := map[string]*corev1.Node{}
	for _, l := range leaving {
		name := l.Node
		if in := g.Instance(l.Machine.ID); name == "" && in != nil {
			name = strings.ToLower(in.ComputerName)
		}
		if name == "" {
			continue
		}
		n, err := a.Nodes.Look(ctx, name)
		if err != nil {
			return nil, err
		}
		if n != nil {
			looked[name] = n
		}
	}
	return looked, nil
}

// lookAround adds all of the control plane to what was looked at for a write, where the node to leave is of it.
func (a *Actuator) lookAround(ctx context.Context, node string, e *guard.Evidence) error {
	if n := e.Newest.Node(node); n == nil || !cluster.ControlPlane(n.Object) {
		return nil
	}
	all, err := a.Nodes.ControlPlane(ctx)
	if err != nil {
		return err
	}
	if e.Looked == nil {
		e.Looked = map[string]*corev1.Node{}
	}
	for _, n := range all {
		e.Looked[n.Name] = n
	}
	return nil
}

// writer is [Actuator.nodes] for one write: where it is several, or is tried again, and has taken its time, the guard is asked before each of them, with what is
// known by then.
func (a *Actuator) writer(write guard.Write, evidence guard.Evidence) kube.Writer {
	nodes := a.nodes()
	nodes.Still = func() error {
		if a.Now().Sub(evidence.Newest.Time) < stillNew {
			return nil
		}
		newest, err := a.newest()
		if err != nil {
			return err
		}
		evidence.Newest, evidence.Silent, evidence.Leads, evidence.Fleet = newest, a.silence(), a.leads(), a.Ledger.View()
		return guard.Check(write, evidence, a.Policy)
	}
	return nodes
}

// stillNew is how old evidence may be on which the next write of several rests.
const stillNew = time.Second

// unseen are the nodes that were written to since the API server has shown them: what is known of them is older than what was done to them.
func (a *Actuator) unseen() map[string]bool {
	if len(a.wrote) == 0 {
		return nil
	}
	seen, all := a.Seen("nodes"), map[string]bool{}
	for node, version := range a.wrote {
		if version <= seen {
			delete(a.wrote, node)
			continue
		}
		all[node] = true
	}
	return all
}

// givenUp is the group with those machines as failed that leave without ever having become a node, or are to be discarded: a cloud that would only switch
// them off would start them again for the next pod, and again in vain.
func givenUp(g *cluster.Group, leaving []action.Leaving) *cluster.Group {
	own := *g
	own.Instances = slices.Clone(g.Instances)
	for i, in := range own.Instances {
		given := slices.ContainsFunc(leaving, func(l action.Leaving) bool { return l.ID == in.ID && (l.Node == "" || l.Discard) })
		if given && in.State.Expected() {
			failed := *in
			failed.State = cluster.StateFailed
			own.Instances[i] = &failed
		}
	}
	return &own
}
