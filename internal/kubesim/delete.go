package kubesim

import (
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// deleteOptions reads the options from the body, or from the query as kubectl
// and curl give them.
func (q *call) deleteOptions() (*metav1.DeleteOptions, error) {
	opts := &metav1.DeleteOptions{}
	if len(q.body) > 0 {
		if err := json.Unmarshal(q.body, opts); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return opts, nil
	}
	if text := q.query.Get("gracePeriodSeconds"); text != "" {
		var grace int64
		if _, err := fmt.Sscan(text, &grace); err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("gracePeriodSeconds %q: %v", text, err))
		}
		opts.GracePeriodSeconds = &grace
	}
	if text := q.query.Get("propagationPolicy"); text != "" {
		policy := metav1.DeletionPropagation(text)
		opts.PropagationPolicy = &policy
	}
	opts.DryRun = q.query["dryRun"]
	return opts, nil
}

func (s *apiServer) serveDelete(q *call) (answer, error) {
	opts, err := q.deleteOptions()
	if err != nil {
		return answer{}, err
	}
	e, err := s.find(q)
	if err != nil {
		return answer{}, err
	}
	left, err := s.store.delete(e, opts)
	if err != nil {
		return answer{}, err
	}
	if s.store.table(e.kind).byKey[e.key] != nil || q.kind.resource == "pods" {
		return show(http.StatusOK, q.kind, left), nil
	}
	return status(metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusOK, Details: &metav1.StatusDetails{
		Name: q.name, Group: q.kind.group, Kind: q.kind.resource, UID: e.obj.GetUID(),
	}}), nil
}

func (s *apiServer) serveDeleteCollection(q *call) (answer, error) {
	opts, err := q.deleteOptions()
	if err != nil {
		return answer{}, err
	}
	sel, err := parseSelection(q)
	if err != nil {
		return answer{}, err
	}
	var doomed []*entry
	for _, e := range s.store.table(q.kind).inNamespace(q.namespace) {
		if sel.matches(e) {
			doomed = append(doomed, e)
		}
	}
	for _, e := range doomed {
		if _, err := s.store.delete(e, opts); err != nil {
			return answer{}, err
		}
	}
	return status(metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusOK}), nil
}

// delete deletes an object as the API server would: at once, or by marking it
// when a kubelet, a finalizer or its content must let go first. It returns the
// version that is left, or the last one.
func (s *store) delete(e *entry, opts *metav1.DeleteOptions) (*entry, error) {
	if err := unmetPrecondition(e, opts.Preconditions); err != nil {
		return nil, err
	}
	if len(opts.DryRun) > 0 {
		return e, nil
	}
	if opts.PropagationPolicy != nil && *opts.PropagationPolicy == metav1.DeletePropagationOrphan {
		s.orphan(e.obj.GetUID())
	}
	grace := graceOf(e.obj, opts.GracePeriodSeconds)
	if grace == 0 && len(e.obj.GetFinalizers()) == 0 && !namespaceInUse(e.obj) {
		return s.remove(e), nil
	}
	if e.obj.GetDeletionTimestamp() != nil {
		left := e.obj.GetDeletionGracePeriodSeconds()
		if left == nil || *left <= grace {
			return e, nil
		}
	}
	obj := e.obj.DeepCopyObject().(object)
	at := metav1.Time{Time: s.stamp().Add(time.Duration(grace) * time.Second)}
	obj.SetDeletionTimestamp(&at)
	obj.SetDeletionGracePeriodSeconds(&grace)
	if ns, ok := obj.(*corev1.Namespace); ok {
		ns.Status.Phase = corev1.NamespaceTerminating
	}
	if obj.GetGeneration() > 0 {
		obj.SetGeneration(obj.GetGeneration() + 1)
	}
	return s.replace(e, obj), nil
}

func unmetPrecondition(e *entry, p *metav1.Preconditions) error {
	if p == nil {
		return nil
	}
	if p.UID != nil && *p.UID != e.obj.GetUID() {
		return apierrors.NewConflict(e.kind.groupResource(), e.obj.GetName(),
			fmt.Errorf("Precondition failed: UID in precondition: %s, UID in object meta: %s", *p.UID, e.obj.GetUID()))
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != e.obj.GetResourceVersion() {
		return apierrors.NewConflict(e.kind.groupResource(), e.obj.GetName(),
			fmt.Errorf("Precondition failed: ResourceVersion in precondition: %s, ResourceVersion in object meta: %s", *p.ResourceVersion, e.obj.GetResourceVersion()))
	}
	return nil
}

// graceOf returns the seconds an object is given: only a pod that a node holds
// and that has not finished gets any.
func graceOf(obj object, asked *int64) int64 {
	pod, ok := obj.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" || finished(pod) {
		return 0
	}
	grace := int64(30)
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		grace = *pod.Spec.TerminationGracePeriodSeconds
	}
	if asked != nil {
		grace = *asked
	}
	if grace < 0 {
		return 1
	}
	return grace
}

// graceOver reports whether nothing but finalizers holds an object under deletion.
func graceOver(obj object) bool {
	left := obj.GetDeletionGracePeriodSeconds()
	return left == nil || *left == 0
}

// namespaceInUse reports whether an object is a namespace that its controller
// has not emptied yet.
func namespaceInUse(obj object) bool {
	ns, ok := obj.(*corev1.Namespace)
	return ok && len(ns.Spec.Finalizers) > 0
}
