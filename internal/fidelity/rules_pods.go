package fidelity

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func affinity(p *corev1.Pod) *corev1.Affinity {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{}
	}
	return p.Spec.Affinity
}

func selecting(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

// selector is one of pods: those like this one, those of an app, all but those of an app, all, or none.
func selector(d *draft, p *corev1.Pod) *metav1.LabelSelector {
	switch d.between(0, 9) {
	case 0, 1, 2, 3:
		return selecting(p.Labels["app"])
	case 4, 5:
		return selecting(pick(d, appNames...))
	case 6:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: some(d, appNames...)},
		}}
	case 7:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "app", Operator: metav1.LabelSelectorOpNotIn, Values: []string{pick(d, appNames...)}},
		}}
	case 8:
		return &metav1.LabelSelector{}
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: pick(d, "app", "tier"), Operator: pick(d, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)},
	}}
}

func topology(d *draft) string {
	return pick(d, corev1.LabelTopologyZone, corev1.LabelTopologyZone, corev1.LabelHostname, corev1.LabelInstanceTypeStable)
}

func podTerm(d *draft, p *corev1.Pod) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{TopologyKey: topology(d), LabelSelector: selector(d, p)}
}

func addNear(p *corev1.Pod, t corev1.PodAffinityTerm) {
	a := affinity(p)
	if a.PodAffinity == nil {
		a.PodAffinity = &corev1.PodAffinity{}
	}
	a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, t)
}

func addApart(p *corev1.Pod, t corev1.PodAffinityTerm) {
	a := affinity(p)
	if a.PodAntiAffinity == nil {
		a.PodAntiAffinity = &corev1.PodAntiAffinity{}
	}
	a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, t)
}

// add puts the term on one of the two sides; away more often, as it leaves more to contest.
func add(d *draft, p *corev1.Pod, t corev1.PodAffinityTerm) {
	if d.chance(0.4) {
		addNear(p, t)
		return
	}
	addApart(p, t)
}

func near(d *draft, p *corev1.Pod) {
	for range d.between(1, 2) {
		addNear(p, podTerm(d, p))
	}
}

func apart(d *draft, p *corev1.Pod) {
	t := podTerm(d, p)
	if d.chance(0.5) {
		t.TopologyKey = corev1.LabelHostname
	}
	addApart(p, t)
}

func acrossNamespaces(d *draft, p *corev1.Pod) {
	t := podTerm(d, p)
	t.Namespaces = some(d, "default", "shop", "tools", "missing")
	add(d, p, t)
}

func acrossTeams(d *draft, p *corev1.Pod) {
	t := podTerm(d, p)
	switch d.between(0, 3) {
	case 0:
		t.NamespaceSelector = &metav1.LabelSelector{} // every namespace
	case 1:
		t.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "team", Operator: metav1.LabelSelectorOpExists},
		}}
	default:
		t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": pick(d, "red", "blue")}}
	}
	if d.chance(0.3) {
		t.Namespaces = []string{pick(d, "default", "shop")}
	}
	add(d, p, t)
}

func affineByKeys(d *draft, p *corev1.Pod) {
	t := podTerm(d, p)
	if d.chance(0.6) {
		t.MatchLabelKeys = []string{pick(d, "pod-template-hash", "pod-template-hash", "missing")}
	} else {
		t.MismatchLabelKeys = []string{"pod-template-hash"}
	}
	add(d, p, t)
}

func racks(d *draft, n *corev1.Node) {
	if d.chance(0.8) {
		n.Labels["rack"] = pick(d, "a", "b", "c")
	}
}

func severalKeys(d *draft, p *corev1.Pod) {
	for _, key := range some(d, corev1.LabelTopologyZone, "rack", corev1.LabelHostname) {
		t := podTerm(d, p)
		t.TopologyKey = key
		add(d, p, t)
	}
	if d.chance(0.5) {
		addSpread(p, spreadOver(d, p, "rack"))
	}
}

func hostPorts(d *draft, p *corev1.Pod) {
	for range d.between(1, 2) {
		port := corev1.ContainerPort{
			HostPort: pick[int32](d, 8080, 8080, 9090), Protocol: pick(d, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP),
			HostIP: pick(d, "", "", "0.0.0.0", "127.0.0.1", "10.0.0.7", "::"),
		}
		port.ContainerPort = port.HostPort
		c := &p.Spec.Containers[0]
		if d.chance(0.15) {
			p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: "porter", RestartPolicy: pick(d, nil, new(corev1.ContainerRestartPolicyAlways))})
			c = &p.Spec.InitContainers[len(p.Spec.InitContainers)-1]
		}
		c.Ports = append(c.Ports, port)
		if d.chance(0.5) {
			break
		}
	}
}

func gates(d *draft, p *corev1.Pod) {
	if d.chance(0.4) {
		p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/wait"}}
		p.Status.Conditions[0].Reason = corev1.PodReasonSchedulingGated
	}
}

func otherScheduler(d *draft, p *corev1.Pod) {
	if d.chance(0.4) {
		p.Spec.SchedulerName = "other"
		p.Status.Conditions = nil
	}
}

// preferences never refuse anything.
func preferences(d *draft, p *corev1.Pod) {
	a := nodeAffinity(p)
	a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution, corev1.PreferredSchedulingTerm{
		Weight: 10, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{requirement(d)}},
	})
	if d.chance(0.5) {
		if affinity(p).PodAntiAffinity == nil {
			p.Spec.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{}
		}
		p.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.WeightedPodAffinityTerm{
			{Weight: 5, PodAffinityTerm: podTerm(d, p)},
		}
	}
}

// expendable pods have a priority below the cutoff at which waiting is worth a machine.
func expendable(d *draft, p *corev1.Pod) {
	if d.chance(0.4) {
		p.Spec.Priority = new(pick[int32](d, -10, -11, -100))
	}
}

func priorities(d *draft, p *corev1.Pod) { p.Spec.Priority = new(pick[int32](d, 0, 0, 100, 1000)) }

// nominated lets a pod wait for a node that preemption has chosen for it.
func nominated(d *draft, p *corev1.Pod) {
	if d.chance(0.2) {
		p.Status.NominatedNodeName = pick(d, d.w.Nodes...).Name
	}
}

// selectIndex needs pods that differ in their labels alone.
func selectIndex(d *draft, p *corev1.Pod) {
	first := &metav1.LabelSelector{MatchLabels: map[string]string{"index": pick(d, "0", "1")}}
	switch d.between(0, 3) {
	case 0:
		addApart(p, corev1.PodAffinityTerm{TopologyKey: topology(d), LabelSelector: first})
	case 1:
		t := spreadOver(d, p, topology(d))
		t.LabelSelector = first
		addSpread(p, t)
	case 2:
		addNear(p, corev1.PodAffinityTerm{TopologyKey: corev1.LabelTopologyZone, LabelSelector: first})
	}
}

func indexed(d *draft, p *corev1.Pod) {
	p.Labels["index"] = pick(d, "0", "1", "2")
	if d.chance(0.3) {
		p.Labels["unread"] = p.Name // no selector names it
	}
}

// terminating pods hold what they have, but do not count where pods are spread.
func terminating(d *draft, p *corev1.Pod) {
	if d.chance(0.5) {
		p.DeletionTimestamp = new(metav1.NewTime(Start.Add(pick(d, -time.Second, 20*time.Second))))
		p.DeletionGracePeriodSeconds = new(int64(30))
	}
}

// finished pods hold nothing.
func finished(d *draft, p *corev1.Pod) {
	if d.chance(0.5) {
		p.Status.Phase = pick(d, corev1.PodSucceeded, corev1.PodFailed)
	}
}

// stray pods are bound to a node that is gone.
func stray(d *draft, p *corev1.Pod) {
	if d.chance(0.4) {
		p.Spec.NodeName = "gone"
	}
}
