package kubesim

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// reconcileDaemonSet keeps one pod for every node that its selector, affinity
// and tolerations admit. The scheduler places them, each pinned to its node by
// name.
func (ws *workloads) reconcileDaemonSet(e *entry) {
	set := e.obj.(*appsv1.DaemonSet)
	if set.DeletionTimestamp != nil {
		return
	}
	byNode := map[string][]*entry{}
	for _, p := range ws.store.owners.owned(set.UID, "pods") {
		pod := p.obj.(*corev1.Pod)
		byNode[daemonNode(pod)] = append(byNode[daemonNode(pod)], p)
	}
	model := podFrom(&set.Spec.Template, e)
	tolerateAsDaemon(&model.Spec)
	affinity := nodeaffinity.GetRequiredNodeAffinity(model)
	var status appsv1.DaemonSetStatus
	for _, n := range ws.store.tables["nodes"].sorted {
		node := n.obj.(*corev1.Node)
		pods := byNode[node.Name]
		fits, err := affinity.Match(node)
		if err != nil || !fits || !AdmitsTaints(model.Spec.Tolerations, expelling(node.Spec.Taints)) {
			ws.deletePods(pods)
			status.NumberMisscheduled += int32(len(pods))
			continue
		}
		if !AdmitsTaints(model.Spec.Tolerations, node.Spec.Taints) { // those that are there go on
			status.NumberMisscheduled += int32(len(pods))
			continue
		}
		status.DesiredNumberScheduled++
		if len(pods) == 0 {
			pod := model.DeepCopy()
			pinTo(pod, node.Name)
			ws.createPod(pod, e)
			continue
		}
		first := pods[0].obj.(*corev1.Pod)
		if finished(first) {
			ws.deletePods(pods[:1])
		}
		if first.Spec.NodeName != "" {
			status.CurrentNumberScheduled++
			status.UpdatedNumberScheduled++
		}
		if ready(first) {
			status.NumberReady++
			status.NumberAvailable++
		}
	}
	for _, node := range slices.Sorted(maps.Keys(byNode)) {
		if ws.store.entryOf("nodes", node) != nil {
			continue
		}
		for _, p := range byNode[node] { // one that waits for a node that is gone; the bound ones are orphans
			if p.obj.(*corev1.Pod).Spec.NodeName == "" {
				ws.deletePods([]*entry{p})
			}
		}
	}
	status.NumberUnavailable = status.DesiredNumberScheduled - status.NumberAvailable
	status.ObservedGeneration = set.Generation
	revised(ws.store, e, func(d *appsv1.DaemonSet) { d.Status = status })
}

// expelling are the taints that drive off pods which are there already.
func expelling(taints []corev1.Taint) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(taints), func(t corev1.Taint) bool { return t.Effect != corev1.TaintEffectNoExecute })
}

// tolerateAsDaemon adds the tolerations that every daemon has.
func tolerateAsDaemon(s *corev1.PodSpec) {
	add := func(key string, effect corev1.TaintEffect) {
		s.Tolerations = append(s.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect})
	}
	add(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute)
	add(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute)
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeDiskPressure, corev1.TaintNodeMemoryPressure,
		corev1.TaintNodePIDPressure, corev1.TaintNodeUnschedulable} {
		add(key, corev1.TaintEffectNoSchedule)
	}
	if s.HostNetwork {
		add(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule)
	}
}

// pinTo requires one node by name, in every term of the affinity there is.
func pinTo(pod *corev1.Pod, node string) {
	pin := corev1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	if pod.Spec.Affinity.NodeAffinity == nil {
		pod.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	// The real controller too replaces the terms: it has checked them.
	pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{pin}}}}
}

// daemonNode returns the node a daemon's pod is on or meant for.
func daemonNode(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName
	}
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, t := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			for _, f := range t.MatchFields {
				if f.Key == metav1.ObjectNameField && len(f.Values) == 1 {
					return f.Values[0]
				}
			}
		}
	}
	return ""
}
