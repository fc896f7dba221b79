package classes

import (
	"cmp"
	"encoding/binary"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"sluice.dev/sluice/scheduling/internal/devices"
	"sluice.dev/sluice/scheduling/internal/nodes"
	"sluice.dev/sluice/scheduling/internal/relations"
	"sluice.dev/sluice/scheduling/internal/storage"
)

// Kind is pods that kube-scheduler cannot tell apart: their specs are equal, and they differ at most in labels that no selector of this
// world reads. What depends on a node alone is in Spec, Volumes and Devices; the rest is about other pods.
//
//	question                                 plugin
//	Crowds, Crowded                          PodTopologySpread
//	Follows                                  InterPodAffinity: those whom the pod wants near
//	Avoids                                   InterPodAffinity: those whom the pod wants to be away from
//	Repelled                                 InterPodAffinity: those who want to be away from the pod
//	Depends, Spreads, Selfish                  none: what a search may take for granted
//
// A kind is made when its first class is asked about, and stays. Its answers are read off counters, so it never grows stale itself; what
// makes a class change its kind is in [Classes.kind].
type Kind struct {
	ID      int32
	Class   *Class // one of them
	Spec    *Spec
	Volumes *storage.Volumes // nil when no plugin cares
	Devices *devices.Claims  // nil when they claim none
	Refused string           // why no node will do, "" when it depends on the node
	By      string           // the plugin that says so

	spreads []spreading
	near    []*relations.Counter // of pods that match all terms of its affinity, for each term
	first   bool                 // its pods match these terms themselves
	apart   []part               // of pods that its anti-affinity is about
	selves  []part               // of apart: its own pods are among them
	hits    []*relations.Selector
}

// part is a counter of a term of anti-affinity, with its sign: -1 where the term leaves out what is counted.
type part struct {
	*relations.Counter
	sign int32
}

// spreading is a constraint to be held.
type spreading struct {
	key        string
	counter    *relations.Counter
	maxSkew    int32
	minDomains int32
	self       int32 // 1 when the pod counts itself
}

// exceeds says whether the pod would exceed the skew in the node's domain.
func (s *spreading) exceeds(h nodes.Handle) bool {
	return s.counter.Here(h)+s.self-s.counter.Lowest(s.minDomains) > s.maxSkew
}

// refuse notes that no node will do. The last plugin to say so is named.
func (k *Kind) refuse(plugin, message string) { k.By, k.Refused = plugin, message }

// Answer is whether pods of a kind are welcome on a node.
//
//	what refuses                                   answer   until
//	resources, ports, taints, labels, features     Never    something leaves or is taken back
//	volumes that are bound, devices                Never    the same
//	anti-affinity, its own or another pod's        Never    the same
//	volumes that a first pod is yet to decide      NotNow   that pod is placed
//	a skew, company that is missing                NotNow   pods come, there or elsewhere
//
// Never is what makes searches fast: while pods are only placed, a node that said it need not be asked again.
type Answer uint8

// The answers, the best first.
const (
	Welcome Answer = iota
	NotNow         // other pods may come or go so that they are
	Never          // as long as no pod leaves, no node leaves, and nothing is taken back
)

// Crowds says whether the pod would keep its spread constraints. A node without a domain to count in refuses it for good.
func (k *Kind) Crowds(h nodes.Handle) Answer {
	for i := range k.spreads {
		if k.spreads[i].counter.Domain(h) < 0 {
			return Never
		}
	}
	for i := range k.spreads {
		if k.spreads[i].exceeds(h) {
			return NotNow
		}
	}
	return Welcome
}

// Crowded are the topology keys of the constraints that keep the pod from the node, in the pod's order: those that the node has no label
// for, otherwise those whose skew it would exceed. One key twice counts once.
func (k *Kind) Crowded(h nodes.Handle) []string {
	var keys []string
	unlabelled := k.Crowds(h) == Never
	for i := range k.spreads {
		s := &k.spreads[i]
		refuses := !unlabelled && s.exceeds(h)
		if unlabelled {
			refuses = s.counter.Domain(h) < 0
		}
		if refuses && !slices.Contains(keys, s.key) {
			keys = append(keys, s.key)
		}
	}
	return keys
}

// Follows says whether those whom the pod wants near are there, or it is the first of its own.
func (k *Kind) Follows(h nodes.Handle) Answer {
	if len(k.near) == 0 {
		return Welcome
	}
	company, some := true, false
	for _, n := range k.near {
		if n.Domain(h) < 0 {
			return Never
		}
		company = company && n.Here(h) > 0
		some = some || n.Total() > 0
	}
	if company || !some && k.first {
		return Welcome
	}
	return NotNow
}

// Avoids says whether a pod is there that the pod's own anti-affinity is about.
func (k *Kind) Avoids(h nodes.Handle) bool {
	var sum int32
	for _, n := range k.apart {
		sum += n.sign * n.Here(h)
	}
	return sum > 0
}

// Repelled says whether a pod is there whose anti-affinity is about the pod.
func (k *Kind) Repelled(h nodes.Handle) bool {
	return k.owned(func(n *relations.Counter) int64 { return int64(n.Here(h)) })
}

// owned says whether those who want to be away from the pod have something, of which a counter says how many.
func (k *Kind) owned(count func(*relations.Counter) int64) bool {
	var sum int64
	for _, s := range k.hits {
		for _, n := range s.Owners() {
			sum += count(n)
		}
	}
	return sum > 0
}

// Repellable says whether nominated pods that want to be away from the pod are asked. It is to be asked before they count as being there.
// kube-scheduler's InterPodAffinity skips a pod for good when it has no such wishes itself and none of the pods that run wants to be away
// from it.
func (k *Kind) Repellable() bool {
	return len(k.near)+len(k.apart) > 0 || k.owned((*relations.Counter).Total)
}

// Selfish says whether two of the pods never share the node because they keep each other away from it.
//
// The second pod's term may let it come where the first one's does not: see [relations.Relations.Terms].
func (k *Kind) Selfish(h nodes.Handle) bool { return parts(k.selves, h) || parts(k.Class.own, h) }

// parts says whether terms that are about their own pods hold on the node, which has to be in a domain.
func parts(selves []part, h nodes.Handle) bool {
	var sum int32
	for _, n := range selves {
		if n.Domain(h) >= 0 {
			sum += n.sign
		}
	}
	return sum > 0
}

// Spreads says whether the pod has spread constraints that forbid.
func (k *Kind) Spreads() bool { return len(k.spreads) > 0 }

// Depends says whether other pods, and not only what they take, decide where such pods go: by wishes of their own or of others, by claims
// that are shared, and by volumes and devices, of which nodes have so many.
func (k *Kind) Depends() bool {
	return len(k.spreads)+len(k.near)+len(k.apart) > 0 || k.Volumes != nil || k.Devices != nil || k.owned((*relations.Counter).Lives)
}

// Relaxed is the last change after which a node may take the kind that did not before.
func (k *Kind) Relaxed() uint64 {
	var at uint64
	for i := range k.spreads {
		at = max(at, k.spreads[i].counter.Relaxed())
	}
	for _, n := range k.near {
		at = max(at, n.Relaxed())
	}
	if k.Volumes != nil {
		at = max(at, k.Volumes.Relaxed())
	}
	return at
}

// spread sets up the spread constraints that forbid. The others only weigh nodes against each other, which is not asked here.
func (c *Classes) spread(k *Kind, key []byte) []byte {
	of, spec := k.Class.Of, k.Spec
	var forbid []*corev1.TopologySpreadConstraint
	var keys []*nodes.Topology
	for i := range of.Spec.TopologySpreadConstraints {
		t := &of.Spec.TopologySpreadConstraints[i]
		if t.WhenUnsatisfiable != corev1.DoNotSchedule {
			continue
		}
		forbid = append(forbid, t)
		if topology := c.Nodes.Topology(t.TopologyKey); !slices.Contains(keys, topology) {
			keys = append(keys, topology)
		}
	}
	slices.SortFunc(keys, func(a, b *nodes.Topology) int { return cmp.Compare(a.ID, b.ID) })
	for _, t := range forbid {
		who, err := relations.SpreadTerm(of.Namespace, t, of.Labels)
		if err != nil {
			k.refuse("PodTopologySpread", "get constraints from pod: "+err.Error())
			return key
		}
		s := spreading{key: t.TopologyKey, maxSkew: t.MaxSkew, minDomains: 1}
		if t.MinDomains != nil {
			s.minDomains = *t.MinDomains
		}
		selection, tolerations := spec.Selection, (*nodes.Tolerations)(nil)
		if p := t.NodeAffinityPolicy; p != nil && *p != corev1.NodeInclusionPolicyHonor {
			selection = nil
		}
		if p := t.NodeTaintsPolicy; p != nil && *p == corev1.NodeInclusionPolicyHonor {
			tolerations = spec.Tolerations
		}
		if who.Includes(of.Labels) {
			s.self = 1
		}
		if who.Everybody() {
			who = relations.Nobody(of.Namespace) // a selector that matches everything counts nothing but the pod itself
		}
		in := c.Relations.Scope(c.Nodes.Topology(t.TopologyKey), keys, selection, tolerations)
		selector := c.Relations.Selector(who)
		s.counter = c.Relations.Counter(selector, in.Topology, in)
		k.spreads = append(k.spreads, s)
		key = appendAll(key, 1, int(selector.ID), int(in.ID), int(s.maxSkew), int(s.minDomains), int(s.self))
	}
	return key
}

// relate sets up required affinity and anti-affinity.
func (c *Classes) relate(k *Kind, key []byte) []byte {
	of := k.Class.Of
	near, err := c.Relations.Terms(of.Namespace, of.Labels, of.Spec.Affinity, false, false)
	if err != nil {
		k.refuse("InterPodAffinity", "parsing pod: requiredAffinityTerms: "+err.Error())
		return key
	}
	apart, err := c.Relations.Terms(of.Namespace, of.Labels, of.Spec.Affinity, true, false)
	if err != nil {
		k.refuse("InterPodAffinity", "parsing pod: requiredAntiAffinityTerms: "+err.Error())
		return key
	}
	if len(near) > 0 {
		all := make([]relations.Term, len(near))
		for i, t := range near {
			all[i] = t.Term
		}
		s := c.Relations.Selector(all...)
		k.first = s.Selects(of.Namespace, labels.Set(of.Labels))
		for _, t := range near {
			topology := c.Nodes.Topology(t.Key)
			k.near = append(k.near, c.Relations.Counter(s, topology, nil))
			key = appendAll(key, 2, int(s.ID), int(topology.ID))
		}
	}
	for _, t := range apart {
		s, topology := c.Relations.Selector(t.Term), c.Nodes.Topology(t.Key)
		n := part{c.Relations.Counter(s, topology, nil), t.Sign}
		k.apart = append(k.apart, n)
		if s.Selects(of.Namespace, labels.Set(of.Labels)) {
			k.selves = append(k.selves, n)
		}
		key = appendAll(key, 3, int(t.Sign), int(s.ID), int(topology.ID))
	}
	return key
}

// appendAll adds numbers to a key. Where one ends can be read off it.
func appendAll(key []byte, all ...int) []byte {
	for _, n := range all {
		key = binary.AppendVarint(key, int64(n))
	}
	return key
}
