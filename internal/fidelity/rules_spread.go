package fidelity

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// spreadOver is a constraint over the key, of pods like this one.
func spreadOver(d *draft, p *corev1.Pod, key string) corev1.TopologySpreadConstraint {
	return corev1.TopologySpreadConstraint{
		MaxSkew: pick[int32](d, 1, 1, 1, 2, 3), TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selecting(p.Labels["app"]),
	}
}

// addSpread adds the constraint, unless there is one over its key that does the same: the API server refuses such a pair.
func addSpread(p *corev1.Pod, t corev1.TopologySpreadConstraint) {
	same := func(o corev1.TopologySpreadConstraint) bool {
		return o.TopologyKey == t.TopologyKey && o.WhenUnsatisfiable == t.WhenUnsatisfiable
	}
	if !slices.ContainsFunc(p.Spec.TopologySpreadConstraints, same) {
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, t)
	}
}

func spreads(d *draft, p *corev1.Pod) {
	addSpread(p, spreadOver(d, p, topology(d)))
	if d.chance(0.3) {
		addSpread(p, spreadOver(d, p, topology(d)))
	}
}

func spreadMinDomains(d *draft, p *corev1.Pod) {
	t := spreadOver(d, p, topology(d))
	t.MinDomains = new(pick[int32](d, 1, 2, 3, 4, 6))
	addSpread(p, t)
}

func inclusion(d *draft) *corev1.NodeInclusionPolicy {
	return pick(d, nil, new(corev1.NodeInclusionPolicyHonor), new(corev1.NodeInclusionPolicyIgnore), new(corev1.NodeInclusionPolicyIgnore))
}

func spreadByAffinity(d *draft, p *corev1.Pod) {
	t := spreadOver(d, p, topology(d))
	t.NodeAffinityPolicy = inclusion(d)
	addSpread(p, t)
	if d.chance(0.5) {
		selectNodes(d, p)
		return
	}
	requireNodes(d, p)
}

func spreadByTaints(d *draft, p *corev1.Pod) {
	t := spreadOver(d, p, topology(d))
	t.NodeTaintsPolicy = pick(d, nil, new(corev1.NodeInclusionPolicyHonor), new(corev1.NodeInclusionPolicyHonor), new(corev1.NodeInclusionPolicyIgnore))
	t.NodeAffinityPolicy = inclusion(d)
	addSpread(p, t)
	tolerations(d, p)
}

func spreadByKeys(d *draft, p *corev1.Pod) {
	t := spreadOver(d, p, topology(d))
	t.MatchLabelKeys = pick(d, []string{"pod-template-hash"}, []string{"pod-template-hash", "missing"}, []string{"missing"})
	addSpread(p, t)
}

func spreadAnyway(d *draft, p *corev1.Pod) {
	t := spreadOver(d, p, topology(d))
	t.WhenUnsatisfiable = corev1.ScheduleAnyway
	addSpread(p, t)
	if d.chance(0.5) {
		addSpread(p, spreadOver(d, p, topology(d)))
	}
}

// spreadOthers counts pods that the pod itself may not be one of.
func spreadOthers(d *draft, p *corev1.Pod) {
	t := spreadOver(d, p, topology(d))
	t.LabelSelector = selector(d, p)
	if d.chance(0.05) {
		t.LabelSelector = nil // counts nothing
	}
	addSpread(p, t)
}
