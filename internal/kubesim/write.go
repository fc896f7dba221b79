package kubesim

import (
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// decode reads a request's body as an object of its kind, in stored form.
func (q *call) decode(body []byte) (object, error) {
	obj := q.kind.empty()
	if err := json.Unmarshal(body, obj); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", q.kind.name, q.kind.version, q.kind.name, err))
	}
	gvk := obj.GetObjectKind().GroupVersionKind()
	if want := (schema.GroupVersionKind{Group: q.kind.group, Version: q.kind.version, Kind: q.kind.name}); !gvk.Empty() && gvk != want {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the API version and kind in the data (%s) do not match the expected %s", gvk, want))
	}
	if q.kind.namespaced {
		if ns := obj.GetNamespace(); ns != "" && ns != q.namespace {
			return nil, apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
		}
		obj.SetNamespace(q.namespace)
	}
	return storedForm(obj), nil
}

func (s *apiServer) serveCreate(q *call) (answer, error) {
	obj, err := q.decode(q.body)
	if err != nil {
		return answer{}, err
	}
	if obj.GetResourceVersion() != "" {
		return answer{}, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	if q.dryRun() {
		if err := s.store.admit(q.kind.storage(), obj, false); err != nil {
			return answer{}, err
		}
		return show(http.StatusCreated, q.kind, &entry{kind: q.kind.storage(), obj: obj}), nil
	}
	e, err := s.store.create(q.kind.storage(), obj, false)
	if err != nil {
		return answer{}, err
	}
	q.name = e.obj.GetName()
	return show(http.StatusCreated, q.kind, e), nil
}

// create stores a new object, which the cluster then owns. The status that
// came with it stays only when the caller is not a client.
func (s *store) create(k *kind, obj object, keepStatus bool) (*entry, error) {
	if err := s.admit(k, obj, keepStatus); err != nil {
		return nil, err
	}
	return s.insert(k, obj), nil
}

// born creates an object that cannot be refused.
func (s *store) born(obj object) {
	if _, err := s.create(kindOf(obj), obj, true); err != nil {
		panic("kubesim: " + err.Error())
	}
}

// admit completes a new object and says whether it may be stored.
func (s *store) admit(k *kind, obj object, keepStatus bool) error {
	if obj.GetName() == "" && obj.GetGenerateName() != "" {
		obj.SetName(s.generatedName(k, obj.GetNamespace(), obj.GetGenerateName()))
	}
	if obj.GetName() == "" {
		return apierrors.NewInvalid(k.groupKind(), "", field.ErrorList{field.Required(field.NewPath("metadata", "name"), "name or generateName is required")})
	}
	if k.namespaced {
		if err := s.admitNamespace(k, obj); err != nil {
			return err
		}
	}
	if s.table(k).byKey[keyOf(obj)] != nil {
		return apierrors.NewAlreadyExists(k.groupResource(), obj.GetName())
	}
	obj.SetUID(s.nextUID(k.resource, keyOf(obj)))
	obj.SetCreationTimestamp(s.stamp())
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetGeneration(0)
	if k.generation {
		obj.SetGeneration(1)
	}
	if k.status && !keepStatus && k.resource != "nodes" {
		clearStatus(obj)
	}
	if err := s.complete(obj); err != nil {
		return err
	}
	if errs := validate(obj); len(errs) > 0 {
		return apierrors.NewInvalid(k.groupKind(), obj.GetName(), errs)
	}
	return nil
}

func (s *store) admitNamespace(k *kind, obj object) error {
	e := s.entryOf("namespaces", obj.GetNamespace())
	if e == nil {
		return apierrors.NewNotFound(corev1.Resource("namespaces"), obj.GetNamespace())
	}
	if e.obj.GetDeletionTimestamp() == nil {
		return nil
	}
	err := apierrors.NewForbidden(k.groupResource(), obj.GetName(),
		fmt.Errorf("unable to create new content in namespace %s because it is being terminated", obj.GetNamespace()))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: corev1.NamespaceTerminatingCause, Message: fmt.Sprintf("namespace %s is being terminated", obj.GetNamespace()), Field: "metadata.namespace",
	})
	return err
}

func (s *apiServer) serveUpdate(q *call) (answer, error) {
	obj, err := q.decode(q.body)
	if err != nil {
		return answer{}, err
	}
	if obj.GetName() != q.name {
		return answer{}, apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", obj.GetName(), q.name))
	}
	old, err := s.find(q)
	if err != nil {
		return answer{}, err
	}
	return s.serveNewVersion(q, old, obj)
}

// serveNewVersion ends an update or a patch.
func (s *apiServer) serveNewVersion(q *call, old *entry, obj object) (answer, error) {
	part := wholeObject
	if q.kind.status {
		part = allButStatus
	}
	if q.subresource == "status" {
		part = onlyStatus
	}
	if q.dryRun() {
		if _, err := s.store.revise(old, obj, part); err != nil {
			return answer{}, err
		}
		return show(http.StatusOK, q.kind, &entry{kind: old.kind, obj: obj}), nil
	}
	e, err := s.store.update(old, obj, part)
	if err != nil {
		return answer{}, err
	}
	return show(http.StatusOK, q.kind, e), nil
}

// update stores the next version of an object, which the cluster then owns.
// Nothing happens when nothing changed.
func (s *store) update(old *entry, obj object, part part) (*entry, error) {
	changed, err := s.revise(old, obj, part)
	if err != nil {
		return nil, err
	}
	if !changed {
		return old, nil
	}
	return s.succeed(old, obj), nil
}

// succeed stores the next version of an object, and removes one under deletion
// whose last finalizer went.
func (s *store) succeed(old *entry, obj object) *entry {
	e := s.replace(old, obj)
	if e.obj.GetDeletionTimestamp() != nil && len(e.obj.GetFinalizers()) == 0 && graceOver(e.obj) && !namespaceInUse(e.obj) {
		return s.remove(e)
	}
	return e
}

// revise makes obj a legal successor of old, or says why it is none; changed
// is false when they mean the same.
func (s *store) revise(old *entry, obj object, part part) (changed bool, err error) {
	k, was := old.kind, old.obj
	switch rv := obj.GetResourceVersion(); {
	case rv == "" && k.conditional:
		return false, apierrors.NewInvalid(k.groupKind(), obj.GetName(), field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), "", "must be specified for an update")})
	case rv != "" && rv != was.GetResourceVersion():
		return false, apierrors.NewConflict(k.groupResource(), obj.GetName(),
			fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
	}
	if uid := obj.GetUID(); uid != "" && uid != was.GetUID() {
		return false, apierrors.NewConflict(k.groupResource(), obj.GetName(),
			fmt.Errorf("Precondition failed: UID in precondition: %s, UID in object meta: %s", uid, was.GetUID()))
	}
	obj.SetUID(was.GetUID())
	obj.SetResourceVersion(was.GetResourceVersion())
	obj.SetCreationTimestamp(was.GetCreationTimestamp())
	obj.SetDeletionTimestamp(was.GetDeletionTimestamp())
	obj.SetDeletionGracePeriodSeconds(was.GetDeletionGracePeriodSeconds())
	obj.SetGenerateName(was.GetGenerateName())
	obj.SetGeneration(was.GetGeneration())
	obj.SetManagedFields(nil)
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	part.restrict(obj, was)
	if part != onlyStatus {
		if err := s.complete(obj); err != nil {
			return false, err
		}
		if errs := append(validate(obj), validateUpdate(obj, was)...); len(errs) > 0 {
			return false, apierrors.NewInvalid(k.groupKind(), obj.GetName(), errs)
		}
	}
	if equality.Semantic.DeepEqual(obj, was) {
		return false, nil
	}
	if k.generation && part != onlyStatus && specChanged(obj, was) {
		obj.SetGeneration(was.GetGeneration() + 1)
	}
	return true, nil
}
