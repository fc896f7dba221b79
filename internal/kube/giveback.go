package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/cluster"
)

// ErrLed says that a process holds the lease, which would put on nodes again what is taken off.
var ErrLed = errors.New("a process holds the lease")

// Returned is something of sluice's that was taken off an object, or is to be.
type Returned struct {
	Object string // "node agents-1"
	What   string // "taint sluice.dev/removing, cordon"
}

// Place is where sluice keeps what is its own, by the flags of sluice run.
type Place struct {
	Namespace string
	Lease     string
	Status    string // of the ConfigMap
}

// GiveBack takes off every object what sluice, or a person with its help, has put there: taints with the cordons that came with them, annotations, labels and
// scheduling gates; then pauses and acknowledgements, and last its ConfigMap and its lease. What it does is told as it is done; nothing of it is done with dry. It may be
// repeated, and goes on with the other objects after an error. While somebody holds the lease it is [ErrLed], unless beside: then lease and ConfigMap stay, and
// only what is sluice's own in the latter goes.
func (h Operator) GiveBack(ctx context.Context, at Place, dry, beside bool, now time.Time, tell func(Returned)) error {
	holder, err := Holder(ctx, h.Client, at.Namespace, at.Lease, now)
	if err != nil {
		return err
	}
	if holder != "" && !beside {
		return fmt.Errorf("%w: %s holds %s/%s", ErrLed, holder, at.Namespace, at.Lease)
	}
	return errors.Join(h.Release(ctx, dry, tell), h.unpause(ctx, dry, tell), h.clearStatus(ctx, at, holder != "", dry, tell), h.dropLease(ctx, at, holder != "", dry, tell))
}

// Release is the part of [Operator.GiveBack] that sluice's own rights allow: nodes, and gates of pods.
func (h Operator) Release(ctx context.Context, dry bool, tell func(Returned)) error {
	r := resourcesOf(h.Client, "")
	nodes, err := r.nodes.whole(ctx)
	if err != nil {
		return err
	}
	var errs []error
	w := Writer{Client: h.Client}
	for _, n := range nodes {
		what := release(n.DeepCopy())
		if len(what) == 0 {
			continue
		}
		if !dry {
			err := w.change(ctx, "give back", n.Name, n.UID, func(n *corev1.Node) error {
				what = release(n)
				return nil
			})
			if errors.Is(err, ErrGone) {
				continue
			}
			if err != nil {
				errs = append(errs, err)
				continue
			}
		}
		tell(Returned{"node " + n.Name, strings.Join(what, ", ")})
	}
	pods, err := r.pods.whole(ctx)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, p := range pods {
		if !slices.ContainsFunc(p.Spec.SchedulingGates, isCapacityGate) {
			continue
		}
		if !dry {
			if err := w.OpenGate(ctx, p.Namespace, p.Name, p.UID); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		tell(Returned{"pod " + p.Namespace + "/" + p.Name, "scheduling gate " + cluster.CapacityGate})
	}
	return errors.Join(errs...)
}

// release takes off a node what is sluice's, and says what that was. A cordon goes with the taint that it came with.
func release(n *corev1.Node) (what []string) {
	removal, on := cluster.RemovalOf(n)
	if on && n.Spec.Unschedulable {
		n.Spec.Unschedulable = false
		what = append(what, "cordon")
	}
	ours := []string{cluster.RemovalTaint, cluster.NoticeTaint}
	if n.Annotations[cluster.OwnerAnnotation] != "" {
		ours = append(ours, cluster.CandidateTaint)
	}
	if removal.Why == cluster.Parked {
		ours = append(ours, cluster.ShutdownTaint)
	}
	for _, t := range n.Spec.Taints {
		if slices.Contains(ours, t.Key) {
			what = append(what, "taint "+t.Key)
		}
	}
	n.Spec.Taints = otherTaints(n, ours...)
	for _, key := range slices.Sorted(maps.Keys(n.Annotations)) {
		if strings.HasPrefix(key, ownPrefix) {
			delete(n.Annotations, key)
			what = append(what, "annotation "+key)
		}
	}
	if n.Labels[cluster.ExclusionLabel] == cluster.Excluded {
		delete(n.Labels, cluster.ExclusionLabel)
		what = append(what, "label "+cluster.ExclusionLabel)
	}
	return what
}

// Holder is who holds the lease now, "" for nobody.
func Holder(ctx context.Context, client kubernetes.Interface, namespace, name string, now time.Time) (string, error) {
	l, err := client.CoordinationV1().Leases(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read lease %s/%s: %w", namespace, name, err)
	}
	s := l.Spec
	if s.HolderIdentity == nil || s.RenewTime == nil || s.LeaseDurationSeconds == nil || now.Sub(s.RenewTime.Time) > time.Duration(*s.LeaseDurationSeconds)*time.Second {
		return "", nil
	}
	return *s.HolderIdentity, nil
}

// unpause takes off what sluice pause and sluice acknowledge have written.
func (h Operator) unpause(ctx context.Context, dry bool, tell func(Returned)) error {
	namespaces := h.Client.CoreV1().Namespaces()
	n, err := namespaces.Get(ctx, cluster.PauseNamespace, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read what is paused: %w", err)
	}
	var off []string
	for _, key := range []string{cluster.PauseAnnotation, cluster.AcknowledgeAnnotation} {
		if _, there := n.Annotations[key]; !there {
			continue
		}
		if !dry {
			if n, err = namespaces.Patch(ctx, n.Name, types.MergePatchType, annotationPatch(n, key, ""), metav1.PatchOptions{}); err != nil {
				return fmt.Errorf("take annotation %s off namespace %s: %w", key, cluster.PauseNamespace, err)
			}
		}
		off = append(off, "annotation "+key)
	}
	if len(off) > 0 {
		tell(Returned{"namespace " + cluster.PauseNamespace, strings.Join(off, ", ")})
	}
	return nil
}

// clearStatus deletes the ConfigMap; one that another process may keep loses what is sluice's own.
func (h Operator) clearStatus(ctx context.Context, at Place, kept, dry bool, tell func(Returned)) error {
	maps := h.Client.CoreV1().ConfigMaps(at.Namespace)
	name := "ConfigMap " + at.Namespace + "/" + at.Status
	m, err := maps.Get(ctx, at.Status, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if !kept {
		if !dry {
			if err := maps.Delete(ctx, at.Status, *metav1.NewPreconditionDeleteOptions(string(m.UID))); err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("delete %s: %w", name, err)
			}
		}
		tell(Returned{name, "all of it"})
		return nil
	}
	var what []string
	for _, key := range cluster.StatusKeys() {
		if _, has := m.Data[key]; has {
			delete(m.Data, key)
			what = append(what, "key "+key)
		}
	}
	if len(what) == 0 {
		return nil
	}
	if !dry {
		if _, err := maps.Update(ctx, m, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("update %s: %w", name, err)
		}
	}
	tell(Returned{name, strings.Join(what, ", ")})
	return nil
}

// dropLease deletes a lease that nobody holds.
func (h Operator) dropLease(ctx context.Context, at Place, held, dry bool, tell func(Returned)) error {
	leases := h.Client.CoordinationV1().Leases(at.Namespace)
	l, err := leases.Get(ctx, at.Lease, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || held {
		return nil
	}
	if err == nil && !dry {
		o := metav1.NewPreconditionDeleteOptions(string(l.UID))
		o.Preconditions.ResourceVersion = &l.ResourceVersion // nobody has taken it meanwhile
		err = leases.Delete(ctx, at.Lease, *o)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete lease %s/%s: %w", at.Namespace, at.Lease, err)
	}
	tell(Returned{"lease " + at.Namespace + "/" + at.Lease, "all of it"})
	return nil
}
