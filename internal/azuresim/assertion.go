package azuresim

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // certificates are named by their SHA-1 thumbprint
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// FederatedCredential says whose tokens an application or identity accepts in
// the place of a secret: workload identity.
type FederatedCredential struct {
	Issuer   string
	Subject  string         // "system:serviceaccount:kube-system:sluice"
	Audience string         // "": api://AzureADTokenExchange
	Key      *rsa.PublicKey // that the issuer signs with, RS256; nil: its signature is not looked at
}

// jwt is a JSON web token taken apart.
type jwt struct {
	header struct {
		Algorithm string   `json:"alg"`
		SHA1      string   `json:"x5t"`
		SHA256    string   `json:"x5t#S256"`
		Chain     []string `json:"x5c"`
	}
	claims struct {
		Issuer    string   `json:"iss"`
		Subject   string   `json:"sub"`
		Audience  audience `json:"aud"`
		Expires   int64    `json:"exp"`
		NotBefore int64    `json:"nbf"`
		ID        string   `json:"jti"`
	}
	signed    string
	signature []byte
}

// audience is a string or a list of them.
type audience []string

func (a *audience) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*a = audience{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(a))
}

// parseJWT reports false for what is no token.
func parseJWT(token string) (*jwt, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, false
	}
	t := &jwt{signed: parts[0] + "." + parts[1]}
	for n, into := range []any{&t.header, &t.claims} {
		raw, err := base64.RawURLEncoding.DecodeString(parts[n])
		if err != nil || json.Unmarshal(raw, into) != nil {
			return nil, false
		}
	}
	var err error
	t.signature, err = base64.RawURLEncoding.DecodeString(parts[2])
	return t, err == nil
}

// signedBy verifies an RS256 or PS256 signature.
func (t *jwt) signedBy(key *rsa.PublicKey) bool {
	sum := sha256.Sum256([]byte(t.signed))
	switch t.header.Algorithm {
	case "RS256":
		return rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], t.signature) == nil
	case "PS256":
		return rsa.VerifyPSS(key, crypto.SHA256, sum[:], t.signature, nil) == nil
	}
	return false
}

// checkAssertion refuses a client assertion that neither a registered certificate
// signed nor a federated credential describes. A zero answer accepts it. Its times
// are not looked at by a server with AnyToken, whose clock is not the client's.
func checkAssertion(p *principal, assertion, base string, anyTime bool, now time.Time) *answer {
	if p.federated && len(p.credentials) == 0 {
		return nil // any will do
	}
	t, ok := parseJWT(assertion)
	switch {
	case !ok:
		return signInRefused(50027, "JWT token is invalid or malformed.")
	case !anyTime && (now.Unix() >= t.claims.Expires || now.Unix() < t.claims.NotBefore-5*60):
		return signInRefused(700024, "Client assertion is not within its valid time range. Current time: "+now.Format(time.RFC3339)+
			", assertion valid from "+time.Unix(t.claims.NotBefore, 0).UTC().Format(time.RFC3339)+
			", expiry time of assertion "+time.Unix(t.claims.Expires, 0).UTC().Format(time.RFC3339)+".")
	case len(p.credentials) > 0 && t.claims.Issuer != p.clientID:
		return checkFederated(p, t)
	}
	return checkCertificate(base, p, t)
}

// checkFederated looks for the credential that describes a token of another
// issuer: first its issuer, then subject, then audience, as the authority does.
func checkFederated(p *principal, t *jwt) *answer {
	left := p.credentials
	for _, test := range []struct {
		number int
		name   string
		value  string
		fits   func(FederatedCredential) bool
	}{
		{700211, "issuer", t.claims.Issuer, func(c FederatedCredential) bool { return c.Issuer == t.claims.Issuer }},
		{700213, "subject", t.claims.Subject, func(c FederatedCredential) bool { return c.Subject == t.claims.Subject }},
		{700212, "audience", strings.Join(t.claims.Audience, ","), func(c FederatedCredential) bool { return slices.Contains(t.claims.Audience, c.audience()) }},
	} {
		left = slices.DeleteFunc(slices.Clone(left), func(c FederatedCredential) bool { return !test.fits(c) })
		if len(left) == 0 {
			return signInRefused(test.number, "No matching federated identity record found for presented assertion "+test.name+" '"+test.value+
				"'. Check your federated identity credential Subject, Audience and Issuer against the presented assertion.")
		}
	}
	if key := left[0].Key; key != nil && !t.signedBy(key) {
		return signInRefused(7000272, "The assertion's signature could not be verified with the issuer's keys.")
	}
	return nil
}

func (c FederatedCredential) audience() string {
	if c.Audience == "" {
		return "api://AzureADTokenExchange"
	}
	return c.Audience
}

// checkCertificate verifies an assertion that the application signed itself.
func checkCertificate(base string, p *principal, t *jwt) *answer {
	toAuthority := func(a string) bool { return within(a, base) }
	switch {
	case t.claims.Issuer != p.clientID || t.claims.Subject != p.clientID:
		return signInRefused(700021, "Client assertion application identifier doesn't match 'client_id' parameter.")
	case !slices.ContainsFunc(t.claims.Audience, toAuthority):
		return signInRefused(700023, "Client assertion audience claim does not match Realm issuer.")
	case t.claims.ID == "":
		return signInRefused(50027, "JWT token is invalid or malformed: it has no 'jti'.")
	}
	at := slices.IndexFunc(p.certificates, t.names)
	if at < 0 {
		return signInRefused(700027, "The certificate with identifier used to sign the client assertion is not registered on application. [Reason - The key was not found., Thumbprint of key used by client: '"+t.thumbprint()+"'.]")
	}
	if key, ok := p.certificates[at].PublicKey.(*rsa.PublicKey); !ok || !t.signedBy(key) {
		return signInRefused(700027, "Client assertion failed signature validation. [Reason - The key used is invalid., Thumbprint of key used by client: '"+t.thumbprint()+"'.]")
	}
	return nil
}

// names reports whether a token says that it is signed with a certificate. A
// chain that it brings along must begin with it.
func (t *jwt) names(c *x509.Certificate) bool {
	old, sum := sha1.Sum(c.Raw), sha256.Sum256(c.Raw) //nolint:gosec // a name, not a proof
	if len(t.header.Chain) > 0 && t.header.Chain[0] != base64.StdEncoding.EncodeToString(c.Raw) {
		return false
	}
	return bytes.Equal(thumbprint(t.header.SHA1), old[:]) || bytes.Equal(thumbprint(t.header.SHA256), sum[:])
}

// thumbprint decodes either base64 alphabet, padded or not: clients use all of
// them.
func thumbprint(text string) []byte {
	text = strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(text, "="))
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return raw
}

func (t *jwt) thumbprint() string {
	name := t.header.SHA1
	if name == "" {
		name = t.header.SHA256
	}
	return strings.ToUpper(hex.EncodeToString(thumbprint(name)))
}

func signInRefused(number int, text string) *answer {
	a := signInFailed(http.StatusUnauthorized, "invalid_client", number, text)
	return &a
}
