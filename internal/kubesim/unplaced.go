package kubesim

import corev1 "k8s.io/api/core/v1"

// observeUnplaced has the scheduler look at a pod that is new or whose spec
// changed, and forget one that is going.
func (s *scheduler) observeUnplaced(key string, was, pod *corev1.Pod) {
	if pod.Spec.SchedulerName != corev1.DefaultSchedulerName || pod.DeletionTimestamp != nil || finished(pod) {
		s.forget(key)
		return
	}
	if was == nil || was.Generation != pod.Generation {
		s.trying[key] = struct{}{}
		delete(s.parked, key)
	}
}

// forget takes a pod out of the lists.
func (s *scheduler) forget(key string) {
	delete(s.trying, key)
	delete(s.parked, key)
	delete(s.reserved, key)
}

// observe has it look again where a change to anything but pods and nodes may help.
func (s *scheduler) observe(ch change) {
	switch ch.after.kind.home {
	case "resourceclaims", "resourceslices", "deviceclasses",
		"podgroups", string(Coscheduling),
		"persistentvolumeclaims", "persistentvolumes", "storageclasses", "csinodes", "volumeattachments":
		s.wake()
	}
}

// wake has the scheduler look at every unplaced pod again.
func (s *scheduler) wake() {
	for k := range s.parked {
		s.trying[k] = struct{}{}
	}
	clear(s.parked)
}

// wakeAffine has the scheduler look again at the pods that want to be near
// another, or spread with others: only those can a placed pod help.
func (s *scheduler) wakeAffine() {
	for k := range s.parked {
		if s.pods.byKey[k].asks.relative {
			s.trying[k] = struct{}{}
			delete(s.parked, k)
		}
	}
}
