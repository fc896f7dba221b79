package guard_test

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/guard"
	"sluice.dev/sluice/policy"
)

// daemon changes the daemon's pod on the node that is on its way out.
func (w *world) daemon(how ...func(*corev1.Pod)) {
	for _, h := range how {
		w.objects.Pods[1] = Changed(w.objects.Pods[1], h)
	}
}

// workers chooses pods labelled app=worker.
func workers() []cluster.PodSelector {
	s, err := cluster.ParsePodSelector("default/app=worker")
	if err != nil {
		panic(err)
	}
	return []cluster.PodSelector{s}
}

// dismissingWork evicts a daemon's work, for which the operator has no patience.
func dismissingWork() *world {
	w := dismissing()
	w.daemon(Labelled("app", "worker"))
	w.policy.Removal.Work.Daemons, w.policy.Removal.Work.Evict = workers(), []policy.WorkRule{{Namespace: "default"}}
	return w
}

// TestADaemonsWorkStaysUnlessThePolicySaysSo has writes that would end the work of daemons' pods (S-15).
func TestADaemonsWorkStaysUnlessThePolicySaysSo(t *testing.T) {
	const safe, disrupt = "cluster-autoscaler.kubernetes.io/safe-to-evict", "karpenter.sh/do-not-disrupt"
	started := func(p *corev1.Pod) { p.Status.StartTime = &metav1.Time{Time: Start} }
	told := func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: Start.Add(time.Hour)} }
	for name, c := range map[string]struct {
		open    func() *world
		change  func(*world)
		refused bool
	}{
		"a machine with a plain daemon":                     {deleting, func(*world) {}, false},
		"a machine with a daemon that is not to be evicted": {deleting, func(w *world) { w.daemon(Annotated(safe, "false")) }, true},
		"with one that is not to be disrupted":              {deleting, func(w *world) { w.daemon(Annotated(disrupt, "true")) }, true},
		"with one that is not to be disrupted yet":          {deleting, func(w *world) { w.daemon(Annotated(disrupt, "1h"), started) }, true},
		"with one that was not to be disrupted":             {deleting, func(w *world) { w.daemon(Annotated(disrupt, "30s"), started) }, false},
		"with one that the operator chooses":                {deleting, func(w *world) { w.daemon(Labelled("app", "worker")); w.policy.Removal.Work.Daemons = workers() }, true},
		"with one that its group chooses":                   {deleting, func(w *world) { w.daemon(Labelled("app", "worker")); w.groups[0].Options.DaemonWork = workers() }, true},
		"with one that another group chooses": {deleting, func(w *world) {
			w.daemon(Labelled("app", "worker"))
			w.groups = append(w.groups, Group("other", 0, 5))
			w.groups[1].Options.DaemonWork = workers()
		}, false},
		"with one whose work has ended": {deleting, func(w *world) {
			w.daemon(Annotated(safe, "false"), func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
		}, false},
		"with one that may go, and has not left": {deleting, func(w *world) { *w = *dismissingWork(); w.write = deleting().write }, true},
		"with one that was told to end, and has not left": {deleting, func(w *world) {
			*w = *dismissingWork()
			w.write = deleting().write
			w.daemon(told)
		}, true},
		"an eviction of a daemon's work":             {dismissing, func(w *world) { w.daemon(Labelled("app", "worker")); w.policy.Removal.Work.Daemons = workers() }, true},
		"an eviction of a daemon's work that may go": {dismissingWork, func(*world) {}, false},
		"an eviction of a plain daemon beside a worker": {dismissing, func(w *world) {
			w.objects.Pods = append(w.objects.Pods, Pod("late", On("agents-1"), OwnedBy("DaemonSet", "work"), Annotated(disrupt, "true")))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := c.open()
			c.change(w)
			var refusal *guard.Refusal
			if err := w.check(); errors.As(err, &refusal) != c.refused || c.refused && refusal.Property != "S-15" {
				t.Errorf("check = %v, want a refusal by S-15: %t", err, c.refused)
			}
		})
	}
}
