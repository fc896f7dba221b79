package azure

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"
)

func TestARequestWithoutAnAnswerIsToldInOneSentence(t *testing.T) {
	sent := func(err error) error {
		return fmt.Errorf("policy: %w", &url.Error{Op: "Patch", URL: "https://management.azure.com/subscriptions/0000/resourceGroups/Farm?api-version=1", Err: err})
	}
	dial := func(err error) error { return sent(&net.OpError{Op: "dial", Net: "tcp", Err: err}) }
	for name, tc := range map[string]struct {
		err           error
		code, message string
	}{
		"the connection ends":           {sent(io.ErrUnexpectedEOF), "ConnectionLost", "the connection to management.azure.com was lost before an answer came"},
		"the connection is reset":       {sent(&net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}), "ConnectionLost", "the connection to management.azure.com was lost before an answer came"},
		"the answer breaks off":         {fmt.Errorf("body: %w", io.ErrUnexpectedEOF), "ConnectionLost", "the connection to arm.example was lost before an answer came"},
		"the request takes too long":    {sent(context.DeadlineExceeded), "NoAnswerInTime", "management.azure.com gave no answer in time"},
		"this process stops":            {sent(context.Canceled), "GivenUp", "the request to management.azure.com was given up before an answer came"},
		"nobody listens":                {dial(syscall.ECONNREFUSED), "Unreachable", "management.azure.com cannot be reached (connection refused): see to the machine's way to it"},
		"the way is silent":             {dial(context.DeadlineExceeded), "Unreachable", "management.azure.com cannot be reached in time: see to the machine's way to it"},
		"the name is unknown":           {dial(&net.DNSError{Err: "no such host", Name: "management.azure.com"}), "Unreachable", "the name management.azure.com cannot be resolved: see to the machine's DNS"},
		"the certificate is not good":   {sent(&tls.CertificateVerificationError{Err: errors.New("unknown authority")}), "Unreachable", "management.azure.com shows a TLS certificate that is not trusted (unknown authority): add its CA to this machine's root certificates (SSL_CERT_FILE), or see to the way to it"},
		"the answer is no JSON at all":  {errors.New("invalid character '<'\nmore"), "UnreadableAnswer", "an answer of arm.example could not be read: it is a page (HTML) and not JSON"},
		"the answer links to elsewhere": {errors.New("Azure's answer links to host \"a\""), "UnreadableAnswer", "Azure's answer links to host \"a\""},
	} {
		t.Run(name, func(t *testing.T) {
			code, message := unanswered(tc.err, "arm.example")
			if code != tc.code || message != tc.message {
				t.Errorf("%s: %s\nwant %s: %s", code, message, tc.code, tc.message)
			}
			if strings.Contains(message, "subscriptions") {
				t.Errorf("the sentence shows the request's address: %s", message)
			}
		})
	}
}
