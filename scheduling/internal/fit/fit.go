// Package fit judges pods on nodes as kube-scheduler's Filter plugins would.
//
//	plugin                                          is answered by
//	NodeUnschedulable, TaintToleration, NodeAffinity   package nodes, which asks the plugins once for each kind of node
//	NodeDeclaredFeatures                            package nodes in the same way
//	NodeName                                        the caller, who knows which nodes there are
//	NodePorts, NodeResourcesFit                     integers here
//	VolumeBinding, VolumeZone, VolumeRestrictions, NodeVolumeLimits   package storage, which asks the plugins
//	DynamicResources                                package devices, which asks the plugin
//	PodTopologySpread, InterPodAffinity             counters of package relations, read by package classes
//
//	file       what it owns
//	fit        the answer, for how many pods it holds, and pods that wait for a node on which room was made for them
//	refusals   the answer in words, with all causes
package fit

import (
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/classes"
	"sluice.dev/sluice/scheduling/internal/nodes"
	"sluice.dev/sluice/scheduling/internal/resources"
)

// Judge answers for the world as it is pretended now.
type Judge struct {
	classes.World
	Classes   *classes.Classes
	nominated map[nodes.Handle][]nodes.Entry // pods that wait for a node that is there; its lists are never changed
}

// New makes a judge of a world in which nobody waits for a node.
func New(w classes.World, c *classes.Classes) *Judge { return &Judge{World: w, Classes: c} }

// Answer says whether a pod of the kind is welcome on the node, with those that wait for it and without them. The pod itself is left out
// of them; it is nil when nobody in particular is asked about.
func (j *Judge) Answer(k *classes.Kind, h nodes.Handle, p *cluster.Pod) classes.Answer {
	if waiting := j.waiting(k, h, p); len(waiting) > 0 {
		a, repellable := classes.Welcome, k.Repellable() // asked before those that wait count as being there
		j.beside(h, waiting, func() { a = j.alone(k, h, repellable) })
		if a != classes.Welcome {
			return a
		}
	}
	return j.alone(k, h, j.Relations.Repelling())
}

// beside does something while pods that wait for the node count as if they were there.
func (j *Judge) beside(h nodes.Handle, waiting []nodes.Entry, do func()) {
	here := j.Nodes.Pods(h)
	j.Classes.CountAll(h, waiting, 1)
	j.Nodes.SetPods(h, slices.Concat(here, waiting))
	do()
	j.Nodes.SetPods(h, here)
	j.Classes.CountAll(h, waiting, -1)
}

// alone says whether a pod of the kind is welcome beside the pods that count as being on the node. Repellable says whether anti-affinity of
// these is asked about.
func (j *Judge) alone(k *classes.Kind, h nodes.Handle, repellable bool) classes.Answer {
	if !j.passes(k, h) {
		return classes.Never
	}
	if k.Volumes != nil && !j.Storage.Mountable(k.Volumes, h) {
		if k.Volumes.Undecided() {
			return classes.NotNow
		}
		return classes.Never
	}
	if k.Devices != nil && j.Devices.Refusal(k.Devices, h) != "" {
		return classes.Never
	}
	if k.Avoids(h) || repellable && k.Repelled(h) {
		return classes.Never
	}
	if a := k.Crowds(h); a != classes.Welcome {
		return a
	}
	return k.Follows(h)
}

// passes says whether the node has the resources, the host ports and the kubelet's features, and its taints and labels let the pod pass.
func (j *Judge) passes(k *classes.Kind, h nodes.Handle) bool {
	return !j.Nodes.Lacks(h, k.Spec.Needs) && k.Refused == "" && j.Rules.Pass(k.Spec.Tolerations, k.Spec.Selection, h) &&
		j.Rules.Declared(k.Spec.Features, h) && len(j.takenPorts(k.Spec, h)) == 0
}

// Suits says whether the node as such would do for pods of the kind: its resources, taints, labels, features, host ports and volumes,
// whoever else is near.
func (j *Judge) Suits(k *classes.Kind, h nodes.Handle) bool {
	return j.passes(k, h) && (k.Volumes == nil || j.Storage.Mountable(k.Volumes, h))
}

// Full says that no node of the block of this one has what a pod of the kind asks for. It says so only where [Judge.Answer] is
// [classes.Never] for each of them.
func (j *Judge) Full(k *classes.Kind, h nodes.Handle) bool { return j.Nodes.Full(h, k.Spec.Needs) }

// Room is how many pods of a kind that is welcome go onto the node before it has to be judged again.
func (j *Judge) Room(k *classes.Kind, h nodes.Handle) int {
	if k.Spreads() || len(k.Spec.Ports) > 0 || k.Volumes != nil || k.Devices != nil || j.Awaits() && len(j.nominated[h]) > 0 || k.Selfish(h) {
		return 1
	}
	room := int64(resources.Unlimited)
	for i := range k.Spec.Needs {
		n := &k.Spec.Needs[i]
		room = min(room, n.Times(j.Nodes.Left(n.Dim, h)))
	}
	return int(room)
}

// Alone says whether two pods of the kind never share the node: they ask for a host port, or keep each other away from it.
func (j *Judge) Alone(k *classes.Kind, h nodes.Handle) bool {
	return len(k.Spec.Ports) > 0 || k.Selfish(h)
}

// A pod that waits for a node on which the scheduler has made room is nominated. It counts there for pods of no higher priority, beside
// those that run. A pod is welcome when it is so with the nominated ones in their place and without them: kube-scheduler filters twice,
// since nobody knows whether they will come. One that is placed anywhere is nominated no more.

// Nominate says which pods of the snapshot wait for a node.
func (j *Judge) Nominate(pods []*cluster.Pod) {
	j.nominated = map[nodes.Handle][]nodes.Entry{}
	for _, p := range pods {
		h, ok := j.Nodes.Handle(p.Nominated())
		if cl := j.Classes.Of(p.Class); ok && !cl.Absent {
			j.nominated[h] = append(j.nominated[h], nodes.Entry{Pod: p, Class: cl.ID, N: 1})
		}
	}
}

// Awaits says whether pods wait for a node that is there.
func (j *Judge) Awaits() bool { return len(j.nominated) > 0 }

// Settle takes a pod that is placed out of those that wait for a node. It returns the node and those who waited there by then, none when
// the pod was not among them. [Judge.Unsettle] takes it back.
func (j *Judge) Settle(p *cluster.Pod) (h nodes.Handle, before []nodes.Entry) {
	if !j.Awaits() || p == nil || p.Nominated() == "" {
		return 0, nil
	}
	h, ok := j.Nodes.Handle(p.Nominated())
	i := slices.IndexFunc(j.nominated[h], func(e nodes.Entry) bool { return same(e.Pod, p) })
	if !ok || i < 0 {
		return 0, nil
	}
	before = j.nominated[h]
	j.nominated[h] = slices.Concat(before[:i], before[i+1:])
	return h, before
}

// Unsettle has these pods wait for the node again.
func (j *Judge) Unsettle(h nodes.Handle, before []nodes.Entry) { j.nominated[h] = before }

// waiting are the pods that wait for the node and that pods of the kind must yield to, but for the pod itself.
func (j *Judge) waiting(k *classes.Kind, h nodes.Handle, p *cluster.Pod) (all []nodes.Entry) {
	if !j.Awaits() {
		return nil
	}
	for _, e := range j.nominated[h] {
		if e.Pod.Priority() >= k.Class.Of.Priority() && (p == nil || !same(e.Pod, p)) {
			all = append(all, e)
		}
	}
	return all
}

// same says whether two records are about one pod.
func same(a, b *cluster.Pod) bool {
	return a == b || a.Namespace == b.Namespace && a.Name == b.Name && a.UID == b.UID
}
