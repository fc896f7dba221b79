// Package fidelity holds sluice's judgement to kube-scheduler's own. [Draw] makes a small random world from a seed: nodes,
// groups, pods that run and pods that wait, under one [Constraint] or several. An [Oracle] is kube-scheduler's framework over
// that world: every plugin of the default profile, its cache and its snapshot. [Walk] asks a judge and the oracle about every
// pod and node while pods are placed and machines opened; [Check] holds a finished plan to the oracle, pod for pod.
//
// The package shares no code with scheduling and plan: it makes new machines and their daemon pods with the daemon
// controller's functions, so that a mistake there cannot hide on both sides.
package fidelity

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
)

// A Placement says that a pod runs on a node. Group is "" for a node of the world; otherwise Node is the name that whoever
// decides gave to a new machine of that group, which opens with the first placement that names it. Without a pod a placement says no
// more than that the machine opens.
type Placement struct {
	Pod   string // namespace/name, or ""
	Node  string
	Group cluster.GroupID
}

// An Outcome is a decision about a world's pending pods. Every pod that kube-scheduler would handle is in one of the two.
type Outcome struct {
	Placements []Placement // in the order in which they were made
	Refused    []string    // pods with no place, as namespace/name; where all is placed, none fits any node or new machine

	// TooFar are groups over several zones one of whose next machines would take the pod, by the refused pod, but not the very next one.
	TooFar map[string][]cluster.GroupID
}

// A Disagreement is one answer that differs from kube-scheduler's.
type Disagreement struct {
	Pod  string
	Node string // or "a new machine of GROUP"
	Said string // what was said about the pod on the node
	Why  string // what kube-scheduler says
	Step int    // placements that had been made
}

// String is one line.
func (d Disagreement) String() string {
	return fmt.Sprintf("after %d placements, pod %s on %s: said %q, kube-scheduler says %q", d.Step, d.Pod, d.Node, d.Said, d.Why)
}

// Describe is the world in a few lines, for a person who looks into a disagreement about one pod.
func (w *World) Describe(pod string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "world %d: %v\n", w.Seed, w.Constraints)
	for _, n := range w.Nodes {
		fmt.Fprintf(&b, "node %s %s\n", n.Name, nodeWords(n))
	}
	for _, g := range w.Groups {
		fmt.Fprintf(&b, "group %s capacity %d max %d zones %v %s\n", g.ID, g.Capacity, g.Max, g.Zones, nodeWords(g.Template))
		for _, in := range unjoined(g) {
			fmt.Fprintf(&b, "machine %s in %s\n", in.ID, in.Zone)
		}
	}
	for _, p := range w.Pods {
		where := "pending"
		if p.Spec.NodeName != "" {
			where = "on " + p.Spec.NodeName
		}
		fmt.Fprintf(&b, "pod %s %s %v labels %v %v\n", keyOf(p), where, w.Carries[keyOf(p)], p.Labels, requestWords(&p.Spec))
	}
	for _, p := range w.Pods {
		if keyOf(p) == pod {
			spec, _ := json.Marshal(p.Spec) // plain data
			fmt.Fprintf(&b, "spec of %s: %s\n", pod, spec)
		}
	}
	return b.String()
}

func nodeWords(n *corev1.Node) string {
	var taints []string
	for _, t := range n.Spec.Taints {
		taints = append(taints, t.ToString())
	}
	cordoned := ""
	if n.Spec.Unschedulable {
		cordoned = " unschedulable"
	}
	return fmt.Sprintf("labels %v taints %v allocatable %v%s", n.Labels, taints, listWords(n.Status.Allocatable), cordoned)
}

func requestWords(s *corev1.PodSpec) []string {
	var words []string
	for _, c := range s.InitContainers {
		words = append(words, "init:"+listWords(c.Resources.Requests))
	}
	for _, c := range s.Containers {
		words = append(words, listWords(c.Resources.Requests))
	}
	return words
}

// sortedKeys are a map's keys in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func listWords(l corev1.ResourceList) string {
	var words []string
	for name, q := range l {
		words = append(words, fmt.Sprintf("%s=%s", name, q.String()))
	}
	sort.Strings(words)
	return strings.Join(words, ",")
}
