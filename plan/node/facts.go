package node

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// Name is the node's name.
func (v *Facts) Name() string { return v.NodeName }

// look looks at a node.
//
//	step, in this order  the node is settled when
//	untouched            sluice leaves it alone
//	it has no machine    never: package remove decides on its Node object
//	use, of all pods     it is used above its threshold, nothing has it leave, and some pod on it counts
//	work that lasts      a daemon's pod on it works, and its end is not waited for (scenario daemon-work-marked)
//	use, with movers     it has movers, and is used above its threshold
//
// A node that is not settled is judged by package remove in each cycle. Nothing here depends on other nodes or on pods that wait, so the
// result holds until the node changes, or time passes: see Facts.Passing.
func (d *View) look(n *cluster.Node) *Facts {
	v := &Facts{Node: n, Instance: n.Instance, NodeName: n.Name(), Of: -1, Ready: cluster.Ready(n.Object), steered: cluster.Candidate(n.Object)}
	v.Takes = v.Ready && !n.Object.Spec.Unschedulable && !cluster.Noticed(n.Object)
	if g := d.groups[n.Group]; g != nil {
		v.Of = int32(g.At)
	}
	v.Removal, v.Leaves = cluster.RemovalOf(n.Object)
	v.Where, v.marked = d.Where(n), marked(n)
	v.owned = n.Instance == nil && cluster.OwnerOf(n.Object) != ""
	_, v.answered = cluster.AnswerOf(n.Object)
	v.noticed, v.doubtful = cluster.Noticed(n.Object), len(n.Suspects) > 0 || n.Instance == nil && n.Parked.UID == "" && (n.Group != "" || n.Numbered)
	v.leavesSpot = d.leavesSpot(v)
	v.Controls, v.Asked = cluster.ControlPlane(n.Object), AskedFor(n) != nil
	v.Clings = slices.ContainsFunc(n.Pods, policy.Returns)
	_, incumbent := cluster.IncumbentSince(n.Object)
	v.Passing = !v.Ready || incumbent || n.Object.Annotations[cluster.HoldAnnotation] != "" || len(n.Awaits) > 0 || d.Policy.Growth.Taints.Arriving(n.Object)
	say := func(outcome action.Outcome, because ...reason.Reason) {
		v.Verdict, v.Settled = action.Verdict{Subject: reason.Node(n.Name()), Outcome: outcome, Because: because}, true
	}
	if outcome, because, settled := d.untouched(v); settled {
		say(outcome, because...)
		return v
	}
	if n.Instance == nil {
		return v // whatever it carries is gone with its machine
	}
	there, g, leaving := n.Pods, d.groups[n.Group], false
	if v.Resource, v.Used, leaving = d.Check.Load(n); leaving {
		v.Passing = true
		// A pod that should have ended by now takes up nothing: its kubelet may be dead and never say so (scenario
		// terminating-on-dead-node).
		there = slices.DeleteFunc(slices.Clone(there), func(p *cluster.Pod) bool {
			return !d.Belongs(p, v) && (p.Overstayed(d.Now) || v.Leaves && d.Policy.Outlasted(p, v.Where, v.Removal.Since, d.Now))
		})
		v.Resource, v.Used = d.Check.Utilization(n.Object, there)
	}
	if r := d.Policy.Removal; r.Utilization.IgnoreDaemons || r.Utilization.IgnoreMirrors {
		v.Resource, v.Used = d.Check.Utilization(d.without(v, there))
	}
	v.Threshold = g.Removal.Utilization.Threshold
	if v.Resource != corev1.ResourceCPU && v.Resource != corev1.ResourceMemory {
		v.Threshold = g.Removal.Utilization.GPUThreshold
	}
	// Most nodes of a cluster in use end here: their pods are not looked at one by one.
	if v.Used > v.Threshold && !v.Leaves && !v.Asked && slices.ContainsFunc(there, func(p *cluster.Pod) bool { return !p.Daemon() && !d.Policy.Expendable(p) }) {
		say(action.NodeKeep, d.busy(v))
		return v
	}
	var lasts *reason.Reason
	for _, p := range there {
		if p.Daemon() {
			v.Passing = v.Passing || policy.MarkEnds(p)
		}
		if d.Belongs(p, v) {
			continue
		}
		v.Movers = append(v.Movers, p)
		v.Loss.add(p)
		if lasts == nil && !p.Leaving() && d.Policy.Lasts(p, v.Where, d.Now) {
			why, _ := d.Policy.Keeps(p, v.Where, d.Now)
			lasts = &why
		}
	}
	switch {
	case v.Leaves || v.Asked || len(v.Movers) == 0:
	case lasts != nil:
		say(action.NodeKeep, *lasts)
	case v.Used > v.Threshold:
		say(action.NodeKeep, d.busy(v))
	}
	return v
}

// Where is where the pods of a node run.
func (d *View) Where(n *cluster.Node) policy.Where {
	var g *cluster.Group
	if st := d.groups[n.Group]; st != nil {
		g = st.Group
	}
	return policy.On(n, g, d.Snapshot.Objects.Budgets)
}

// Belongs says whether a pod goes with its node, as the policy has it now.
func (d *View) Belongs(p *cluster.Pod, v *Facts) bool {
	return d.Policy.Belongs(p, v.Where, d.Now)
}

// busy is why a node is kept that is used too much to go. Nodes of which the same is to be said share the words.
func (d *View) busy(v *Facts) reason.Reason {
	words := [3]string{Percent(v.Used), string(v.Resource), Percent(v.Threshold)}
	said, ok := d.usages[words]
	if !ok {
		said = reason.New(reason.NodeBusy, reason.Ref{}, "used", words[0], "resource", words[1], "threshold", words[2])
		d.usages[words] = said
	}
	said.About = reason.Node(v.Name())
	return said
}

// without is the node and its pods as they count for its use when pods that belong to it do not: neither is what they take there to give.
// With the flags that ignore daemons or static pods (scenarios daemons-not-counted, static-pods-not-counted), it gives the checker such a
// node.
func (d *View) without(v *Facts, there []*cluster.Pod) (*corev1.Node, []*cluster.Pod) {
	r := d.Policy.Removal
	own := func(p *cluster.Pod) bool {
		return d.Belongs(p, v) && (p.Mirror() && r.Utilization.IgnoreMirrors || !p.Mirror() && r.Utilization.IgnoreDaemons)
	}
	out := v.Object.DeepCopy()
	for _, p := range there {
		if !own(p) {
			continue
		}
		needs := d.Check.Needs(p.Class)
		for i, name := range d.Check.Resources() {
			if left, ok := out.Status.Allocatable[name]; ok && i < len(needs) && needs[i] > 0 {
				took := resource.NewQuantity(needs[i], left.Format)
				if name == corev1.ResourceCPU {
					took = resource.NewMilliQuantity(needs[i], left.Format)
				}
				left.Sub(*took)
				out.Status.Allocatable[name] = left
			}
		}
	}
	return out, slices.DeleteFunc(slices.Clone(there), own)
}

// Acknowledged says whether a person knows that the node's machine is lost.
func (d *View) Acknowledged(n *cluster.Node) bool {
	return d.Fleet != nil && n.Instance != nil && d.Fleet.Acknowledged(fleet.GroupID(n.Instance.Group), fleet.UID(n.Instance.UID))
}

// untouched says of nodes that sluice leaves alone why it does.
//
// The cases before v.Leaves are asked of cordoned nodes as well. The later ones are about nodes without sluice's taint: what gives a
// cordoned node back is decided in package remove.
func (d *View) untouched(v *Facts) (action.Outcome, []reason.Reason, bool) {
	n, about := v.Node, reason.Node(v.Name())
	keep := func(code reason.Code, facts ...any) (action.Outcome, []reason.Reason, bool) {
		return action.NodeKeep, []reason.Reason{reason.New(code, about, facts...)}, true
	}
	switch {
	case len(n.Suspects) > 0 && !n.Outlived():
		// A removal names a machine, and here nobody knows which one it is (S-12; scenario node-ambiguous-ids).
		names := ""
		for i, in := range n.Suspects {
			if i > 0 {
				names += ", "
			}
			names += fmt.Sprintf("%s/%s", in.Group, in.ID)
		}
		return action.NodeHold, []reason.Reason{reason.New(reason.NodeAmbiguous, about, "instances", names)}, true
	case n.Group == "" || d.groups[n.Group] == nil:
		return keep(reason.NodeUnmanaged)
	case v.Controls && !d.Policy.Removal.ControlPlane && !(v.Leaves && n.Instance != nil): // which is given back
		// One that bears sluice's taint and has a machine goes on to package remove (S-17).
		return keep(reason.NodeControlPlane)
	case d.groups[n.Group].Servers && !(v.Leaves && n.Instance != nil):
		return action.NodeKeep, []reason.Reason{d.Controlled(n.Group)}, true
	case n.Parked.UID != "":
		// Nothing is left to remove: the node stands for the machine that is off (scenario parked-nodes-are-no-room).
		return action.NodeParked, []reason.Reason{reason.New(reason.NodeMachineParked, about, "instance", n.Parked.ID)}, true
	case !v.Ready && WasParked(n) && d.Restarts(n):
		// It still bears the taint of its parked machine. It stays cordoned until its kubelet reports (scenario parked-started-by-hand).
		return keep(reason.NodeStarting, "age", d.Waited(n.Instance))
	case v.Leaves:
		// How far it goes depends on other nodes and on pods that wait: package remove decides.
		return "", nil, false
	case n.Instance == nil:
		// Its Node object may go, once its machine is gone for certain (S-14): package remove decides.
		return "", nil, false
	case n.Instance.State == cluster.StateDeleting:
		return Leaves(d.Parks(d.groups[n.Group], n)), []reason.Reason{reason.New(reason.NodeLeaving, about, "instance", n.Instance.ID, "fate", Fate(d.Parks(d.groups[n.Group], n)))}, true
	case cluster.Noticed(n.Object) && !n.CameTrue():
		// Azure is about to stop the machine, and the agent has cordoned the node. Once the machine is off, the notice keeps the node no
		// longer.
		return action.NodeKeep, []reason.Reason{Noticed(n)}, true
	case d.ofIncumbent(n) != nil:
		// It comes before the next case, as cluster-autoscaler may cordon as well: such a cordon is no person's (scenario
		// switch-over-both-lead).
		return action.NodeKeep, keptMeanwhile(n, *d.ofIncumbent(n)), true
	case n.Object.Spec.Unschedulable:
		// It is cordoned, and not by sluice: a person's order (S-18; scenario person-cordons).
		return action.NodeKeep, keptMeanwhile(n, reason.New(reason.NodeHeldByPerson, about)), true
	case cluster.Kept(n.Object):
		return action.NodeKeep, keptMeanwhile(n, reason.New(reason.NodeScaleDownOff, about)), true
	case d.Held(n) != nil:
		return action.NodeKeep, keptMeanwhile(n, *d.Held(n)), true
	case n.Instance.Protected:
		return action.NodeKeep, keptMeanwhile(n, reason.New(reason.NodeProtected, about, "instance", n.Instance.ID)), true
	case len(n.Awaits) > 0 && d.Starting(n):
		// Without its devices the node looks idle: it is not called a candidate (scenario gpu-awaited).
		return keep(reason.NodeAwaitsDevices, "age", Age(d.Now, n.Object.CreationTimestamp), "devices", deviceNames(n))
	case d.Starting(n) && v.Ready && len(d.AwaitsTaint(n)) > 0:
		return keep(reason.NodeAwaitsTaint, d.AwaitsTaint(n)...)
	case d.Starting(n):
		return keep(reason.NodeStarting, "age", Age(d.Now, n.Object.CreationTimestamp))
	case !v.Ready && d.Restarts(n):
		// Its machine was off and runs again: it has the time of a new machine to report.
		return keep(reason.NodeStarting, "age", d.Waited(n.Instance))
	}
	return "", nil, false
}

// AwaitsTaint is what a reason says of the startup taint that the node bears, nil when it bears none: of several the first.
func (d *View) AwaitsTaint(n *cluster.Node) []any {
	taints := d.Policy.Growth.Taints.Awaited(n.Object.Spec.Taints)
	if len(taints) == 0 {
		return nil
	}
	return []any{
		"age", Age(d.Now, n.Object.CreationTimestamp), "taint", taints[0].ToString(), "who", d.Policy.Growth.Taints.Remover(taints[0].Key),
		"limit", d.Policy.Growth.Node.StartupTime,
	}
}

// Controlled says why the group is taken for one of control-plane nodes.
func (d *View) Controlled(g cluster.GroupID) reason.Reason {
	return reason.New(reason.GroupControlPlane, reason.Group(string(g)), "role", string(d.groups[g].ControlPlane))
}

// keptMeanwhile is why people keep the node, and that another one has asked for it to be emptied meanwhile, where that is so.
func keptMeanwhile(n *cluster.Node, why reason.Reason) []reason.Reason {
	all := []reason.Reason{why}
	if asked := AskedFor(n); asked != nil {
		all = append(all, *asked)
	}
	return all
}

// deviceNames are the devices that the node awaits, in one word.
func deviceNames(n *cluster.Node) string {
	var names []string
	for name := range n.Awaits {
		names = append(names, string(name))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// Age is how long ago t was, in whole seconds.
func Age(now time.Time, t metav1.Time) time.Duration { return now.Sub(t.Time).Truncate(time.Second) }

// Percent prints a share, with halves as they read in decimals.
func Percent(share float64) string {
	p := math.RoundToEven(math.Round(share*1e6) / 1e4)
	if p >= 0 && p < float64(len(percents)) {
		return percents[int(p)]
	}
	return fmt.Sprintf("%.0f%%", p)
}

// percents are the words for the shares of most nodes.
var percents = func() (words [101]string) {
	for i := range words {
		words[i] = fmt.Sprintf("%d%%", i)
	}
	return words
}()

// OfJob says whether pods of the class belong to a Job.
func OfJob(of *cluster.Class) bool {
	o := of.Owner()
	return o != nil && o.Kind == "Job"
}

// OwnerOf names the controller of a class's pods, "" when they have none or belong to their node.
func OwnerOf(of *cluster.Class) string {
	o := of.Owner()
	if o == nil || of.Daemon() {
		return ""
	}
	return of.Namespace + "/" + o.Kind + "/" + o.Name
}

// Hosting ranks a node among those that pods could move to.
//
//	rank  node                       why pods of a leaving node try it then
//	0     settled                    it stays anyway
//	1     with movers                it may leave later
//	2     carries nobody that moves  it could go at once, if it stays empty
func (v *Facts) Hosting() int {
	switch {
	case v.Settled:
		return 0
	case len(v.Movers) > 0:
		return 1
	}
	return 2
}

// Moving are the node's pods that have to find another place. Those already on their way out are not asked, nor daemons' pods, which run
// nowhere else.
func Moving(v *Facts) []*cluster.Pod {
	stays := func(p *cluster.Pod) bool { return p.Leaving() || p.Daemon() }
	if !slices.ContainsFunc(v.Movers, stays) {
		return v.Movers
	}
	return slices.DeleteFunc(slices.Clone(v.Movers), stays)
}

// Consent is what the policy and the budgets' selectors say of a node's pods. Time that passes takes no consent back: a pod that may be
// evicted now may be so later. It holds from then on, and as long as the budgets and the pods' controllers are the same: see
// [plan.Planner.begin].
// Package remove writes it, and [plan.Planner] clears it. It is the one part of [Facts] that a phase changes.
type Consent struct {
	Known    bool
	Since    time.Time
	Budgeted []*cluster.Pod // the pods that budgets select
}

// AskedFor says that a person has asked for the node to be emptied and removed, nil when nobody has.
func AskedFor(n *cluster.Node) *reason.Reason {
	at, asked := n.Object.Annotations[cluster.DrainAnnotation]
	if !asked {
		return nil
	}
	r := reason.New(reason.NodeAskedFor, reason.Node(n.Name()), "at", at)
	return &r
}

// Btoi is 1 for true and 0 for false.
func Btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
