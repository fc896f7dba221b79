package policy_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/policy"
)

// TestAPodThatWouldReturnBelongsToItsNode has pods with tolerations on a node that is on its way out, on one that is not, and on one with a
// notice.
func TestAPodThatWouldReturnBelongsToItsNode(t *testing.T) {
	tolerates := func(all ...corev1.Toleration) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.Tolerations = all }
	}
	exists := corev1.TolerationOpExists
	every := tolerates(corev1.Toleration{Operator: exists})
	owned := OwnedBy("ReplicaSet", "monitor")
	for name, c := range map[string]struct {
		pod            []func(*corev1.Pod)
		goes, notified bool
	}{
		"of every taint":             {[]func(*corev1.Pod){owned, every}, true, true},
		"of every effect but theirs": {[]func(*corev1.Pod){owned, tolerates(corev1.Toleration{Operator: exists, Effect: corev1.TaintEffectNoExecute})}, false, false},
		"of both by name": {[]func(*corev1.Pod){owned, tolerates(
			corev1.Toleration{Operator: exists, Key: "node.kubernetes.io/unschedulable"}, corev1.Toleration{Operator: exists, Key: "sluice.dev/removing"},
		)}, true, false},
		"of the cordon alone":       {[]func(*corev1.Pod){owned, tolerates(corev1.Toleration{Operator: exists, Key: "node.kubernetes.io/unschedulable"})}, false, false},
		"of every taint, by nobody": {[]func(*corev1.Pod){OwnedBy("", ""), every}, false, false},
		"of every taint, of a Job":  {[]func(*corev1.Pod){OwnedBy("Job", "j"), every}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, allowed := Pod("p", c.pod...), policy.Default()
			if allowed.Belongs(p, policy.Where{}, Start) {
				t.Error("it belongs to a node that stays")
			}
			if got := allowed.Belongs(p, policy.Where{Cordoned: Start.Add(-time.Minute)}, Start); got != c.goes {
				t.Errorf("it goes with a cordoned node: %t, want %t", got, c.goes)
			}
			if got := allowed.StopsWith(p, policy.Where{}, Start); got != c.notified {
				t.Errorf("it stops with a node with a notice: %t, want %t", got, c.notified)
			}
		})
	}
}
