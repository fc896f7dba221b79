package kubesim

import (
	"fmt"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// selection says which objects a list or a watch is about. Nil selectors
// select everything.
type selection struct {
	namespace string
	labels    labels.Selector
	fields    fields.Selector
}

func parseSelection(q *call) (selection, error) {
	s := selection{namespace: q.namespace}
	if text := q.query.Get("labelSelector"); text != "" {
		sel, err := labels.Parse(text)
		if err != nil {
			return s, apierrors.NewBadRequest(fmt.Sprintf("unable to parse label selector %q: %v", text, err))
		}
		s.labels = sel
	}
	text := q.query.Get("fieldSelector")
	if text == "" {
		return s, nil
	}
	sel, err := fields.ParseSelector(text)
	if err != nil {
		return s, apierrors.NewBadRequest(fmt.Sprintf("unable to parse field selector %q: %v", text, err))
	}
	known := fieldsOf(q.kind.storage().prototype)
	for _, r := range sel.Requirements() {
		if !known.Has(r.Field) {
			return s, apierrors.NewBadRequest(fmt.Sprintf("field label not supported: %s", r.Field))
		}
	}
	s.fields = sel
	return s, nil
}

func (s selection) matches(e *entry) bool {
	if s.namespace != "" && e.obj.GetNamespace() != s.namespace {
		return false
	}
	if s.labels != nil && !s.labels.Matches(labels.Set(e.obj.GetLabels())) {
		return false
	}
	return s.fields == nil || s.fields.Matches(fieldsOf(e.obj))
}

// fieldsOf returns the fields that a field selector may name.
func fieldsOf(obj object) fields.Set {
	f := fields.Set{"metadata.name": obj.GetName(), "metadata.namespace": obj.GetNamespace()}
	switch o := obj.(type) {
	case *corev1.Pod:
		f["spec.nodeName"] = o.Spec.NodeName
		f["spec.schedulerName"] = o.Spec.SchedulerName
		f["spec.serviceAccountName"] = o.Spec.ServiceAccountName
		f["spec.restartPolicy"] = string(o.Spec.RestartPolicy)
		f["status.phase"] = string(o.Status.Phase)
		f["status.podIP"] = o.Status.PodIP
		f["status.nominatedNodeName"] = o.Status.NominatedNodeName
	case *corev1.Node:
		f["spec.unschedulable"] = strconv.FormatBool(o.Spec.Unschedulable)
	case *corev1.Namespace:
		f["status.phase"] = string(o.Status.Phase)
	case *corev1.Secret:
		f["type"] = string(o.Type)
	case *batchv1.Job:
		f["status.successful"] = strconv.Itoa(int(o.Status.Succeeded))
	case *corev1.Event:
		f["involvedObject.kind"] = o.InvolvedObject.Kind
		f["involvedObject.namespace"] = o.InvolvedObject.Namespace
		f["involvedObject.name"] = o.InvolvedObject.Name
		f["involvedObject.uid"] = string(o.InvolvedObject.UID)
		f["reason"] = o.Reason
		f["type"] = o.Type
		f["source"] = o.Source.Component
		f["reportingComponent"] = o.ReportingController
	}
	return f
}
