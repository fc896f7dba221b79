package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// custom reads the objects of a custom resource, or some fields of one that is none, with the client that there is: as JSON, into structs that have the fields which
// decisions read. T is such a struct.
type custom[T any] struct {
	client kubernetes.Interface
	paths  []string // of all namespaces, by version: "/apis/GROUP/VERSION/RESOURCE"; the first that is served is read
	empty  func() object

	item, list string // the forms of objects that are asked for, as an Accept header names them; "" for whole ones
}

// customList is a list of a custom resource.
type customList[T any] struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []T `json:"items"`
}

// DeepCopyObject makes the list a runtime.Object; nobody copies lists.
func (l *customList[T]) DeepCopyObject() runtime.Object {
	own := *l
	return &own
}

func (c custom[T]) request(path string, o metav1.ListOptions, form string) *rest.Request {
	return c.client.CoreV1().RESTClient().Get().AbsPath(path).SetHeader("Accept", cmp.Or(form, wholeObjects)).VersionedParams(&o, scheme.ParameterCodec)
}

// firstServed tries one version after the other for as long as the API server knows nothing of it. The error is that of the last one tried.
func firstServed(paths []string, try func(path string) error) error {
	var err error
	for _, path := range paths {
		if err = try(path); !apierrors.IsNotFound(err) {
			break
		}
	}
	return err
}

// List reads one page.
func (c custom[T]) List(ctx context.Context, o metav1.ListOptions) (*customList[T], error) {
	l := &customList[T]{}
	return l, firstServed(c.paths, func(path string) error {
		raw, err := c.request(path, o, c.list).DoRaw(ctx)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(raw, l); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		return nil
	})
}

// Watch opens a watch.
func (c custom[T]) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	o.Watch = true
	var body io.ReadCloser
	err := firstServed(c.paths, func(path string) (err error) {
		body, err = c.request(path, o, c.item).Stream(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return watch.NewStreamWatcher(&frames{body: body, from: json.NewDecoder(body), empty: c.empty}, apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding")), nil
}

// frames are the events of a watch as they come, one JSON document each.
type frames struct {
	body  io.ReadCloser
	from  *json.Decoder
	empty func() object
}

// Decode waits for the next event.
func (f *frames) Decode() (watch.EventType, runtime.Object, error) {
	var next struct {
		Type   watch.EventType `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := f.from.Decode(&next); err != nil {
		return "", nil, err
	}
	switch next.Type {
	case watch.Error:
		s := &metav1.Status{}
		return next.Type, s, json.Unmarshal(next.Object, s)
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
		o := f.empty()
		return next.Type, o, json.Unmarshal(next.Object, o)
	}
	return "", nil, errors.New("a watch said " + string(next.Type))
}

// Close ends the watch.
func (f *frames) Close() { _ = f.body.Close() }
