package kubesim_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/internal/kubesim"
)

// leaving says which pods have been told to go.
func (w *world) leaving(names ...string) (told []string) {
	for _, name := range names {
		if p := w.pod(name); p == nil || p.DeletionTimestamp != nil {
			told = append(told, name)
		}
	}
	return told
}

func TestPodsLeaveANodeThatIsNotReadyForLong(t *testing.T) {
	w := newWorld(t)
	w.join("n0", "4")
	w.create(pod("a", "1"))
	stays := pod("stays", "1")
	stays.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	w.create(stays)
	w.advance(10 * time.Second)
	w.join("n1", "4")
	w.Leave("n0")
	w.advance(40*time.Second + 299*time.Second)
	if told := w.leaving("a", "stays"); told != nil {
		t.Errorf("%v had to go before the 300 s that pods tolerate by default", told)
	}
	w.advance(time.Second)
	if told := w.leaving("a", "stays"); len(told) != 1 || told[0] != "a" {
		t.Errorf("%v had to go, want the pod that does not tolerate it", told)
	}
}

func TestPodsStayWhereTheNodeIsReadyAgainInTime(t *testing.T) {
	w := newWorld(t)
	w.join("n0", "4")
	w.create(pod("a", "1"))
	w.advance(10 * time.Second)
	w.join("n1", "4")
	w.Leave("n0")
	w.advance(2 * time.Minute)
	w.join("n0", "4")
	w.advance(time.Hour)
	if told := w.leaving("a"); told != nil {
		t.Error("the pod had to go, and its node is Ready")
	}
}

func TestPodsStayWhenNoNodeIsReady(t *testing.T) {
	w := newWorld(t)
	w.join("n0", "4")
	w.create(pod("a", "1"))
	w.advance(10 * time.Second)
	w.Leave("n0")
	w.advance(time.Hour)
	if told := w.leaving("a"); told != nil {
		t.Error("the pod had to go, and the whole cluster is silent")
	}
	w.join("n1", "4")
	w.advance(2 * time.Minute)
	if told := w.leaving("a"); told == nil {
		t.Error("the pod stays, and its node alone is silent by now")
	}
}

func TestATaintThatExpelsDoesSoAtOnce(t *testing.T) {
	w := newWorld(t)
	w.join("n0", "4")
	w.create(pod("a", "1"))
	w.advance(10 * time.Second)
	err := kubesim.Edit(w.Cluster, "", "n0", func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "broken", Effect: corev1.TaintEffectNoExecute})
	})
	if err != nil {
		t.Fatal(err)
	}
	w.settle()
	if told := w.leaving("a"); told == nil {
		t.Error("the pod stays on a node whose taint it does not tolerate")
	}
}
