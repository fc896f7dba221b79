package node

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// Facts is what a node shows by itself, under the policy and its group's thresholds: what other nodes, waiting pods and the last cycles
// have to do with it is left out. But for what it remembers of its pods it is never changed.
type Facts struct {
	// What each cycle reads of every node comes first, in one line of the processor's cache.
	NodeName string            // of the node
	Instance *cluster.Instance // of the node
	Movers   []*cluster.Pod    // pods that have to leave before the machine may go, those already on their way out included
	Of       int32             // the place of its group among the snapshot's, -1 when it is of none that is managed
	Settled  bool              // verdict is the last word on it
	Passing  bool              // time alone makes it another one: a starting node grows old, a deleted pod overstays
	Ready    bool
	Takes    bool // pods may go there: it is Ready and not cordoned
	OnLadder bool // removal is what its taint says
	Asked    bool // a person has asked for it: see [AskedFor]
	Controls bool // it runs the control plane or etcd
	Clings   bool // pods of it would return: see [policy.Returns]
	plain    bool // its verdict was said, and no list of [View.look] has it

	*cluster.Node
	Resource  corev1.ResourceName
	Used      float64 // share of the resource that is asked for
	Threshold float64 // at or below which it is underused
	Consent   Consent

	Verdict    action.Verdict // without an outcome there is more to be said
	shunned    bool           // the scheduler prefers others
	works      bool           // it holds pods of Jobs
	marked     bool           // its mark is to be changed
	owned      bool           // it has no machine, and bears the name of a sluice
	noticed    bool           // the cloud has announced something to its machine
	answered   bool           // an answer to that stands there
	doubtful   bool           // it could be a machine to which it is not joined
	leavesSpot bool           // see [Facts.leavesSpot]
	Removal    cluster.Removal
	Where      policy.Where
	Loss       Loss // of the movers

}

// Name is the node's name.
func (v *Facts) Name() string { return v.NodeName }

// look looks at a node.
func (d *View) look(n *cluster.Node) *Facts {
	v := &Facts{Node: n, Instance: n.Instance, NodeName: n.Name(), Of: -1, Ready: cluster.Ready(n.Object), shunned: cluster.Candidate(n.Object)}
	v.Takes = v.Ready && !n.Object.Spec.Unschedulable && !cluster.Noticed(n.Object)
	if g := d.groups[n.Group]; g != nil {
		v.Of = int32(g.At)
	}
	v.Removal, v.OnLadder = cluster.RemovalOf(n.Object)
	v.Where, v.marked = d.Where(n), marked(n)
	v.owned = n.Instance == nil && cluster.OwnerOf(n.Object) != ""
	_, v.answered = cluster.AnswerOf(n.Object)
	v.noticed, v.doubtful = cluster.Noticed(n.Object), len(n.Suspects) > 0 || n.Instance == nil && n.Parked.UID == "" && (n.Group != "" || n.Numbered)
	v.leavesSpot = d.leavesSpot(v)
	v.Controls, v.Asked = cluster.ControlPlane(n.Object), AskedFor(n) != nil
	v.Clings = slices.ContainsFunc(n.Pods, policy.Returns)
	v.works = slices.ContainsFunc(n.Pods, func(p *cluster.Pod) bool { return OfJob(p.Class) })
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
		there = slices.DeleteFunc(slices.Clone(there), func(p *cluster.Pod) bool {
			return !d.Belongs(p, v) && (p.Overstayed(d.Now) || v.OnLadder && d.Policy.Outlasted(p, v.Where, v.Removal.Since, d.Now))
		})
		v.Resource, v.Used = d.Check.Utilization(n.Object, there)
	}
	if r := d.Policy.Removal; r.IgnoreDaemons || r.IgnoreMirrors {
		v.Resource, v.Used = d.Check.Utilization(d.without(v, there))
	}
	v.Threshold = g.Removal.Threshold
	if v.Resource != corev1.ResourceCPU && v.Resource != corev1.ResourceMemory {
		v.Threshold = g.Removal.GPUThreshold
	}
	if v.Used > v.Threshold && !v.OnLadder && !v.Asked && slices.ContainsFunc(there, func(p *cluster.Pod) bool { return !p.Daemon() && !d.Policy.Expendable(p) }) {
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
	case v.OnLadder || v.Asked || len(v.Movers) == 0:
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
func (d *View) without(v *Facts, there []*cluster.Pod) (*corev1.Node, []*cluster.Pod) {
	r := d.Policy.Removal
	own := func(p *cluster.Pod) bool {
		return d.Belongs(p, v) && (p.Mirror() && r.IgnoreMirrors || !p.Mirror() && r.IgnoreDaemons)
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
