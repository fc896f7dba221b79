package world

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/kubesim"
)

func doPause(w *world, s *statement) error {
	length, err := s.duration("for", 0)
	if err != nil {
		return err
	}
	if length <= 0 {
		return fmt.Errorf("pause %s: give a duration above zero with for, such as for=2h", s.names[0])
	}
	return pause(w.cluster, s.names[0], w.now().Add(length), w.now())
}

func doResume(w *world, s *statement) error {
	return pause(w.cluster, s.names[0], time.Time{}, w.now())
}

// doAcknowledge writes what sluice acknowledge does.
func doAcknowledge(w *world, s *statement) error {
	group := cluster.GroupID(s.names[0])
	if group == "all" {
		group = cluster.AllGroups
		w.judges.observer.Acknowledged("")
	} else {
		w.judges.observer.Acknowledged(s.names[0])
	}
	return kubesim.Edit(w.cluster, "", cluster.PauseNamespace, func(n *corev1.Namespace) {
		if n.Annotations == nil {
			n.Annotations = map[string]string{}
		}
		n.Annotations[cluster.AcknowledgeAnnotation] = cluster.ReadAcknowledged(n.Annotations[cluster.AcknowledgeAnnotation]).With(group, w.now()).Annotation()
	})
}

// pause writes what sluice pause does. A time that is over ends a pause.
func pause(c *kubesim.Cluster, group string, until, now time.Time) error {
	if group == "all" {
		group = string(cluster.AllGroups)
	}
	var bad error
	err := kubesim.Edit(c, "", cluster.PauseNamespace, func(n *corev1.Namespace) {
		var p cluster.Pauses
		if p, bad = cluster.ReadPauses(n.Annotations[cluster.PauseAnnotation]); bad != nil {
			return
		}
		if n.Annotations == nil {
			n.Annotations = map[string]string{}
		}
		n.Annotations[cluster.PauseAnnotation] = p.With(cluster.GroupID(group), until, now).Annotation()
	})
	if bad != nil {
		return bad
	}
	return err
}

// doDrain writes what sluice drain does.
func doDrain(w *world, s *statement) error {
	return w.machines.editNode(s, func(n *corev1.Node) error {
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, cluster.DrainAnnotation, w.now().Format(time.RFC3339))
		return nil
	})
}

func doUndrain(w *world, s *statement) error {
	return w.machines.editNode(s, func(n *corev1.Node) error {
		delete(n.Annotations, cluster.DrainAnnotation)
		return nil
	})
}
