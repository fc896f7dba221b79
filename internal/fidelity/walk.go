package fidelity

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
)

// A Judge answers kube-scheduler's question about a world that [Walk] changes step by step.
type Judge interface {
	Fits(p *corev1.Pod, node string) bool
	Place(p *corev1.Pod, node string)

	// Open adds a new machine of the group under that name, with its daemons; undo takes back the last machine opened.
	Open(g *cluster.Group, name string) (undo func())
}

// A Walked is what came of a walk.
type Walked struct {
	Outcome
	Questions     int
	Fits          int // questions that kube-scheduler answered with yes
	Disagreements []Disagreement
	Coverage      Coverage
}

// Walk places the world's pending pods one after the other and asks the judge and kube-scheduler, before every placement, about
// the pod and every node there is; then about a new machine of every group that may grow. A pod goes to a node that
// kube-scheduler lets it have, drawn by the world's seed; where there is none, to a new machine that takes it. Pods that found
// no place are tried again until nothing changes, as kube-scheduler tries them.
func Walk(w *World, j Judge) Walked {
	o := NewOracle(w)
	defer o.Close()
	k := &walk{w: w, o: o, j: j, rand: rand.New(rand.NewPCG(w.Seed, 0x3a1c))}
	left := w.Pending()
	for {
		var refused []*corev1.Pod
		for _, p := range left {
			if !k.place(p) {
				refused = append(refused, p)
			}
		}
		if len(refused) == len(left) {
			break
		}
		left = refused
	}
	for _, p := range left {
		k.Refused = append(k.Refused, keyOf(p))
	}
	return k.Walked
}

type walk struct {
	Walked
	w      *World
	o      *Oracle
	j      Judge
	rand   *rand.Rand
	opened int
}

// place finds the pod a node, or a new machine, and says whether it has one.
func (k *walk) place(p *corev1.Pod) bool {
	var fits []string
	for _, node := range k.o.Nodes() {
		if k.ask(p, node, node) {
			fits = append(fits, node)
		}
	}
	if len(fits) > 0 {
		node := fits[k.rand.IntN(len(fits))]
		k.settle(p, Placement{Pod: keyOf(p), Node: node, Group: k.o.group(node)})
		return true
	}
	for _, i := range k.rand.Perm(len(k.w.Groups)) {
		g := k.w.Groups[i]
		if k.o.Room(g) <= 0 {
			continue
		}
		name := fmt.Sprintf("new-%s-%d", g.ID, k.opened)
		k.o.Open(g, name)
		undo := k.j.Open(g, name)
		if k.ask(p, name, "a new machine of "+string(g.ID)) {
			k.opened++
			k.settle(p, Placement{Pod: keyOf(p), Node: name, Group: g.ID})
			return true
		}
		undo()
		k.o.Remove(name)
	}
	return false
}

func (k *walk) settle(p *corev1.Pod, at Placement) {
	k.o.Bind(p, at.Node)
	k.j.Place(p, at.Node)
	k.Placements = append(k.Placements, at)
}

// ask is kube-scheduler's answer; the judge's is compared with it.
func (k *walk) ask(p *corev1.Pod, node, called string) bool {
	why := k.o.Why(p, node)
	said := k.j.Fits(p, node)
	k.Questions++
	if why == "" {
		k.Fits++
	}
	k.Coverage.count(k.w, p, why)
	if said != (why == "") {
		k.Disagreements = append(k.Disagreements, Disagreement{Pod: keyOf(p), Node: called, Said: answer(said), Why: verdict(why), Step: len(k.Placements)})
	}
	return why == ""
}

func answer(fits bool) string {
	if fits {
		return "it fits"
	}
	return "it does not fit"
}

func verdict(why string) string {
	if why == "" {
		return "it fits"
	}
	return why
}
