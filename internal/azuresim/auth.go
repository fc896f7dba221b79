package azuresim

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// ServicePrincipal is an application that signs in with a secret, with an
// assertion that one of its certificates signed or, federated, with somebody
// else's token.
type ServicePrincipal struct {
	TenantID     string
	ClientID     string
	ObjectID     string // "": derived from the client id
	Secret       string
	Certificates []*x509.Certificate   // with RSA keys
	Credentials  []FederatedCredential // whose tokens are accepted: workload identity
	Federated    bool                  // without Credentials any client assertion is accepted
}

// Identity is a user-assigned managed identity. A machine that names its ID gets
// tokens for it from its metadata service.
type Identity struct {
	ID       string // resource id
	TenantID string
	ClientID string
	ObjectID string // "": derived from the client id

	Credentials []FederatedCredential // whose tokens are accepted in its place: workload identity
}

// principal is whoever can hold a token. Machines' own identities become
// principals when they first ask for a token.
type principal struct {
	id                           string // resource id; "" for an application
	tenantID, clientID, objectID string
	secret                       string
	federated                    bool
	certificates                 []*x509.Certificate
	credentials                  []FederatedCredential
	denied                       []string  // actions, lower case; a trailing * is a wildcard
	created                      time.Time // zero: long ago
}

// directory is who can hold a token.
type directory []*principal

// AddServicePrincipal makes an application known to the token authority. It may
// do everything until Deny.
func (s *Server) AddServicePrincipal(p ServicePrincipal) error {
	return s.addPrincipal(principal{
		tenantID: p.TenantID, clientID: p.ClientID, objectID: p.ObjectID,
		secret: p.Secret, federated: p.Federated, certificates: p.Certificates, credentials: p.Credentials,
	})
}

// AddIdentity makes a user-assigned identity known. It may do everything until
// Deny.
func (s *Server) AddIdentity(i Identity) error {
	if i.ID == "" {
		return fmt.Errorf("add identity %q: its resource id is required", i.ClientID)
	}
	return s.addPrincipal(principal{id: i.ID, tenantID: i.TenantID, clientID: i.ClientID, objectID: i.ObjectID, credentials: i.Credentials})
}

func (s *Server) addPrincipal(p principal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.clientID == "" || p.tenantID == "" {
		return fmt.Errorf("add principal %q of tenant %q: client and tenant id are required", p.clientID, p.tenantID)
	}
	if s.store.principals.byClientID(p.clientID) != nil {
		return fmt.Errorf("add principal %q: it exists already", p.clientID)
	}
	if p.objectID == "" {
		p.objectID = guid(s.Seed, "object", p.clientID)
	}
	s.remember(s.now())
	s.store.principals = append(s.store.principals, &p)
	return nil
}

// Deny takes actions away from a principal, named as role definitions name them:
// "Microsoft.Compute/virtualMachineScaleSets/write"; a trailing * stands for
// everything below.
func (s *Server) Deny(clientID string, actions ...string) error {
	return s.Perform(Act{Do: "deny", Target: clientID, Actions: actions})
}

// Allow gives back the actions that Deny took, spelled the same; without actions
// all of them.
func (s *Server) Allow(clientID string, actions ...string) error {
	return s.Perform(Act{Do: "allow", Target: clientID, Actions: actions})
}

func (d directory) byClientID(id string) *principal {
	for _, p := range d {
		if strings.EqualFold(p.clientID, id) {
			return p
		}
	}
	return nil
}

// ofMachine is the system-assigned identity of a machine.
func (d *directory) ofMachine(seed uint64, tenantID string, c computer) *principal {
	clientID := guid(seed, "client", c.vmID)
	if p := d.byClientID(clientID); p != nil {
		return p
	}
	p := &principal{id: c.id, tenantID: tenantOf(seed, tenantID, c.subscription), clientID: clientID, objectID: guid(seed, "object", c.vmID), created: c.instance.created}
	*d = append(*d, p)
	return p
}

// claims is the payload of an access token. Tokens are not stored: the signature
// says that they are ours.
type claims struct {
	Audience string `json:"aud"`
	Issuer   string `json:"iss"`
	IssuedAt int64  `json:"iat"`
	Expires  int64  `json:"exp"`
	AppID    string `json:"appid"`
	ObjectID string `json:"oid"`
	TenantID string `json:"tid"`
}

func issueToken(seed uint64, p *principal, audience string, now time.Time, life time.Duration) string {
	header := `{"typ":"JWT","alg":"HS256"}`
	payload, _ := json.Marshal(claims{ // strings and numbers always encode
		Audience: audience, Issuer: "https://sts.windows.net/" + p.tenantID + "/",
		IssuedAt: now.Unix(), Expires: now.Add(life).Unix(),
		AppID: p.clientID, ObjectID: p.objectID, TenantID: p.tenantID,
	})
	enc := base64.RawURLEncoding
	signed := enc.EncodeToString([]byte(header)) + "." + enc.EncodeToString(payload)
	return signed + "." + sign(seed, signed)
}

func sign(seed uint64, text string) string {
	var key [8]byte
	binary.BigEndian.PutUint64(key[:], seed)
	mac := hmac.New(sha256.New, key[:])
	mac.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// verifiedToken is what the token said that came last: callers send the same one for a day.
type verifiedToken struct {
	token  string
	claims claims
	ours   bool
}

// read reads one of our tokens.
func (v *verifiedToken) read(token string, seed uint64) (claims, bool) {
	if v.token != token {
		v.token = token
		v.claims, v.ours = readToken(seed, token)
	}
	return v.claims, v.ours
}

func readToken(seed uint64, token string) (claims, bool) {
	var c claims
	dot := strings.LastIndexByte(token, '.')
	if dot < 0 || !hmac.Equal([]byte(token[dot+1:]), []byte(sign(seed, token[:dot]))) {
		return c, false
	}
	_, payload, _ := strings.Cut(token[:dot], ".")
	raw, err := base64.RawURLEncoding.DecodeString(payload)
	return c, err == nil && json.Unmarshal(raw, &c) == nil
}

// authenticate finds out who asks.
func (q *request) authenticate() *problem {
	s := q.server
	token, ok := strings.CutPrefix(q.http.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		return unauthorized("AuthenticationFailed", "Authentication failed. The 'Authorization' header is missing.")
	}
	c, ours := s.verified.read(token, s.Seed)
	if ours {
		q.principal = s.store.principals.byClientID(c.AppID)
	}
	switch {
	case s.AnyToken:
		return nil
	case q.principal == nil:
		return unauthorized("InvalidAuthenticationToken", "The access token is invalid.")
	case q.now.Unix() >= c.Expires:
		return unauthorized("ExpiredAuthenticationToken", fmt.Sprintf(
			"The access token expiry UTC time '%s' is earlier than current UTC time '%s'.",
			time.Unix(c.Expires, 0).UTC().Format("1/2/2006 3:04:05 PM"), q.now.Format("1/2/2006 3:04:05 PM")))
	case !acceptsAudience(q.base, q.server.Audiences, c.Audience):
		return unauthorized("InvalidAuthenticationTokenAudience", fmt.Sprintf(
			"The access token has been obtained for wrong audience or resource '%s'. It should exactly match with one of the allowed audiences '%s'.",
			c.Audience, strings.Join(audiences(q.base, q.server.Audiences), "','")))
	case s.TenantID != "" && !strings.EqualFold(c.TenantID, s.TenantID):
		return unauthorized("InvalidAuthenticationTokenTenant", fmt.Sprintf(
			"The access token is from the wrong issuer 'https://sts.windows.net/%s/'. It must match the tenant 'https://sts.windows.net/%s/' associated with this subscription. Please use the authority (URL) 'https://login.windows.net/%s' to get the token. Note, if the subscription is transferred to another tenant there is no impact to the services, but information about new tenant could take time to propagate (up to an hour). If you just transferred your subscription and see this error message, please try back later.",
			c.TenantID, s.TenantID, s.TenantID))
	}
	return nil
}

func unauthorized(code, message string) *problem {
	p := fail(http.StatusUnauthorized, code, "%s", message)
	p.header = http.Header{"Www-Authenticate": {fmt.Sprintf(
		`Bearer authorization_uri="https://login.windows.net/", error="invalid_token", error_description=%q`, message)}}
	return p
}
