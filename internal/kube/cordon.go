package kube

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
)

// tries is how often a change of a node is computed and sent until no other change came in between.
const tries = 5

// Cordon puts a node on the removal ladder, in one request: it adds the removal taint, or replaces it, marks the node
// unschedulable, names its machine in [cluster.MachineAnnotation] and the writer's owner beside it, and with exclude takes it out of load balancers. Everything else on the
// node stays. A node that already
// is as asked is not written to. [ErrHeld] for a node that somebody else has cordoned or annotated to stay, or on which a notice stands unless
// the machine is switched off, even if no watch has told of that yet, [ErrGone] for one that is not there.
func (w Writer) Cordon(ctx context.Context, node string, uid types.UID, r cluster.Removal, m cluster.Machine, exclude bool) error {
	return w.change(ctx, "cordon", node, uid, func(n *corev1.Node) error {
		if _, ours := cluster.RemovalOf(n); !ours && (n.Spec.Unschedulable || cluster.Noticed(n) && !w.Stopped) || cluster.Kept(n) {
			return ErrHeld
		}
		n.Spec.Taints = append(otherTaints(n, cluster.RemovalTaint), r.Taint())
		n.Spec.Unschedulable = true
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, cluster.MachineAnnotation, m.String())
		w.own(n)
		if exclude {
			excludeFromBalancers(n)
		}
		return nil
	})
}

// Look reads a node as it is now, past every watch; nil for one that is not there.
func (w Writer) Look(ctx context.Context, node string) (*corev1.Node, error) {
	n, err := w.Client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, failed("read", "node "+node, nil, err)
	}
	return n, nil
}

// ControlPlane reads all nodes of the control plane as they are now, past every watch. One with several of its roles may be there more than once.
func (w Writer) ControlPlane(ctx context.Context) ([]*corev1.Node, error) {
	var all []*corev1.Node
	for _, role := range cluster.ControlPlaneRoles {
		list, err := w.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: role})
		if err != nil {
			return nil, failed("read", "the nodes of the control plane", nil, err)
		}
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
	}
	return all, nil
}

// Mark names a node's machine in [cluster.MachineAnnotation], and the writer's owner beside it, and changes nothing else but for a machine that is parked since
// then: its node is cordoned, and bears the taint of a cloud controller besides. [ErrGone] for a node that is not there.
func (w Writer) Mark(ctx context.Context, node string, uid types.UID, m cluster.Machine, parked time.Time) error {
	return w.change(ctx, "mark", node, uid, func(n *corev1.Node) error {
		if !parked.IsZero() {
			n.Spec.Taints = append(otherTaints(n, cluster.RemovalTaint, cluster.CandidateTaint, cluster.ShutdownTaint), cluster.Removal{Since: parked, Why: cluster.Parked}.Taint(), cluster.Shut)
			n.Spec.Unschedulable = true
		}
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, cluster.MachineAnnotation, m.String())
		w.own(n)
		return nil
	})
}

// Uncordon takes back what [Writer.Cordon] and [Writer.Mark] did, and what cluster-autoscaler did for its own removal. A node with the taint of neither stays
// unschedulable if it is: somebody else made it so. So does one of which the cloud has announced something. A node that is gone, or has nothing to be taken back, is nil.
func (w Writer) Uncordon(ctx context.Context, node string, uid types.UID) error {
	err := w.change(ctx, "uncordon", node, uid, func(n *corev1.Node) error {
		_, ours := cluster.RemovalOf(n)
		if _, incumbent := cluster.IncumbentSince(n); incumbent && !ours {
			n.Spec.Unschedulable = false
			n.Spec.Taints = otherTaints(n, cluster.IncumbentTaint)
		}
		if ours {
			n.Spec.Unschedulable = false
			if !cluster.Noticed(n) {
				readmitToBalancers(n)
			}
		}
		if was, _ := cluster.RemovalOf(n); was.Why == cluster.Parked {
			n.Spec.Taints = otherTaints(n, cluster.ShutdownTaint)
		}
		n.Spec.Taints = otherTaints(n, cluster.RemovalTaint)
		delete(n.Annotations, cluster.MachineAnnotation)
		disown(n)
		return nil
	})
	if errors.Is(err, ErrGone) {
		return nil
	}
	return err
}

// CandidateTaint has the scheduler prefer other nodes to one that could go since then. One that bears the taint already is not written to.
func (w Writer) CandidateTaint(ctx context.Context, node string, uid types.UID, since time.Time) error {
	return w.change(ctx, "soft-taint", node, uid, func(n *corev1.Node) error {
		if !cluster.Candidate(n) {
			n.Spec.Taints = append(n.Spec.Taints, cluster.CandidateSince(since))
			w.own(n)
		}
		return nil
	})
}

// CandidateUntaint takes back what [Writer.CandidateTaint] did. A node that is gone, or has nothing to be taken back, is nil.
func (w Writer) CandidateUntaint(ctx context.Context, node string, uid types.UID) error {
	err := w.change(ctx, "soft-untaint", node, uid, func(n *corev1.Node) error {
		n.Spec.Taints = otherTaints(n, cluster.CandidateTaint)
		disown(n)
		return nil
	})
	if errors.Is(err, ErrGone) {
		return nil
	}
	return err
}

// own says on the node whose it is what stands there for its removal.
func (w Writer) own(n *corev1.Node) {
	if w.Owner == "" {
		delete(n.Annotations, cluster.OwnerAnnotation)
		return
	}
	metav1.SetMetaDataAnnotation(&n.ObjectMeta, cluster.OwnerAnnotation, w.Owner)
}

// disown takes that back once nothing stands there any more.
func disown(n *corev1.Node) {
	if _, on := cluster.RemovalOf(n); !on && !cluster.Candidate(n) && n.Annotations[cluster.MachineAnnotation] == "" {
		delete(n.Annotations, cluster.OwnerAnnotation)
	}
}

// excludeFromBalancers keeps load balancers from sending to the node. Who has done so before is left the last word.
func excludeFromBalancers(n *corev1.Node) {
	if _, excluded := n.Labels[cluster.ExclusionLabel]; !excluded {
		metav1.SetMetaDataLabel(&n.ObjectMeta, cluster.ExclusionLabel, cluster.Excluded)
	}
}

// readmitToBalancers takes that back, where sluice did it.
func readmitToBalancers(n *corev1.Node) {
	if n.Labels[cluster.ExclusionLabel] == cluster.Excluded {
		delete(n.Labels, cluster.ExclusionLabel)
	}
}

// otherTaints are the node's taints but for those with one of the keys.
func otherTaints(n *corev1.Node, keys ...string) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t corev1.Taint) bool { return slices.Contains(keys, t.Key) })
}

// annotations are those that sluice writes on nodes while it runs. What people have it write besides is taken off by [Operator.GiveBack].
var annotations = []string{cluster.MachineAnnotation, cluster.OwnerAnnotation, cluster.NoticeAnnotation, cluster.AnswerAnnotation}

// annotationsOf are these, and all others of sluice's that the node bears.
func annotationsOf(n *corev1.Node) []string {
	all := slices.Clone(annotations)
	for key := range n.Annotations {
		if strings.HasPrefix(key, ownPrefix) && !slices.Contains(all, key) {
			all = append(all, key)
		}
	}
	return all
}

// ownPrefix begins the keys of all that is sluice's.
const ownPrefix = "sluice.dev/"

// nodeLabels are those that sluice writes on nodes.
var nodeLabels = []string{cluster.ExclusionLabel}

// change reads the node, lets edit change taints, unschedulable and sluice's annotations and labels of its copy, and sends these as a
// change that holds only for the version that was read. An edit without effect sends nothing; one that returns an error, which
// is a sentinel, ends it.
func (w Writer) change(ctx context.Context, verb, node string, uid types.UID, edit func(*corev1.Node) error) error {
	object := "node " + node
	var conflict error
	for range tries {
		if err := w.still(); err != nil {
			return err
		}
		was, err := w.Client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return failed(verb, object, ErrGone, nil)
		case err != nil:
			return failed(verb, object, nil, err)
		case was.UID != uid:
			return failed(verb, object, ErrGone, nil)
		}
		becomes := was.DeepCopy()
		if err := edit(becomes); err != nil {
			return failed(verb, object, err, nil)
		}
		if unchanged(was, becomes) {
			return nil
		}
		is, err := w.send(ctx, node, nodePatch(was, becomes))
		switch {
		case err == nil:
			if w.Wrote != nil {
				w.Wrote(node, is.ResourceVersion)
			}
			return nil
		case apierrors.IsNotFound(err):
			return failed(verb, object, ErrGone, nil)
		case !apierrors.IsConflict(err):
			return failed(verb, object, nil, err)
		}
		conflict = err
	}
	return failed(verb, object, ErrConflict, conflict)
}

func unchanged(a, b *corev1.Node) bool {
	return a.Spec.Unschedulable == b.Spec.Unschedulable &&
		!slices.ContainsFunc(annotationsOf(a), func(key string) bool { return a.Annotations[key] != b.Annotations[key] }) &&
		!slices.ContainsFunc(nodeLabels, func(key string) bool { return a.Labels[key] != b.Labels[key] }) &&
		slices.EqualFunc(a.Spec.Taints, b.Spec.Taints, func(a, b corev1.Taint) bool {
			return a.MatchTaint(&b) && a.Value == b.Value && a.TimeAdded.Equal(b.TimeAdded)
		})
}

// nodePatch is a merge patch of what sluice sets on a node as it was. Taints are one value to the API server, so all
// of them are sent; the resource version keeps those that others set meanwhile.
func nodePatch(was, n *corev1.Node) []byte {
	var unschedulable, taints any // nil takes the field away
	only := func(keys []string, of map[string]string) map[string]any {
		said := map[string]any{}
		for _, key := range keys {
			said[key] = nil
			if v, ok := of[key]; ok {
				said[key] = v
			}
		}
		return said
	}
	if n.Spec.Unschedulable {
		unschedulable = true
	}
	if len(n.Spec.Taints) > 0 {
		taints = n.Spec.Taints
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{
			"uid":             n.UID,
			"resourceVersion": n.ResourceVersion,
			"annotations":     only(annotationsOf(was), n.Annotations),
			"labels":          only(nodeLabels, n.Labels),
		},
		"spec": map[string]any{"unschedulable": unschedulable, "taints": taints},
	})
	if err != nil {
		panic("kube: a node's taints cannot be encoded: " + err.Error()) // they were decoded from JSON or protobuf
	}
	return patch
}
