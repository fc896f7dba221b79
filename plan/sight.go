package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// sight is what a node shows by itself, under the policy and its group's thresholds: what other nodes, waiting pods and the last cycles
// have to do with it is left out. But for what it remembers of its pods it is never changed.
type sight struct {
	// What each cycle reads of every node comes first, in one line of the processor's cache.
	name     string            // of the node
	Instance *cluster.Instance // of the node
	movers   []*cluster.Pod    // pods that have to leave before the machine may go, those already on their way out included
	of       int32             // the place of its group among the snapshot's, -1 when it is of none that is managed
	settled  bool              // verdict is the last word on it
	passing  bool              // time alone makes it another one: a starting node grows old, a deleted pod overstays
	ready    bool
	takes    bool // pods may go there: it is Ready and not cordoned
	onLadder bool // removal is what its taint says
	asked    bool // a person has asked for it: see [askedFor]
	controls bool // it runs the control plane or etcd
	clings   bool // pods of it would return: see [policy.Returns]
	plain    bool // its verdict was said, and no list of [Planner.look] has it

	*cluster.Node
	resource  corev1.ResourceName
	used      float64 // share of the resource that is asked for
	threshold float64 // at or below which it is underused
	consent   consent

	verdict    Verdict // without an outcome there is more to be said
	shunned    bool    // the scheduler prefers others
	works      bool    // it holds pods of Jobs
	marked     bool    // its mark is to be changed
	owned      bool    // it has no machine, and bears the name of a sluice
	noticed    bool    // the cloud has announced something to its machine
	answered   bool    // an answer to that stands there
	doubtful   bool    // it could be a machine to which it is not joined
	leavesSpot bool    // see [decision.leavesSpot]
	removal    cluster.Removal
	where      policy.Where
	loss       loss // of the movers

}

// Name is the node's name.
func (v *sight) Name() string { return v.name }

// look looks at a node.
func (d *view) look(n *cluster.Node) *sight {
	v := &sight{Node: n, Instance: n.Instance, name: n.Name(), of: -1, ready: cluster.Ready(n.Object), shunned: cluster.Candidate(n.Object)}
	v.takes = v.ready && !n.Object.Spec.Unschedulable && !cluster.Noticed(n.Object)
	if g := d.groups[n.Group]; g != nil {
		v.of = int32(g.at)
	}
	v.removal, v.onLadder = cluster.RemovalOf(n.Object)
	v.where, v.marked = d.where(n), marked(n)
	v.owned = n.Instance == nil && cluster.OwnerOf(n.Object) != ""
	_, v.answered = cluster.AnswerOf(n.Object)
	v.noticed, v.doubtful = cluster.Noticed(n.Object), len(n.Suspects) > 0 || n.Instance == nil && n.Parked.UID == "" && (n.Group != "" || n.Numbered)
	v.leavesSpot = d.leavesSpot(v)
	v.controls, v.asked = cluster.ControlPlane(n.Object), askedFor(n) != nil
	v.clings = slices.ContainsFunc(n.Pods, policy.Returns)
	v.works = slices.ContainsFunc(n.Pods, func(p *cluster.Pod) bool { return ofJob(p.Class) })
	_, incumbent := cluster.IncumbentSince(n.Object)
	v.passing = !v.ready || incumbent || n.Object.Annotations[cluster.HoldAnnotation] != "" || len(n.Awaits) > 0 || d.allowed.Growth.Taints.Arriving(n.Object)
	say := func(outcome Outcome, because ...reason.Reason) {
		v.verdict, v.settled = Verdict{reason.Node(n.Name()), outcome, because}, true
	}
	if outcome, because, settled := d.untouched(v); settled {
		say(outcome, because...)
		return v
	}
	if n.Instance == nil {
		return v // whatever it carries is gone with its machine
	}
	there, g, leaving := n.Pods, d.groups[n.Group], false
	if v.resource, v.used, leaving = d.check.Load(n); leaving {
		v.passing = true
		there = slices.DeleteFunc(slices.Clone(there), func(p *cluster.Pod) bool {
			return !d.belongs(p, v) && (p.Overstayed(d.now) || v.onLadder && d.allowed.Outlasted(p, v.where, v.removal.Since, d.now))
		})
		v.resource, v.used = d.check.Utilization(n.Object, there)
	}
	if r := d.allowed.Removal; r.IgnoreDaemons || r.IgnoreMirrors {
		v.resource, v.used = d.check.Utilization(d.without(v, there))
	}
	v.threshold = g.removal.Threshold
	if v.resource != corev1.ResourceCPU && v.resource != corev1.ResourceMemory {
		v.threshold = g.removal.GPUThreshold
	}
	if v.used > v.threshold && !v.onLadder && !v.asked && slices.ContainsFunc(there, func(p *cluster.Pod) bool { return !p.Daemon() && !d.allowed.Expendable(p) }) {
		say(NodeKeep, d.busy(v))
		return v
	}
	var lasts *reason.Reason
	for _, p := range there {
		if p.Daemon() {
			v.passing = v.passing || policy.MarkEnds(p)
		}
		if d.belongs(p, v) {
			continue
		}
		v.movers = append(v.movers, p)
		v.loss.add(p)
		if lasts == nil && !p.Leaving() && d.allowed.Lasts(p, v.where, d.now) {
			why, _ := d.allowed.Keeps(p, v.where, d.now)
			lasts = &why
		}
	}
	switch {
	case v.onLadder || v.asked || len(v.movers) == 0:
	case lasts != nil:
		say(NodeKeep, *lasts)
	case v.used > v.threshold:
		say(NodeKeep, d.busy(v))
	}
	return v
}

// where is where the pods of a node run.
func (d *view) where(n *cluster.Node) policy.Where {
	var g *cluster.Group
	if st := d.groups[n.Group]; st != nil {
		g = st.Group
	}
	return policy.On(n, g, d.s.Objects.Budgets)
}

// belongs says whether a pod goes with its node, as the policy has it now.
func (d *view) belongs(p *cluster.Pod, v *sight) bool {
	return d.allowed.Belongs(p, v.where, d.now)
}

// busy is why a node is kept that is used too much to go. Nodes of which the same is to be said share the words.
func (d *view) busy(v *sight) reason.Reason {
	words := [3]string{percent(v.used), string(v.resource), percent(v.threshold)}
	said, ok := d.usages[words]
	if !ok {
		said = reason.New(reason.NodeBusy, reason.Ref{}, "used", words[0], "resource", words[1], "threshold", words[2])
		d.usages[words] = said
	}
	said.About = reason.Node(v.Name())
	return said
}

// without is the node and its pods as they count for its use when pods that belong to it do not: neither is what they take there to give.
func (d *view) without(v *sight, there []*cluster.Pod) (*corev1.Node, []*cluster.Pod) {
	r := d.allowed.Removal
	own := func(p *cluster.Pod) bool {
		return d.belongs(p, v) && (p.Mirror() && r.IgnoreMirrors || !p.Mirror() && r.IgnoreDaemons)
	}
	out := v.Object.DeepCopy()
	for _, p := range there {
		if !own(p) {
			continue
		}
		needs := d.check.Needs(p.Class)
		for i, name := range d.check.Resources() {
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
