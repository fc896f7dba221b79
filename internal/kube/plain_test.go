package kube_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/sluice/internal/kube"
)

// TestErrorsOfRequestsAreToldInPlainWords wants neither Go's words nor an address of a request in what people read, and the error kept behind it.
func TestErrorsOfRequestsAreToldInPlainWords(t *testing.T) {
	request := func(err error) error {
		return &url.Error{Op: "Patch", URL: "https://10.0.0.1:6443/api/v1/nodes/a", Err: err}
	}
	pages := apierrors.NewGenericServerResponse(502, "patch", schema.GroupResource{Resource: "nodes"}, "a", "<html><body>bad gateway</body></html>", 0, true)
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, "a")
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"no answer in time":        {fmt.Errorf("cordon node a: %w", request(context.DeadlineExceeded)), "cordon node a: the API server at 10.0.0.1:6443 did not answer in time"},
		"no time is left":          {fmt.Errorf("cordon node a: %w", context.DeadlineExceeded), "cordon node a: the API server did not answer in time"},
		"nobody listens":           {request(&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}), "the API server at 10.0.0.1:6443 refuses the connection"},
		"the connection breaks":    {request(syscall.ECONNRESET), "the connection to the API server at 10.0.0.1:6443 was lost"},
		"the name is unknown":      {request(&net.DNSError{Err: "no such host", Name: "api.farm"}), "the name api.farm of the API server cannot be resolved"},
		"a proxy answers":          {fmt.Errorf("cordon node a: %w", pages), "cordon node a: a proxy answers in the API server's place (InternalError)"},
		"the API server's own":     {gone, gone.Error()},
		"what has no words but so": {errors.New("node a is held"), "node a is held"},
	} {
		got := kube.Plain(c.err)
		if got.Error() != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if !errors.Is(got, c.err) {
			t.Errorf("%s: the error is lost", name)
		}
	}
	if kube.Plain(nil) != nil {
		t.Error("no error became one")
	}
}
