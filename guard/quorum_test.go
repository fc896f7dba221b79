package guard_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"

	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/guard"
	"sluice.dev/sluice/reason"
)

// TestAControlPlaneIsJudgedAsItWasReadForTheWrite has something come about while no watch tells of it (S-17).
func TestAControlPlaneIsJudgedAsItWasReadForTheWrite(t *testing.T) {
	const role = "node-role.kubernetes.io/control-plane"
	since := map[string]func(read map[string]*corev1.Node, leaving corev1.Taint){
		"nobody has read it":           func(read map[string]*corev1.Node, _ corev1.Taint) { clear(read) },
		"one is not there":             func(read map[string]*corev1.Node, _ corev1.Taint) { delete(read, "agents-2") },
		"one was cordoned for removal": func(read map[string]*corev1.Node, l corev1.Taint) { read["agents-2"].Spec.Taints = []corev1.Taint{l} },
		"one is not Ready":             func(read map[string]*corev1.Node, _ corev1.Taint) { NotReady(Start)(read["agents-2"]) },
		"two have joined, and not Ready": func(read map[string]*corev1.Node, _ corev1.Taint) {
			read["new-0"], read["new-1"] = young("new-0", role), young("new-1", role)
		},
	}
	for write, open := range map[string]func() *world{"a cordon": dethroning, "a removal": crowned} {
		if err := open().check(); err != nil {
			t.Errorf("%s: %v", write, err)
		}
		for what, happens := range since {
			w := open()
			w.evidence.Looked = map[string]*corev1.Node{}
			for _, n := range w.objects.Nodes {
				w.evidence.Looked[n.Name] = n.DeepCopy()
			}
			happens(w.evidence.Looked, w.objects.Nodes[1].Spec.Taints[0])
			var refusal *guard.Refusal
			if err := w.check(); !errors.As(err, &refusal) || refusal.Property != "S-17" {
				t.Errorf("%s when %s, of %d that were read: %v, want a refusal by S-17", write, what, len(w.evidence.Looked), err)
			}
		}
	}
}

// TestAControlPlaneNodeIsToldByItsRole has a control plane that is not opted in: the node's own role is why it stays, not that of its
// group.
func TestAControlPlaneNodeIsToldByItsRole(t *testing.T) {
	t.Run("a cordon", func(t *testing.T) {
		w := dethroning()
		w.policy.Removal.ControlPlane = false
		var refusal *guard.Refusal
		if err := w.check(); !errors.As(err, &refusal) || refusal.Reason.Code != reason.NodeControlPlane {
			t.Errorf("%v, want a refusal for %s", err, reason.NodeControlPlane)
		}
	})
}

// young is a node with a role that is not Ready.
func young(name, role string) *corev1.Node {
	return Node(name, func(n *corev1.Node) { n.Labels[role] = "" }, NotReady(Start))
}
