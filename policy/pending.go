package policy

import (
	"time"

	"sluice.dev/sluice/cluster"
)

// podDelay is the annotation by which a pod asks for a longer delay than the flag's. It is cluster-autoscaler's.
const podDelay = "cluster-autoscaler.kubernetes.io/pod-scale-up-delay"

// Young says whether the pod is too young to be a reason to grow, and until when. An annotation that is no duration, or one below the
// flag, says nothing.
func (p *Policy) Young(pod *cluster.Pod, now time.Time) (until time.Time, young bool) {
	delay := p.Growth.PodDelay
	if said := pod.Annotations[podDelay]; said != "" {
		if own, err := time.ParseDuration(said); err == nil {
			delay = max(delay, own)
		}
	}
	until = pod.Created().Add(delay)
	return until, now.Before(until)
}

// Expendable says whether nothing is done for the pod's sake: it makes no group grow, keeps no node, takes no room from others in any
// what-if, and is not evicted but goes with its node. A pod without a priority is not expendable.
func (p *Policy) Expendable(pod *cluster.Pod) bool {
	return pod.Spec.Priority != nil && *pod.Spec.Priority < p.Growth.PriorityCutoff
}
