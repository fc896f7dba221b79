package imds

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The api-versions of the service and of what platforms offer in its place.
const (
	tokenVersion    = "2018-02-01"
	platformVersion = "2019-08-01"
)

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
	return "the machine's managed identity" // nobody tells which one that is
}

// missing says that a machine has not got the identity.
func (s Selector) missing() string {
	if s == (Selector{}) {
		return "this machine has no managed identity, or several and no system-assigned one"
	}
	return "this machine has not got " + s.String()
}

// Token is a bearer token. It has no String method of its own and must not be logged.
type Token struct {
	Value    string
	Life     time.Duration // from the moment of the answer
	ClientID string        // of the identity the token is for; "" when the answer does not tell
}

// Token asks for a token for a resource such as "https://management.azure.com". It asks once: the service keeps tokens until shortly
// before they end, so that asking again is cheap and the caller's next cycle does it. Every error is an [*Error].
func (c *Client) Token(ctx context.Context, resource string, who Selector) (Token, error) {
	q := url.Values{"api-version": {tokenVersion}, "resource": {resource}}
	if who.ClientID != "" {
		q.Set("client_id", who.ClientID)
	}
	var w struct {
		Token     string   `json:"access_token"`
		ClientID  string   `json:"client_id"`
		ExpiresIn lifetime `json:"expires_in"`
		ExpiresOn lifetime `json:"expires_on"` // Unix time; all that platforms tell
	}
	var err error
	if c.IdentityEndpoint == "" {
		if who.ResourceID != "" {
			q.Set("msi_res_id", who.ResourceID)
		}
		err = c.get(ctx, "/metadata/identity/oauth2/token", q, &w)
	} else {
		q.Set("api-version", platformVersion)
		if who.ResourceID != "" {
			q.Set("mi_res_id", who.ResourceID)
		}
		err = c.ask(ctx, c.IdentityEndpoint, http.Header{"X-Identity-Header": {c.IdentityHeader}}, q, &w)
	}
	if err != nil {
		var e *Error
		if errors.As(err, &e) && e.Status == http.StatusBadRequest {
			return Token{}, &Error{Status: e.Status, Code: e.Code, Message: who.missing() + " (" + e.Message + "): assign it to the machine or its scale set, or configure another"}
		}
		return Token{}, err
	}
	seconds := int64(w.ExpiresIn)
	if seconds == 0 && w.ExpiresOn > 0 {
		seconds = int64(w.ExpiresOn) - time.Now().Unix()
	}
	if seconds <= 0 || w.Token == "" {
		return Token{}, &Error{Message: fmt.Sprintf("instance metadata gave a token for %s that cannot be used (%d seconds to live)", who, seconds)}
	}
	return Token{Value: w.Token, Life: time.Duration(seconds) * time.Second, ClientID: w.ClientID}, nil
}

// lifetime is a number of seconds that comes as a string or as a number; anything else is 0.
type lifetime int64

// UnmarshalJSON never fails: a token without a life is refused by its value.
func (l *lifetime) UnmarshalJSON(raw []byte) error {
	n, _ := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 64)
	*l = lifetime(min(max(n, 0), math.MaxInt32*4))
	return nil
}
