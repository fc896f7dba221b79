package kube

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Plain is an error of a request to the API server in words for people: what Go's network and JSON packages say of themselves, an address with it, is
// replaced by what happened. The error wraps err. What it has no words for, and nil, it returns as it is.
func Plain(err error) error {
	if err == nil {
		return nil
	}
	what, inner := happened(err)
	if what == "" {
		return err
	}
	said := err.Error()
	if inner != nil && strings.Contains(said, inner.Error()) {
		return &plain{strings.Replace(said, inner.Error(), what, 1), err}
	}
	return &plain{what, err}
}

// plain is an error in other words.
type plain struct {
	words string
	err   error
}

func (p *plain) Error() string { return p.words }
func (p *plain) Unwrap() error { return p.err }

// happened says what lies behind an error, and which error in it the words replace; "" for one that has words of its own.
func happened(err error) (what string, inner error) {
	var request *url.Error
	host := "the API server"
	if errors.As(err, &request) {
		inner = request
		if u, no := url.Parse(request.URL); no == nil && u.Host != "" {
			host += " at " + u.Host
		}
	}
	var name *net.DNSError
	var timeout net.Error
	var answer apierrors.APIStatus
	switch {
	case errors.As(err, &answer):
		if s := answer.Status(); ofProxy(s.Details) || strings.Contains(s.Message, "<html") {
			return "a proxy answers in the API server's place (" + cmp.Or(string(s.Reason), "without a reason") + ")", errors.New(s.Message)
		}
		return "", nil
	case errors.Is(err, context.DeadlineExceeded):
		if inner == nil {
			inner = context.DeadlineExceeded
		}
		return host + " did not answer in time", inner
	case errors.As(err, &name):
		return "the name " + name.Name + " of the API server cannot be resolved", cmp.Or(inner, error(name))
	case errors.As(err, &timeout) && timeout.Timeout():
		return host + " did not answer in time", cmp.Or(inner, error(timeout))
	case inner != nil && errors.Is(err, syscall.ECONNREFUSED):
		return host + " refuses the connection", inner
	case inner != nil && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)):
		return "the connection to " + host + " was lost", inner
	}
	return "", nil
}

// ofProxy says whether an answer was none of the API server's own.
func ofProxy(d *metav1.StatusDetails) bool {
	if d == nil {
		return false
	}
	for _, c := range d.Causes {
		if c.Type == metav1.CauseTypeUnexpectedServerResponse && strings.Contains(strings.ToLower(c.Message), "<html") {
			return true
		}
	}
	return false
}
