package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
)

// AnswerRequest writes into the status of a ProvisioningRequest: the conditions given, which replace those of their types, and the
// details unless they are nil. A condition's time is at, if its status changes by that. Other conditions stay. A request that is gone
// is nil; one that says all that already is not written to.
func (w Writer) AnswerRequest(ctx context.Context, namespace, name string, uid types.UID, conditions []metav1.Condition, details map[string]string, at time.Time) error {
	return w.answer(ctx, requestAPI, namespace, name, uid, conditions, at, func(status map[string]any) {
		if details != nil {
			status["provisioningClassDetails"] = details
		}
	})
}

// AnswerBuffer writes into the status of a CapacityBuffer: the conditions given, as [Writer.AnswerRequest] does, and what the buffer
// came to: how many pods like which template of which generation. A nil number and an empty name leave what there is.
func (w Writer) AnswerBuffer(ctx context.Context, namespace, name string, uid types.UID, conditions []metav1.Condition, s cluster.CapacityBufferStatus, at time.Time) error {
	return w.answer(ctx, bufferAPI, namespace, name, uid, conditions, at, func(status map[string]any) {
		for field, value := range map[string]any{"replicas": s.Replicas, "podTemplateRef": s.PodTemplateRef, "podTemplateGeneration": s.PodTemplateGeneration, "provisioningStrategy": s.ProvisioningStrategy} {
			if raw, err := json.Marshal(value); err == nil && string(raw) != "null" {
				status[field] = json.RawMessage(raw)
			}
		}
	})
}

// answered is what is read of a custom object to write its status.
type answered struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Status   struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status"`
}

// answer reads the object and sends the conditions, and what more adds, as a patch of its status that holds only for the version that
// was read.
func (w Writer) answer(ctx context.Context, versions []api, namespace, name string, uid types.UID, conditions []metav1.Condition, at time.Time, more func(map[string]any)) error {
	object := fmt.Sprintf("%s %s/%s", versions[0].resource, namespace, name)
	var paths []string
	for _, a := range versions {
		paths = append(paths, fmt.Sprintf("/apis/%s/namespaces/%s/%s/%s", a.groupVersion, namespace, a.resource, name))
	}
	client := w.Client.CoreV1().RESTClient()
	var conflict error
	for range tries {
		if err := w.still(); err != nil {
			return err
		}
		var path string
		var raw []byte
		err := firstServed(paths, func(p string) (err error) {
			path = p
			raw, err = client.Get().AbsPath(p).SetHeader("Accept", runtime.ContentTypeJSON).DoRaw(ctx)
			return err
		})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return failed("answer", object, nil, err)
		}
		var was answered
		if err := json.Unmarshal(raw, &was); err != nil {
			return failed("answer", object, nil, err)
		}
		if was.Metadata.UID != uid {
			return nil
		}
		status := map[string]any{}
		more(status)
		becomes, changed := was.Status.Conditions, false
		for _, c := range conditions {
			c.LastTransitionTime, c.ObservedGeneration = metav1.NewTime(at), was.Metadata.Generation
			changed = meta.SetStatusCondition(&becomes, c) || changed
		}
		if !changed && len(status) == 0 {
			return nil
		}
		status["conditions"] = becomes
		patch, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"uid": uid, "resourceVersion": was.Metadata.ResourceVersion}, "status": status,
		})
		if err != nil {
			return failed("answer", object, nil, err)
		}
		_, err = client.Patch(types.MergePatchType).AbsPath(path+"/status").SetHeader("Accept", runtime.ContentTypeJSON).Body(patch).DoRaw(ctx)
		switch {
		case err == nil || apierrors.IsNotFound(err):
			return nil
		case !apierrors.IsConflict(err):
			return failed("answer", object, nil, err)
		}
		conflict = err
	}
	return failed("answer", object, ErrConflict, conflict)
}
