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
	"sluice.dev/sluice/internal/imds"
)

// The codes of requests that got no answer. They are sluice's own: Azure had no say.
const (
	connectionLost = "ConnectionLost" // the request may have been carried out
	noAnswer       = "NoAnswerInTime" // the request may have been carried out
	unreachable    = "Unreachable"    // the request was not sent
	givenUp        = "GivenUp"        // this process ended it; it may have been carried out
	unreadable     = "UnreadableAnswer"
	noToken        = "NoToken"
	noMetadata     = "InstanceMetadata"
)

// unanswered tells in one sentence, without the request's address, why no answer could be had: the code and the words with the remedy. Host is
// whom the request was for, unless err knows better.
func unanswered(err error, host string) (code, message string) {
	code, message, remedy := broken(err, host)
	if remedy != "" {
		message += ": " + remedy
	}
	return code, message
}

// NoAnswer tells in one sentence, without a remedy, why a request to a host got no answer.
func NoAnswer(err error, host string) string {
	_, message, _ := broken(err, host)
	return message
}

func broken(err error, host string) (code, message, remedy string) {
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
		page *AnotherAnswer
	)
	switch {
	case errors.As(err, &page):
		return unreadable, page.Error(), ""
	case errors.As(err, &long):
		return unreadable, long.Error(), ""
	case errors.Is(err, context.Canceled):
		return givenUp, fmt.Sprintf("the request to %s was given up before an answer came", host), ""
	case errors.As(err, &cert):
		return unreachable, fmt.Sprintf("%s shows a TLS certificate that is not trusted (%v)", host, cert.Err),
			"add its CA to this machine's root certificates (SSL_CERT_FILE), or see to the way to it"
	case errors.As(err, &name):
		return unreachable, fmt.Sprintf("the name %s cannot be resolved", host), "see to the machine's DNS"
	case errors.As(err, &dial) && dial.Op == "dial" && !dial.Timeout():
		return unreachable, fmt.Sprintf("%s cannot be reached (%v)", host, innermost(dial)), "see to the machine's way to it"
	case errors.As(err, &dial) && dial.Op == "dial":
		return unreachable, fmt.Sprintf("%s cannot be reached in time", host), "see to the machine's way to it"
	case errors.As(err, &slow) && slow.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return noAnswer, fmt.Sprintf("%s gave no answer in time", host), ""
	case isSent, errors.As(err, &dial), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return connectionLost, fmt.Sprintf("the connection to %s was lost before an answer came", host), ""
	default:
		if why := imds.Undecodable(err); why != "" {
			return unreadable, fmt.Sprintf("an answer of %s could not be read: %s", host, why), ""
		}
		return unreadable, firstLine(err.Error()), ""
	}
}

// Silent says whether the other side gave no answer at all, until now.
func Silent(e *cloud.Error) bool {
	return e.Code == unreachable || e.Code == noAnswer || e.Code == connectionLost || e.Code == unansweredYet
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
