package kubelets

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/tools/cache"
)

// RunForAnnotation on a pod whose restart policy is Never or OnFailure says for how long its containers run before they
// all exit with code 0: a duration such as "90s". Without it, or with a value that is not a duration, they run forever.
const RunForAnnotation = "sluice.dev/run-for"

// touch notes when a pod was first seen bound and first seen deleted, and has it served if its machine is here.
func (k *Kubelets) touch(pod *corev1.Pod) {
	k.mu.Lock()
	at, known := k.seen[pod.UID]
	now := time.Now()
	if !known {
		at.bound = now
	}
	if pod.DeletionTimestamp != nil && at.deleted.IsZero() {
		at.deleted = now
	}
	k.seen[pod.UID] = at
	here := k.machines[pod.Spec.NodeName] != nil
	k.mu.Unlock()
	if here {
		k.queue.Add(item{pod.Namespace, pod.Name})
	}
}

// touchAll touches the pods that are bound to a node.
func (k *Kubelets) touchAll(node string) error {
	bound, err := k.pods.GetIndexer().ByIndex(podsByNode, node)
	for _, pod := range bound {
		k.touch(pod.(*corev1.Pod))
	}
	return err
}

func (k *Kubelets) forget(o any) {
	if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = last.Obj
	}
	if pod, ok := o.(*corev1.Pod); ok {
		k.mu.Lock()
		delete(k.seen, pod.UID)
		k.mu.Unlock()
	}
}

// servePod takes a pod's next step if its time has come, and otherwise says how long that is away; zero means that
// nothing will happen to the pod by itself.
func (k *Kubelets) servePod(ctx context.Context, it item) (time.Duration, error) {
	found, exists, err := k.pods.GetIndexer().GetByKey(it.namespace + "/" + it.name)
	if err != nil || !exists {
		return 0, err
	}
	pod := found.(*corev1.Pod)
	k.mu.Lock()
	m, at := k.machines[pod.Spec.NodeName], k.seen[pod.UID]
	k.mu.Unlock()
	if m == nil {
		return 0, nil
	}
	now := time.Now()
	step, due := k.next(pod, at)
	if wait := due.Sub(now); step != stay && wait > 0 {
		return wait, nil
	}
	switch step {
	case start:
		err = k.patchStatus(ctx, pod, k.started(pod, m.machine, now))
	case restore:
		err = k.patchStatus(ctx, pod, corev1.PodStatus{Conditions: podConditions(pod, corev1.ConditionTrue, "", metav1.NewTime(now))})
	case finish:
		err = k.patchStatus(ctx, pod, ended(pod, corev1.PodSucceeded, 0, now))
	case remove:
		err = k.remove(ctx, pod, now)
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return 0, nil // the pod is gone, or has changed: the watch tells
	}
	if err != nil {
		return 0, fmt.Errorf("%s pod %s/%s: %w", step, pod.Namespace, pod.Name, err)
	}
	return 0, nil
}

// step is what a kubelet does to a pod.
type step string

const (
	stay    step = ""
	start   step = "start"
	restore step = "restore" // it runs, and was called unready while its node was
	finish  step = "finish"
	remove  step = "remove"
)

// next is the one step that is ahead of a pod, and when it is due.
func (k *Kubelets) next(pod *corev1.Pod, at seen) (step, time.Time) {
	terminal := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	switch {
	case pod.DeletionTimestamp != nil && terminal:
		return remove, at.deleted
	case pod.DeletionTimestamp != nil:
		stop := k.PodStop
		if grace := pod.DeletionGracePeriodSeconds; grace != nil {
			stop = min(stop, time.Duration(*grace)*time.Second)
		}
		return remove, at.deleted.Add(stop)
	case terminal:
		return stay, time.Time{}
	case pod.Status.Phase != corev1.PodRunning:
		return start, at.bound.Add(k.PodStart)
	case calledUnready(pod) && !k.saidUnready(pod.Spec.NodeName):
		return restore, time.Time{}
	case pod.Spec.RestartPolicy == corev1.RestartPolicyAlways:
		return stay, time.Time{}
	}
	lasts, err := time.ParseDuration(pod.Annotations[RunForAnnotation])
	if err != nil || len(pod.Status.ContainerStatuses) == 0 || pod.Status.ContainerStatuses[0].State.Running == nil {
		return stay, time.Time{}
	}
	return finish, pod.Status.ContainerStatuses[0].State.Running.StartedAt.Add(lasts)
}

// calledUnready says that somebody other than its kubelet has turned the pod's condition Ready: here, a pod that runs is ready.
func calledUnready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse
	})
}

// remove reports the containers as ended by SIGTERM, unless they ended before, and lets the pod go.
func (k *Kubelets) remove(ctx context.Context, pod *corev1.Pod, now time.Time) error {
	if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
		if err := k.patchStatus(ctx, pod, ended(pod, corev1.PodFailed, sigterm, now)); err != nil {
			return err
		}
	}
	return k.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64),
		Preconditions:      &metav1.Preconditions{UID: &pod.UID},
	})
}

// patchStatus leaves conditions of others alone. It conflicts when the pod is not any more what the step was decided on;
// the watch then brings what it has become.
func (k *Kubelets) patchStatus(ctx context.Context, pod *corev1.Pod, status corev1.PodStatus) error {
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion},
		"status":   status,
	})
	if err != nil {
		return err
	}
	_, err = k.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
	return err
}
