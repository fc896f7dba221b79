package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
)

// OpenGate takes [cluster.CapacityGate] off a pod, and no other gate, so that the scheduler sees it. A pod that is gone or does not
// have the gate is nil. It is one request for a pod that has no other gate.
func (w Writer) OpenGate(ctx context.Context, namespace, name string, uid types.UID) error {
	object := fmt.Sprintf("pod %s/%s", namespace, name)
	gates := []corev1.PodSchedulingGate{{Name: cluster.CapacityGate}} // as it mostly is: then nothing has to be read
	var conflict error
	for range tries {
		if err := w.still(); err != nil {
			return err
		}
		_, err := w.Client.CoreV1().Pods(namespace).Patch(ctx, name, types.JSONPatchType, gatePatch(uid, gates), metav1.PatchOptions{})
		switch {
		case err == nil || apierrors.IsNotFound(err):
			return nil
		case !apierrors.IsInvalid(err) && !apierrors.IsConflict(err):
			return failed("open the gate of", object, nil, err)
		}
		conflict = err
		p, err := w.Client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return failed("open the gate of", object, nil, err)
		case p.UID != uid || !slices.ContainsFunc(p.Spec.SchedulingGates, isCapacityGate):
			return nil
		}
		gates = p.Spec.SchedulingGates
	}
	return failed("open the gate of", object, ErrConflict, conflict)
}

func isCapacityGate(g corev1.PodSchedulingGate) bool { return g.Name == cluster.CapacityGate }

// gatePatch holds only for the pod of that UID with exactly these gates.
func gatePatch(uid types.UID, gates []corev1.PodSchedulingGate) []byte {
	patch := []map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": uid},
		{"op": "test", "path": "/spec/schedulingGates", "value": gates},
	}
	if left := slices.DeleteFunc(slices.Clone(gates), isCapacityGate); len(left) > 0 {
		patch = append(patch, map[string]any{"op": "replace", "path": "/spec/schedulingGates", "value": left})
	} else {
		patch = append(patch, map[string]any{"op": "remove", "path": "/spec/schedulingGates"})
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		panic("kube: scheduling gates cannot be encoded: " + err.Error()) // they are names
	}
	return raw
}
