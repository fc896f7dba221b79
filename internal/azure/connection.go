package azure

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"syscall"

	"sluice.dev/sluice/cloud"
)

// The codes of requests that got no answer. They are sluice's own: Azure had no say.
const (
	connectionLost = "ConnectionLost" // the request may have been carried out
	noAnswer       = "NoAnswerInTime" // the request may have been carried out
	unreachable    = "Unreachable"    // the request was not sent
	givenUp        = "GivenUp"        // this process ended it; it may have been carried out
	unreadable     = "UnreadableAnswer"
)

// unanswered tells in one sentence, without the request's address, why no answer could be had: the code and the words. Host is whom
// the request was for, unless err knows better.
func unanswered(err error, host string) (code, message string) {
	var sent *url.Error
	isSent := errors.As(err, &sent)
	if isSent {
		host = hostOf(sent.URL)
	}
	var (
		name *net.DNSError
		dial *net.OpError
		slow net.Error
		cert *tls.CertificateVerificationError
		long *tooLongError
	)
	switch {
	case errors.As(err, &long):
		return unreadable, long.Error()
	case errors.Is(err, context.Canceled):
		return givenUp, fmt.Sprintf("the request to %s was given up before an answer came", host)
	case errors.As(err, &cert):
		return unreachable, fmt.Sprintf("%s shows a certificate that is not trusted (%v): see to the way to it and to the machine's root certificates", host, cert.Err)
	case errors.As(err, &name):
		return unreachable, fmt.Sprintf("the name %s cannot be resolved: see to the machine's DNS", host)
	case errors.As(err, &dial) && dial.Op == "dial" && !dial.Timeout():
		return unreachable, fmt.Sprintf("%s cannot be reached (%v): see to the machine's way to it", host, innermost(dial))
	case errors.As(err, &dial) && dial.Op == "dial":
		return unreachable, fmt.Sprintf("%s cannot be reached in time: see to the machine's way to it", host)
	case errors.As(err, &slow) && slow.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return noAnswer, fmt.Sprintf("%s gave no answer in time", host)
	case isSent, errors.As(err, &dial), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return connectionLost, fmt.Sprintf("the connection to %s was lost before an answer came", host)
	default:
		return unreadable, firstLine(err.Error())
	}
}

// outcomeUnknown says whether a write that ended with such an error may have been carried out.
func outcomeUnknown(e *cloud.Error) bool {
	return e.Code == connectionLost || e.Code == noAnswer || e.Code == givenUp || e.Code == unreadable
}

// hostOf is the host that an endpoint names.
func hostOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return endpoint
	}
	return u.Host
}

func innermost(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}
