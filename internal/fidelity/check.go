package fidelity

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
)

// Check makes the outcome's placements one after the other and holds each to kube-scheduler: at that moment, the pod must be let
// onto that node. New machines open when they are first named, and no group may open more than its Max leaves. At the end no
// refused pod may fit on any node, nor on one more machine of a group that may grow; of a group over several zones, on none of as many more as it
// has zones, unless [Outcome.TooFar] says so. A pod that is pending and in
// neither list, or in both, disagrees as well, unless it is [Expendable]: such a pod may be left out or refused.
func Check(w *World, out Outcome) []Disagreement {
	o := NewOracle(w)
	defer o.Close()
	var ds []Disagreement
	say := func(pod, node, said, why string, step int) {
		ds = append(ds, Disagreement{Pod: pod, Node: node, Said: said, Why: why, Step: step})
	}
	answered := map[string]int{}
	for i, at := range out.Placements {
		if at.Pod == "" {
			if g := w.Group(at.Group); g == nil || o.Room(g) <= 0 || o.nodes[at.Node] != nil {
				say("", at.Node, "it opens", fmt.Sprintf("group %q can open no machine", at.Group), i)
			} else {
				o.Open(g, at.Node)
			}
			continue
		}
		answered[at.Pod]++
		p := w.Pod(at.Pod)
		if p == nil {
			say(at.Pod, at.Node, "it fits", "there is no such pod", i)
			continue
		}
		if answered[at.Pod] > 1 {
			say(at.Pod, at.Node, "it fits", "it has a place", i)
			continue
		}
		if o.nodes[at.Node] == nil {
			g := w.Group(at.Group)
			if g == nil || o.Room(g) <= 0 {
				say(at.Pod, at.Node, "it fits", fmt.Sprintf("group %q can open no machine", at.Group), i)
				continue
			}
			o.Open(g, at.Node)
		}
		if why := o.Why(p, at.Node); why != "" {
			say(at.Pod, at.Node, "it fits", why, i)
		}
		o.Bind(p, at.Node)
	}
	step := len(out.Placements)
	for _, key := range out.Refused {
		answered[key]++
		p := w.Pod(key)
		if p == nil {
			say(key, "any node", "it does not fit", "there is no such pod", step)
			continue
		}
		if Expendable(p) {
			continue
		}
		for _, node := range o.Nodes() {
			if o.Why(p, node) == "" {
				say(key, node, "it does not fit", "it fits", step)
			}
		}
		for _, g := range w.Groups {
			if o.Room(g) <= 0 {
				continue
			}
			checkMore(o, p, g, slices.Contains(out.TooFar[key], g.ID), func(node string) { say(key, node, "it does not fit", "it fits", step) })
		}
	}
	for _, p := range w.Pending() {
		if key := keyOf(p); answered[key] != 1 && !(answered[key] == 0 && Expendable(p)) {
			say(key, "any node", fmt.Sprintf("%d answers", answered[key]), "every pending pod has one", step)
		}
	}
	return ds
}

// checkMore opens one more machine of the group and says where the pod fits after all. A group that spans zones opens as many more as it has
// zones, unless it was said that a machine of them takes the pod.
func checkMore(o *Oracle, p *corev1.Pod, g *cluster.Group, tooFar bool, say func(node string)) {
	var more []string
	for i := range min(o.Room(g), 1+len(g.Zones)) {
		if i > 0 && tooFar {
			break
		}
		more = append(more, fmt.Sprintf("one-more-%d", i))
		o.Open(g, more[i])
		if o.Why(p, more[i]) == "" {
			say(fmt.Sprintf("new machine %d of %s", i+1, g.ID))
			break
		}
	}
	for _, name := range slices.Backward(more) {
		o.Remove(name)
	}
}
