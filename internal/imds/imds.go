// Package imds asks a machine on Azure who it is: the instance metadata service says which subscription, resource group and scale
// set it belongs to, and gives tokens for its identities.
//
// The service is reached without a proxy, answers five requests a second, and is away for up to 70 seconds while the platform updates it.
package imds

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// DefaultEndpoint is where every machine on Azure finds the service.
const DefaultEndpoint = "http://169.254.169.254"

// Client asks the instance metadata service. The zero value is ready; a Client is safe for concurrent use and its fields are not
// changed after the first request.
type Client struct {
	Endpoint  string            // "" means DefaultEndpoint; without a trailing slash
	Transport http.RoundTripper // nil means a direct one: the service refuses requests that went through a proxy

	// IdentityEndpoint and IdentityHeader are where tokens come from instead, as platforms such as App Service set them in
	// IDENTITY_ENDPOINT and IDENTITY_HEADER; "" is the service itself. The header is a secret.
	IdentityEndpoint, IdentityHeader string

	Within time.Duration // how long one request is waited for; 0 means ten seconds
	Log    *slog.Logger  // is told of each wait for a service that is busy; nil means nobody
}

// Error is a refusal or a failure to answer. Its text is one sentence that says what to do.
type Error struct {
	Status  int    // of the HTTP answer, 0 when there was none
	Code    string // the service's own word, such as "invalid_request"
	Message string
	Remedy  string // "" when Message has it, or there is none
}

// Error is the sentence, with its remedy.
func (e *Error) Error() string {
	if e.Remedy == "" {
		return e.Message
	}
	return e.Message + ": " + e.Remedy
}

// Temporary says whether the same question may be answered later.
func (e *Error) Temporary() bool {
	return e.Status == 0 || e.Status == http.StatusGone || e.Status == http.StatusTooManyRequests || e.Status >= 500
}

// direct never asks a proxy, and gives up on a machine that is not on Azure in seconds.
var direct = &http.Transport{Proxy: nil, ResponseHeaderTimeout: 10 * time.Second, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute}

// tryTimeout bounds one request: off Azure the address swallows packets without an answer.
const tryTimeout = 10 * time.Second

// maxAnswer is far above the longest document of the service, which describes one machine.
const maxAnswer = 1 << 20

func (c *Client) endpoint() string {
	if c.Endpoint == "" {
		return DefaultEndpoint
	}
	return strings.TrimSuffix(c.Endpoint, "/")
}

// get asks the service once and decodes a JSON answer into out. Every error is an [*Error].
func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	return c.ask(ctx, c.endpoint()+path, http.Header{"Metadata": {"true"}}, query, out)
}

func (c *Client) ask(ctx context.Context, address string, header http.Header, query url.Values, out any) error {
	return c.send(ctx, http.MethodGet, address, header, query, nil, out)
}

// send makes one request. A nil out leaves the answer's body unread.
func (c *Client) send(ctx context.Context, method, address string, header http.Header, query url.Values, body io.Reader, out any) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.Within, tryTimeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address+"?"+query.Encode(), body)
	if err != nil {
		return &Error{Message: fmt.Sprintf("the metadata endpoint %q is not a URL: %v", address, err)}
	}
	req.Header = header
	transport := c.Transport
	if transport == nil {
		transport = direct
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		why := err.Error()
		if errors.Is(err, context.DeadlineExceeded) {
			why = "nothing came in time"
		}
		return &Error{
			Message: fmt.Sprintf("instance metadata at %s does not answer (%s)", origin(req.URL), why),
			Remedy:  "run on a machine on Azure, or set ARM_SUBSCRIPTION_ID, ARM_RESOURCE_GROUP and a service principal (ARM_TENANT_ID, ARM_CLIENT_ID, ARM_CLIENT_SECRET)",
		}
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return &Error{Message: fmt.Sprintf("instance metadata at %s broke off its answer: %v", origin(req.URL), err)}
	}
	if len(said) > maxAnswer {
		return &Error{Message: fmt.Sprintf("instance metadata at %s answers with more than %d MB, which the service never does: see to what answers there", origin(req.URL), maxAnswer>>20)}
	}
	if resp.StatusCode != http.StatusOK {
		return refusal(resp.StatusCode, said)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(said, out); err != nil {
		return &Error{Message: fmt.Sprintf("instance metadata at %s gives an answer that cannot be read: %s", origin(req.URL), cmp.Or(Undecodable(err), "it is not JSON"))}
	}
	return nil
}

// origin is where a request went, without its path.
func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

// refusal reads the service's {"error","error_description"}.
func refusal(status int, body []byte) *Error {
	var said struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	_ = json.Unmarshal(body, &said) // an answer that is no JSON is worth its status alone
	text := said.Description
	if text == "" {
		text = said.Error
	}
	if text == "" {
		text = http.StatusText(status)
	}
	return &Error{Status: status, Code: said.Error, Message: fmt.Sprintf("instance metadata refused with %d: %s", status, text)}
}
