package kubesim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// fit answers whether one pod may go to a node.
type fit struct {
	scheduler *scheduler
	st        *podState
	mounts    []mount
	affinity  nodeaffinity.RequiredNodeAffinity
	devices   *devices   // nil when it claims none
	relations *relations // nil when no other pod matters
}

// refusals returns why the node does not admit the pod, in the words of
// kube-scheduler; like there, the first filter that refuses has the only say.
func (f *fit) refusals(r *room) []string {
	pod := f.st.pod
	if r.node.Spec.Unschedulable && !tolerates(pod.Spec.Tolerations, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}) {
		return []string{"node(s) were unschedulable"}
	}
	if !AdmitsTaints(pod.Spec.Tolerations, r.node.Spec.Taints) {
		return []string{"node(s) had untolerated taint(s)"}
	}
	if ok, err := f.affinity.Match(r.node); !ok || err != nil {
		return []string{"node(s) didn't match Pod's node affinity/selector"}
	}
	for _, want := range f.st.asks.ports {
		if slices.ContainsFunc(r.ports, want.clashes) {
			return []string{"node(s) didn't have free ports for the requested pod ports"}
		}
	}
	if short := f.shortages(r); len(short) > 0 {
		return short
	}
	if reason := f.volumeRefusal(r); reason != "" {
		return []string{reason}
	}
	if reason := f.deviceRefusal(r); reason != "" {
		return []string{reason}
	}
	if f.relations != nil {
		if reason := f.relations.refusal(r); reason != "" {
			return []string{reason}
		}
	}
	return nil
}

func (f *fit) shortages(r *room) []string {
	var short []string
	want := &f.st.asks.amounts
	if r.free.pods < 1 {
		short = append(short, "Too many pods")
	}
	if want.cpu > 0 && want.cpu > r.free.cpu {
		short = append(short, "Insufficient cpu")
	}
	if want.memory > 0 && want.memory > r.free.memory {
		short = append(short, "Insufficient memory")
	}
	if want.disk > 0 && want.disk > r.free.disk {
		short = append(short, "Insufficient ephemeral-storage")
	}
	for name, n := range want.others {
		if n > 0 && n > r.free.others[name] {
			short = append(short, "Insufficient "+string(name))
		}
	}
	return short
}

// score is the mean share of CPU and memory that would be left, in 1/10,000. A node without taints that ask the
// pod to stay away is better than any that has some, as with kube-scheduler's weights.
func (f *fit) score(r *room) int64 {
	left := (share(r.free.cpu-f.st.asks.amounts.cpu, r.total.cpu) + share(r.free.memory-f.st.asks.amounts.memory, r.total.memory)) / 2
	for _, t := range r.node.Spec.Taints {
		if t.Effect == corev1.TaintEffectPreferNoSchedule && !tolerates(f.st.pod.Spec.Tolerations, t) {
			return left
		}
	}
	return left + 20_000
}

func share(left, of int64) int64 {
	if of <= 0 || left <= 0 {
		return 0
	}
	return int64(float64(left) / float64(of) * 10000)
}

// AdmitsTaints reports whether no taint keeps a new pod away.
func AdmitsTaints(tolerations []corev1.Toleration, taints []corev1.Taint) bool {
	for _, t := range taints {
		if t.Effect != corev1.TaintEffectPreferNoSchedule && !tolerates(tolerations, t) {
			return false
		}
	}
	return true
}

func tolerates(tolerations []corev1.Toleration, taint corev1.Taint) bool {
	return slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool { return t.ToleratesTaint(klog.Logger{}, &taint, false) })
}
