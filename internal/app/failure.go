package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/doctor"
	"sluice.dev/sluice/internal/imds"
)

// failed is an error as sluice doctor judges it, nil for none.
func failed(err error) *doctor.Failure {
	if err == nil {
		return nil
	}
	return failure(err, err.Error())
}

func failure(err error, sentence string) *doctor.Failure {
	return &doctor.Failure{Kind: kindOf(err), Sentence: sentence}
}

// failedAt is the error of a request to an API server.
func failedAt(err error, server string) *doctor.Failure {
	f := failed(err)
	if f == nil {
		return nil
	}
	host := server
	if u, err := url.Parse(server); err == nil && u.Host != "" {
		host = u.Host
	}
	var status apierrors.APIStatus
	switch {
	case f.Kind == doctor.Foreign && errors.As(err, &status):
		f.Sentence = fmt.Sprintf("%s answers %d as no API server does: something between answers in its place", host, status.Status().Code)
	case f.Kind.Distant() && !errors.As(err, &status):
		f.Sentence = azure.NoAnswer(err, host)
	default:
		f.Sentence = strings.Join(strings.Fields(f.Sentence), " ")
	}
	return f
}

// kindOf says how something failed, by the innermost error that tells.
func kindOf(err error) doctor.FailureKind {
	var (
		name     *net.DNSError
		chain    *tls.CertificateVerificationError
		issuer   x509.UnknownAuthorityError
		dial     *net.OpError
		slow     net.Error
		sent     *url.Error
		another  *azure.AnotherAnswer
		machine  *imds.Error
		provider *cloud.Error
		status   apierrors.APIStatus
	)
	switch {
	case errors.As(err, &another):
		return doctor.Foreign
	case errors.As(err, &name):
		return doctor.NameUnresolved
	case errors.As(err, &chain), errors.As(err, &issuer):
		return doctor.Untrusted
	case errors.As(err, &dial) && dial.Op == "dial":
		return doctor.Unreachable
	case errors.As(err, &machine):
		return machineKind(machine)
	case errors.As(err, &provider):
		return providerKind(provider)
	case azure.Status(err) != 0:
		return statusKind(azure.Status(err))
	case errors.As(err, &status):
		if apierrors.IsUnexpectedServerError(err) && !apierrors.IsNotFound(err) { // an API server says that it does not know a path in plain text
			return doctor.Foreign
		}
		return statusKind(int(status.Status().Code))
	case errors.As(err, &slow) && slow.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return doctor.NoAnswer
	case errors.As(err, &dial), errors.As(err, &sent):
		return doctor.Unreachable
	}
	return doctor.Refused
}

func statusKind(status int) doctor.FailureKind {
	switch {
	case status == http.StatusUnauthorized:
		return doctor.Stranger
	case status == http.StatusForbidden:
		return doctor.Forbidden
	case status == http.StatusNotFound:
		return doctor.NotFound
	case status == http.StatusTooManyRequests:
		return doctor.Throttled
	case status >= 500:
		return doctor.Failing
	}
	return doctor.Refused
}

func machineKind(e *imds.Error) doctor.FailureKind {
	switch {
	case e.Status == 0:
		return doctor.Unreachable
	case e.Temporary():
		return doctor.Failing
	}
	return doctor.Refused
}

func providerKind(e *cloud.Error) doctor.FailureKind {
	switch e.Kind {
	case cloud.Unauthorized:
		return doctor.Forbidden
	case cloud.NotFound:
		return doctor.NotFound
	case cloud.Throttled:
		return doctor.Throttled
	case cloud.Unanswered:
		return doctor.NoAnswer
	case cloud.Transient:
		if azure.Silent(e) {
			return doctor.NoAnswer
		}
		return doctor.Failing
	}
	return doctor.Refused
}
