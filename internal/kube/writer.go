package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// What a [WriteError] can be, for [errors.Is]. One that is none of these is an answer that a later try may better.
var (
	ErrGone      = errors.New("it does not exist any more") // or another object has its name now
	ErrHeld      = errors.New("somebody cordoned it or annotated it to stay")
	ErrBudget    = errors.New("a disruption budget forbids it now")       // the message is the budget's
	ErrConflict  = errors.New("it is being changed by others")            // each of several tries met a newer version
	ErrForbidden = errors.New("sluice's service account lacks the right") // the ClusterRole needs the verb that Err names
)

// WriteError is the error of every method of [Writer].
type WriteError struct {
	Verb   string // "cordon", "uncordon", "mark", "soft-taint", "soft-untaint", "evict", "delete", "open the gate of", "answer" or "read"
	Object string // "node agents-1", "pod default/web-0"
	Kind   error  // one of the sentinels above; nil for any other failure
	Err    error  // what the API server or the connection said; nil when Kind says it all
}

// Error is such as "evict pod default/web-0: a disruption budget forbids it now: ...".
func (e *WriteError) Error() string {
	s := e.Verb + " " + e.Object
	if e.Kind != nil {
		s += ": " + e.Kind.Error()
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives both the kind and the cause.
func (e *WriteError) Unwrap() []error {
	var all []error
	for _, err := range []error{e.Kind, e.Err} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// failed makes the [*WriteError] for an answer; kind nil means that the answer tells.
func failed(verb, object string, kind, err error) error {
	if kind == nil && apierrors.IsForbidden(err) {
		kind = ErrForbidden
	}
	return &WriteError{Verb: verb, Object: object, Kind: kind, Err: err}
}

// Writer holds the only verbs by which sluice changes Kubernetes objects other than its own reports. Every method names its
// object by UID and does nothing to another one that has taken the name; each may be repeated. None waits for an effect, and
// none sleeps. Errors are [*WriteError]s.
type Writer struct {
	Client kubernetes.Interface
	Owner  string // what stands on nodes for their removal bears this name, in [cluster.OwnerAnnotation]; "" for none
	// Wrote is told of each write to a node that took effect, with the node's resource version after it; nil means that nobody asks.
	Wrote func(node, version string)
	// Still is asked before each write and each further try of an action that may have several; its error is returned, and ends it. Nil means that nobody asks.
	Still func() error
	// Lacks says whether a right is known to be missing; nil means that nobody knows, and what is refused tells.
	Lacks func(Right) bool
	// Stopped says of a node that is to be cordoned that its machine is switched off: a notice that stands on it has come true, and its agent takes nothing back.
	Stopped bool
}

// Evict asks for the pod's eviction, which disruption budgets may refuse: [ErrBudget]. It gives the containers grace to
// stop, rounded up to a second; negative means what the pod itself asks for. A pod that is gone is nil; one that is on its
// way out already is asked again.
func (w Writer) Evict(ctx context.Context, namespace, name string, uid types.UID, grace time.Duration) error {
	object := fmt.Sprintf("pod %s/%s", namespace, name)
	o := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(uid))}
	if grace >= 0 {
		o.GracePeriodSeconds = new(int64((grace + time.Second - 1) / time.Second))
	}
	// Not the client's own Evict: that sleeps and asks again, up to ten times, when a budget answers with Retry-After.
	err := w.Client.PolicyV1().RESTClient().Post().MaxRetries(0).
		AbsPath("/api/v1").Namespace(namespace).Resource("pods").Name(name).SubResource("eviction").
		Body(&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, DeleteOptions: &o}).
		Do(ctx).Error()
	switch {
	case err == nil || apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		p, getErr := w.Client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		return unless("evict", object, uid, p, getErr, ErrConflict, err)
	case apierrors.IsTooManyRequests(err) && apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause):
		// The budget is asked before the UID is compared.
		cause, _ := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause)
		p, getErr := w.Client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		return unless("evict", object, uid, p, getErr, ErrBudget, errors.New(cause.Message))
	}
	return failed("evict", object, nil, err)
}

// unless is nil when a read after a refusal finds that the object is gone or another has its name, and the refusal when it
// is still the one that was meant.
func unless(verb, object string, uid types.UID, now metav1.Object, getErr, kind, refusal error) error {
	switch {
	case apierrors.IsNotFound(getErr):
		return nil
	case getErr != nil:
		return failed(verb, object, nil, getErr)
	case now.GetUID() != uid:
		return nil
	}
	return failed(verb, object, kind, refusal)
}
