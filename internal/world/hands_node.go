package world

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/internal/kubesim"
)

func doTaint(w *world, s *statement) error {
	var taints []corev1.Taint
	for _, said := range s.names[1:] {
		t, ok := taint(said)
		if !ok {
			return fmt.Errorf("taint %s: %q is no taint: give %s", s.names[0], said, taintForm)
		}
		taints = append(taints, t)
	}
	return w.machines.editNode(s, func(n *corev1.Node) error {
		n.Spec.Taints = append(n.Spec.Taints, taints...)
		return nil
	})
}

func doUntaint(w *world, s *statement) error {
	return w.machines.editNode(s, func(n *corev1.Node) error {
		for _, key := range s.names[1:] {
			bears := func(t corev1.Taint) bool { return t.Key == key }
			if !slices.ContainsFunc(n.Spec.Taints, bears) {
				return fmt.Errorf("untaint %s: it bears no taint %s", s.names[0], key)
			}
			n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, bears)
		}
		return nil
	})
}

// doTurnDown says of a pod what another scheduler than Kubernetes' own says when it finds no node for it.
func doTurnDown(w *world, s *statement) error {
	namespace, name := w.out.names.apart(s.names[0])
	p, there := kubesim.Find[*corev1.Pod](w.cluster, namespace, name)
	switch {
	case !there:
		return fmt.Errorf("turn-down: there is no pod %s", s.names[0])
	case p.Spec.SchedulerName == corev1.DefaultSchedulerName:
		return fmt.Errorf("turn-down %s: its scheduler is Kubernetes' own, which speaks for itself: give the pod another one with scheduler=NAME", s.names[0])
	}
	return kubesim.Edit(w.cluster, namespace, name, func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.NewTime(w.now()),
		})
	})
}
