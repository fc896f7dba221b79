package fidelity

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func taints(d *draft, n *corev1.Node) {
	for _, key := range []string{"dedicated", "spot"} {
		if d.chance(0.4) {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{
				Key: key, Value: pick(d, "", "yes", "render"),
				Effect: pick(d, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule),
			})
		}
	}
}

func tolerations(d *draft, p *corev1.Pod) { tolerateSome(d, &p.Spec) }

func tolerateSome(d *draft, s *corev1.PodSpec) {
	for range d.between(0, 2) {
		t := corev1.Toleration{
			Key:    pick(d, "dedicated", "dedicated", "spot", "other"),
			Effect: pick(d, "", "", corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule),
		}
		switch d.between(0, 3) {
		case 0:
			t.Operator = corev1.TolerationOpExists
		case 1:
			t.Operator, t.Value = corev1.TolerationOpEqual, pick(d, "", "yes", "render")
		case 2:
			t.Value = pick(d, "yes", "render") // no operator is Equal
		case 3:
			t = corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: t.Effect} // every key
		}
		if t.Effect == corev1.TaintEffectNoExecute && d.chance(0.3) {
			t.TolerationSeconds = new(int64(30))
		}
		s.Tolerations = append(s.Tolerations, t)
	}
}

func cordon(d *draft, n *corev1.Node) {
	if d.chance(0.4) {
		n.Spec.Unschedulable = true
		if d.chance(0.7) {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
		}
	}
}

func tolerateCordon(d *draft, p *corev1.Pod) {
	if d.chance(0.4) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{
			Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists, Effect: pick(d, "", corev1.TaintEffectNoSchedule),
		})
	}
}

// nodeLabels may be drawn for several constraints; each adds what the others left out.
func nodeLabels(d *draft, n *corev1.Node) {
	if d.chance(0.7) {
		n.Labels["disk"] = pick(d, "ssd", "hdd", "")
	}
	if d.chance(0.7) {
		n.Labels["rank"] = pick(d, "1", "5", "10", "-3", "high")
	}
}

func selectNodes(d *draft, p *corev1.Pod) { selectSome(d, &p.Spec) }

func selectSome(d *draft, s *corev1.PodSpec) {
	s.NodeSelector = map[string]string{}
	switch d.between(0, 3) {
	case 0:
		s.NodeSelector[corev1.LabelTopologyZone] = pick(d, zones...)
	case 1:
		s.NodeSelector["disk"] = pick(d, "ssd", "hdd", "")
	case 2:
		s.NodeSelector[corev1.LabelInstanceTypeStable] = pick(d, "size-2", "size-4")
	case 3:
		s.NodeSelector["disk"], s.NodeSelector[corev1.LabelOSStable] = "ssd", "linux"
	}
}

func requirement(d *draft) corev1.NodeSelectorRequirement {
	switch d.between(0, 6) {
	case 0:
		return corev1.NodeSelectorRequirement{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: some(d, zones...)}
	case 1:
		return corev1.NodeSelectorRequirement{Key: "disk", Operator: corev1.NodeSelectorOpNotIn, Values: some(d, "hdd", "")}
	case 2:
		return corev1.NodeSelectorRequirement{Key: "disk", Operator: pick(d, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist)}
	case 3:
		return corev1.NodeSelectorRequirement{Key: "rank", Operator: corev1.NodeSelectorOpGt, Values: []string{pick(d, "0", "4", "5", "-4")}}
	case 4:
		return corev1.NodeSelectorRequirement{Key: "rank", Operator: corev1.NodeSelectorOpLt, Values: []string{pick(d, "2", "6", "10")}}
	case 5:
		return corev1.NodeSelectorRequirement{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: some(d, "size-1", "size-2", "size-4")}
	}
	return corev1.NodeSelectorRequirement{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpNotIn, Values: []string{"group-0-0", "other-0"}}
}

func nodeAffinity(p *corev1.Pod) *corev1.NodeAffinity {
	if affinity(p).NodeAffinity == nil {
		p.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	return p.Spec.Affinity.NodeAffinity
}

func nodeTerms(p *corev1.Pod) *corev1.NodeSelector {
	a := nodeAffinity(p)
	if a.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		a.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{}
	}
	return a.RequiredDuringSchedulingIgnoredDuringExecution
}

func requireNodes(d *draft, p *corev1.Pod) {
	terms := nodeTerms(p)
	for range d.between(1, 2) {
		var t corev1.NodeSelectorTerm
		for range d.between(0, 2) + 1 {
			t.MatchExpressions = append(t.MatchExpressions, requirement(d))
		}
		terms.NodeSelectorTerms = append(terms.NodeSelectorTerms, t)
	}
	if d.chance(0.05) {
		terms.NodeSelectorTerms = append(terms.NodeSelectorTerms, corev1.NodeSelectorTerm{}) // an empty term matches nothing
	}
}

// matchFields names nodes: in a term of its own, or in those that are there.
func matchFields(d *draft, p *corev1.Pod) {
	terms := nodeTerms(p)
	field := corev1.NodeSelectorRequirement{
		Key: metadataName, Operator: pick(d, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn),
		Values: []string{pick(d, d.w.Nodes...).Name},
	}
	if len(terms.NodeSelectorTerms) == 0 || d.chance(0.3) {
		terms.NodeSelectorTerms = append(terms.NodeSelectorTerms, corev1.NodeSelectorTerm{})
	}
	for i := range terms.NodeSelectorTerms {
		t := &terms.NodeSelectorTerms[i]
		if i == len(terms.NodeSelectorTerms)-1 || d.chance(0.5) {
			t.MatchFields = append(t.MatchFields, field)
		}
	}
}

const metadataName = "metadata.name"

// heavyDaemon takes part of a small node: a new machine holds less than its template says.
func heavyDaemon(d *draft, s *corev1.PodSpec) {
	s.Containers[0].Resources.Requests = corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(pick(d, "250m", "500m")),
		corev1.ResourceMemory: resource.MustParse(pick(d, "256Mi", "512Mi")),
	}
	if d.chance(0.3) {
		s.NodeSelector = map[string]string{corev1.LabelTopologyZone: pick(d, zones...)}
	}
	if d.chance(0.2) {
		s.HostNetwork = true
		s.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8080, HostPort: 8080, Protocol: corev1.ProtocolTCP}}
	}
}

// Features that a kubelet may declare, of those that kube-scheduler asks nodes for.
const (
	restartsAll = "RestartAllContainersOnContainerExits"
	hostUsers   = "UserNamespacesHostNetworkSupport"
)

// declares has most machines' kubelets declare a feature or two, and one that no pod asks for.
func declares(d *draft, n *corev1.Node) {
	const another = "ExtendWebSocketsToKubelet"
	n.Status.DeclaredFeatures = pick(d, nil, []string{restartsAll}, []string{restartsAll, hostUsers}, []string{another, hostUsers})
}

// olderKubelet leaves some nodes of nobody's with a kubelet of before.
func olderKubelet(d *draft, n *corev1.Node) {
	if n.Spec.ProviderID == "" && d.chance(0.4) {
		n.Status.DeclaredFeatures = nil
	}
}

// wantsFeatures has pods restart as a whole when a container exits, share the host's network in a user namespace of their own, or both.
func wantsFeatures(d *draft, p *corev1.Pod) {
	if d.chance(0.6) {
		p.Spec.Containers[0].RestartPolicy = new(corev1.ContainerRestartPolicyNever)
		p.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{
			Action:    pick(d, corev1.ContainerRestartRuleActionRestartAllContainers, corev1.ContainerRestartRuleActionRestart),
			ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}},
		}}
	}
	if d.chance(0.4) {
		p.Spec.HostNetwork, p.Spec.HostUsers = d.chance(0.8), new(d.chance(0.2))
	}
}
