package policy

import (
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// Annotations by which a pod says whether it may be evicted.
const (
	safeToEvict        = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	safeToEvictVolumes = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
	doNotDisrupt       = "karpenter.sh/do-not-disrupt"
)

// recreated are the controllers that make an evicted pod again.
var recreated = map[string]bool{"ReplicationController": true, "ReplicaSet": true, "StatefulSet": true}

// Keeps says why the pod keeps its node: the first rule that forbids its eviction, false when none does. Disruption budgets are
// not a matter of policy and not asked here. The pod is not finished; now is the snapshot's time. A pod that may go
// now may do so at any later time. What [Policy.Belongs] to its node keeps none.
//
// The rules and their order are cluster-autoscaler's, but for two: a Job's pod is not evicted, and karpenter's
// annotation is honoured as well, and a daemon's pod may be work (S-15).
//
// A pod of a Job or of nobody, and a daemon's that the operator has chosen, may be evicted where the operator or the pod itself says so: at
// names the node's group and since when it runs dry.
func (p *Policy) Keeps(pod *cluster.Pod, at Where, now time.Time) (reason.Reason, bool) {
	if p.Belongs(pod, at, now) {
		return reason.Reason{}, false
	}
	if why, forbids := p.forbids(pod, at, now); forbids {
		return why, true
	}
	young := now.Sub(pod.Created()) < p.Removal.Skip.SystemPodAge
	if pod.Annotations[safeToEvict] != "true" && p.Removal.Skip.SystemPods && pod.Namespace == "kube-system" && young && !at.budgeted(pod) {
		return keeping(pod, reason.PodOfSystem)
	}
	return reason.Reason{}, false
}

// keeping is the reason for which a pod keeps its node.
func keeping(pod *cluster.Pod, code reason.Code, facts ...any) (reason.Reason, bool) {
	return reason.New(code, reason.Pod(pod.Namespace, pod.Name), append([]any{"pod", pod.String()}, facts...)...), true
}

// forbids says what of the pod itself forbids its eviction, of one that does not belong to its node.
func (p *Policy) forbids(pod *cluster.Pod, at Where, now time.Time) (reason.Reason, bool) {
	keep := func(code reason.Code, facts ...any) (reason.Reason, bool) { return keeping(pod, code, facts...) }
	if v, ok := pod.Annotations[doNotDisrupt]; ok && disruptionForbidden(v, pod, now) {
		return keep(reason.PodDoNotDisrupt, "annotation", doNotDisrupt+"="+v)
	}
	switch said := pod.Annotations[safeToEvict]; {
	case said == "true":
		return reason.Reason{}, false
	case unsafe(said):
		return keep(reason.PodNotSafeToEvict, "annotation", safeToEvict+"="+pod.Annotations[safeToEvict])
	}
	owner := pod.Owner()
	switch works := owner == nil || owner.Kind == "Job" || pod.Daemon(); {
	case works && p.released(pod, at, now):
	case pod.Daemon():
		return keep(reason.PodOfDaemon, "by", p.choosing(pod, at))
	case owner == nil:
		return keep(reason.PodBare)
	case owner.Kind == "Job":
		return keep(reason.PodOfJob)
	case !works && !recreated[owner.Kind] && p.Removal.Skip.CustomControllerPods:
		return keep(reason.PodCustomOwner, "owner", owner.Kind+"/"+owner.Name)
	}
	if p.Removal.Skip.LocalStorage {
		if v, ok := localVolume(pod); ok {
			return keep(reason.PodLocalStorage, "volume", v)
		}
	}
	return reason.Reason{}, false
}

// unsafe reads safe-to-evict where it forbids. Who writes False means it, though cluster-autoscaler reads only what is written small.
func unsafe(said string) bool { return strings.EqualFold(said, "false") || said == "on-completion" }

// endless is a duration; one that [time.ParseDuration] does not take is longer than it can count.
var endless = regexp.MustCompile(`^\+?([0-9]+(\.[0-9]*)?(h|m|s|ms|us|ns))+$`)

// disruptionForbidden reads karpenter.sh/do-not-disrupt: "true", or a duration from the pod's start.
func disruptionForbidden(value string, pod *cluster.Pod, now time.Time) bool {
	if strings.EqualFold(value, "true") {
		return true
	}
	d, err := time.ParseDuration(value)
	if err != nil {
		return endless.MatchString(value)
	}
	start := pod.Started()
	if start.IsZero() {
		start = pod.Created()
	}
	return now.Before(start.Add(d))
}

// localVolume is the first volume whose content would be lost with the node and that no annotation gives up.
func localVolume(pod *cluster.Pod) (string, bool) {
	given := map[string]bool{}
	for _, name := range strings.Split(pod.Annotations[safeToEvictVolumes], ",") {
		given[name] = true
	}
	for _, v := range pod.Spec.Volumes {
		local := v.HostPath != nil || v.EmptyDir != nil && v.EmptyDir.Medium != corev1.StorageMediumMemory
		if local && !given[v.Name] {
			return v.Name, true
		}
	}
	return "", false
}
