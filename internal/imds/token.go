package imds

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const tokenVersion = "2018-02-01"

// Selector names the identity a token is for. At most one field is set; the zero Selector is the system-assigned identity or, without
// one, the only user-assigned.
type Selector struct {
	ClientID   string // of a user-assigned identity
	ResourceID string // of a user-assigned identity: /subscriptions/...
}

// String names the identity in a sentence.
func (s Selector) String() string {
	switch {
	case s.ClientID != "":
		return "the user-assigned identity with client id " + s.ClientID
	case s.ResourceID != "":
		return "the user-assigned identity " + s.ResourceID
	}
	return "the system-assigned identity"
}

// Token is a bearer token. It has no String method of its own and must not be logged.
type Token struct {
	Value string
	Life  time.Duration // from the moment of the answer
}

// Token asks for a token for a resource such as "https://management.azure.com". It asks once: the service keeps tokens until shortly
// before they end, so that asking again is cheap and the caller's next cycle does it. Every error is an [*Error].
func (c *Client) Token(ctx context.Context, resource string, who Selector) (Token, error) {
	q := url.Values{"api-version": {tokenVersion}, "resource": {resource}}
	if who.ClientID != "" {
		q.Set("client_id", who.ClientID)
	}
	if who.ResourceID != "" {
		q.Set("msi_res_id", who.ResourceID)
	}
	var w struct {
		Token     string `json:"access_token"`
		ExpiresIn string `json:"expires_in"`
	}
	if err := c.get(ctx, "/metadata/identity/oauth2/token", q, &w); err != nil {
		var e *Error
		if errors.As(err, &e) && e.Status == http.StatusBadRequest {
			return Token{}, &Error{Status: e.Status, Code: e.Code, Message: fmt.Sprintf("this machine has not got %s (%s): assign it to the machine or its scale set, or configure another", who, e.Message)}
		}
		return Token{}, err
	}
	seconds, err := strconv.Atoi(w.ExpiresIn)
	if err != nil || seconds <= 0 || w.Token == "" {
		return Token{}, &Error{Message: fmt.Sprintf("instance metadata gave a token for %s that cannot be used (expires_in %q)", who, w.ExpiresIn)}
	}
	return Token{Value: w.Token, Life: time.Duration(seconds) * time.Second}, nil
}
