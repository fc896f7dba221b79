package fidelity

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// nominations are the pods that wait for a node which preemption is clearing for them, by the node's name.
type nominations map[string][]fwk.PodInfo

func (ns nominations) add(p *corev1.Pod, node string) {
	info, err := framework.NewPodInfo(p)
	if err != nil {
		return // a pod that cannot be parsed is refused before it is nominated
	}
	ns[node] = append(ns[node], info)
}

// NominatedPodsForNode are the pods that wait for the node.
func (ns nominations) NominatedPodsForNode(node string) []fwk.PodInfo { return ns[node] }

// DeleteNominatedPodIfExists forgets a pod, once it is bound.
func (ns nominations) DeleteNominatedPodIfExists(p *corev1.Pod) {
	for node, pods := range ns {
		ns[node] = slices.DeleteFunc(slices.Clone(pods), func(i fwk.PodInfo) bool { return i.GetPod().UID == p.UID })
	}
}

// AddNominatedPod and UpdateNominatedPod belong to preemption, which is not run here.
func (ns nominations) AddNominatedPod(klog.Logger, fwk.PodInfo, *fwk.NominatingInfo) {}

// UpdateNominatedPod does nothing: see [nominations.AddNominatedPod].
func (ns nominations) UpdateNominatedPod(klog.Logger, *corev1.Pod, fwk.PodInfo) {}
