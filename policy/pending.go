package policy

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
)

// podDelay is the annotation by which a pod asks for a longer delay than the flag's. It is cluster-autoscaler's.
const podDelay = "cluster-autoscaler.kubernetes.io/pod-scale-up-delay"

// Young says whether the pod is too young to be a reason to grow, and until when. An annotation that is no duration, or one below the
// flag, says nothing. Without a delay no pod is too young, not even one whose creation is in the
// future of a clock that is behind.
func (p *Policy) Young(pod *cluster.Pod, now time.Time) (until time.Time, young bool) {
	delay := p.Growth.PodDelay
	if said := pod.Annotations[podDelay]; said != "" {
		if own, err := time.ParseDuration(said); err == nil {
			delay = max(delay, own)
		}
	}
	until = pod.Created().Add(delay)
	return until, delay > 0 && now.Before(until)
}

// Expendable says whether nothing is done for the pod's sake: it makes no group grow, keeps no node, takes no room from others in any
// what-if, and is not evicted but goes with its node. A pod without a priority is not expendable.
func (p *Policy) Expendable(pod *cluster.Pod) bool {
	return pod.Spec.Priority != nil && *pod.Spec.Priority < p.Growth.PriorityCutoff
}

// A scheduler binds a pod within bindsWithin to a node that it fits, and pods of a backlog at bindsEach. kube-scheduler tries pods that
// it has turned down again after five minutes at the latest, and binds a hundred a second or more.
const (
	bindsWithin = 10 * time.Minute
	bindsEach   = time.Second / 50
)

// Binds is how long a scheduler that is there may take to bind a pod to a node that it fits, while so many pods wait, in whole seconds.
func Binds(waiting int) time.Duration {
	return (bindsWithin + time.Duration(waiting)*bindsEach).Truncate(time.Second)
}

// Bypasses says whether pods of the scheduler of that name are a reason to grow before it has looked at them; "" is the default one.
func (g Growth) Bypasses(scheduler string) bool {
	return slices.Contains(g.Schedulers.Bypassed, cmp.Or(scheduler, corev1.DefaultSchedulerName))
}

// Serves says whether pods of the scheduler of that name are a reason to grow at all.
func (g Growth) Serves(scheduler string) bool {
	return len(g.Schedulers.Allowed) == 0 || slices.Contains(g.Schedulers.Allowed, cmp.Or(scheduler, corev1.DefaultSchedulerName))
}
