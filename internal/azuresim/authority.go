package azuresim

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// authorityPaths are the paths of the token authority below a tenant, and of
// Resource Manager's description of the cloud. The tenant adfs is Active Directory
// Federation Services, as Azure Stack Hub has it.
var authorityPaths = map[string]struct {
	kind   string
	handle func(*request, string) answer
}{
	"v2.0/.well-known/openid-configuration": {"GET openid-configuration", openID},
	".well-known/openid-configuration":      {"GET openid-configuration", openID},
	"oauth2/v2.0/token":                     {"POST token", token},
	"oauth2/token":                          {"POST token", token},
	"discovery/v2.0/keys":                   {"GET keys", keys},
	"discovery/keys":                        {"GET keys", keys},
	"discovery/instance":                    {"GET discovery/instance", instanceDiscovery},
}

// authority answers what needs no token: the token authority and Resource
// Manager's description of the cloud. It reports false for other paths.
func (q *request) authority() (answer, bool) {
	tenant, rest, _ := strings.Cut(strings.Trim(q.http.URL.Path, "/"), "/")
	if strings.EqualFold(tenant, "subscriptions") {
		return answer{}, false
	}
	row, ok := authorityPaths[strings.ToLower(rest)]
	if strings.EqualFold(tenant+"/"+rest, "metadata/endpoints") {
		row.kind, row.handle, ok = "GET metadata/endpoints", endpoints, true
	}
	if !ok {
		return answer{}, false
	}
	q.route.kind = row.kind
	q.strike()
	if a, ok := q.faulted(); ok {
		return a, true
	}
	if method, _, _ := strings.Cut(q.route.kind, " "); q.http.Method != method {
		return methodNotAllowed(q.http.Method).answer(), true
	}
	return q.skewed(func() answer { return row.handle(q, tenant) }), true
}

// openID describes a tenant's authority, in its version 2.0 or 1 form.
func openID(q *request, tenant string) answer {
	root, version := q.base+"/"+tenant, ""
	if strings.Contains(strings.ToLower(q.http.URL.Path), "/v2.0/") {
		version = "/v2.0"
	}
	return answer{status: http.StatusOK, body: map[string]any{
		"issuer":                                root + version,
		"authorization_endpoint":                root + "/oauth2" + version + "/authorize",
		"token_endpoint":                        root + "/oauth2" + version + "/token",
		"device_authorization_endpoint":         root + "/oauth2" + version + "/devicecode",
		"jwks_uri":                              root + "/discovery" + version + "/keys",
		"token_endpoint_auth_methods_supported": []string{"client_secret_post", "private_key_jwt"},
		"response_types_supported":              []string{"code", "id_token"},
		"subject_types_supported":               []string{"pairwise"},
	}}
}

// keys are those that tokens are signed with: none, for Resource Manager alone
// reads them.
func keys(*request, string) answer {
	return answer{status: http.StatusOK, body: map[string]any{"keys": []any{}}}
}

// instanceDiscovery tells a client that this authority is one of Azure's.
func instanceDiscovery(q *request, tenant string) answer {
	host := strings.TrimPrefix(strings.TrimPrefix(q.base, "https://"), "http://")
	return answer{status: http.StatusOK, body: map[string]any{
		"tenant_discovery_endpoint": q.base + "/" + tenant + "/v2.0/.well-known/openid-configuration",
		"api-version":               "1.1",
		"metadata":                  []any{map[string]any{"preferred_network": host, "preferred_cache": host, "aliases": []string{host}}},
	}}
}

// tokenBody is the authority's answer. Version 2.0 and ADFS have numbers.
type tokenBody struct {
	TokenType    string `json:"token_type"`
	ExpiresIn    int64  `json:"expires_in"`
	ExtExpiresIn int64  `json:"ext_expires_in"`
	AccessToken  string `json:"access_token"`
}

// signInError is the authority's error. It is not Resource Manager's envelope.
type signInError struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
	Codes       []int  `json:"error_codes,omitempty"`
}

func signInFailed(status int, code string, number int, text string) answer {
	return answer{status: status, body: signInError{code, "AADSTS" + strconv.Itoa(number) + ": " + text, []int{number}}}
}

// applicationTokenLife is how long an application's token is good.
const applicationTokenLife = time.Hour

// token grants client credentials: a secret, an assertion that a registered
// certificate signed, or that of a federated identity.
func token(q *request, tenant string) answer {
	form, err := url.ParseQuery(string(q.body))
	if err != nil || form.Get("grant_type") != "client_credentials" {
		return signInFailed(http.StatusBadRequest, "unsupported_grant_type", 70003, "The app requested an unsupported grant type '"+form.Get("grant_type")+"'.")
	}
	id := form.Get("client_id")
	adfs := strings.EqualFold(tenant, "adfs")
	p := q.store.principals.byClientID(id)
	if p == nil || !adfs && !strings.EqualFold(p.tenantID, tenant) {
		return signInFailed(http.StatusBadRequest, "unauthorized_client", 700016,
			"Application with identifier '"+id+"' was not found in the directory '"+tenant+"'.")
	}
	q.principal = p
	if refusal := checkCredential(p, form, q.base, q.server.AnyToken, q.now); refusal != nil {
		return *refusal
	}
	audience := form.Get("resource") // versions before 2.0, and ADFS
	for _, scope := range strings.Fields(form.Get("scope")) {
		if resource, ok := strings.CutSuffix(scope, "/.default"); ok { // MSAL adds openid and others
			audience = resource
		}
	}
	if audience == "" {
		return signInFailed(http.StatusBadRequest, "invalid_scope", 1002012,
			"The provided value for scope "+form.Get("scope")+" is not valid. Client credential flows must have a scope value with /.default suffixed to the resource identifier (application ID URI).")
	}
	access, life := issueToken(q.server.Seed, p, audience, q.now, applicationTokenLife), int64(applicationTokenLife/time.Second)-1
	if adfs || strings.Contains(strings.ToLower(q.http.URL.Path), "/v2.0/") {
		return answer{status: http.StatusOK, body: tokenBody{TokenType: "Bearer", ExpiresIn: life, ExtExpiresIn: life, AccessToken: access}}
	}
	return answer{status: http.StatusOK, body: machineTokenBody{
		AccessToken: access, ClientID: p.clientID, ExpiresIn: strconv.FormatInt(life, 10), ExtExpiresIn: strconv.FormatInt(life, 10),
		ExpiresOn: strconv.FormatInt(q.now.Add(applicationTokenLife).Unix(), 10), NotBefore: strconv.FormatInt(q.now.Unix(), 10),
		Resource: audience, TokenType: "Bearer",
	}}
}

// checkCredential refuses a client that cannot prove who it is; nil: it can.
func checkCredential(p *principal, form url.Values, base string, anyTime bool, now time.Time) *answer {
	const bearer = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	takesAssertions := p.federated || len(p.certificates) > 0 || len(p.credentials) > 0
	switch secret := form.Get("client_secret"); {
	case secret != "" && secret == p.secret:
		return nil
	case secret != "":
		return signInRefused(7000215,
			"Invalid client secret provided. Ensure the secret being sent in the request is the client secret value, not the client secret ID, for a secret added to app '"+p.clientID+"'.")
	case takesAssertions && form.Get("client_assertion") != "" && form.Get("client_assertion_type") == bearer:
		return checkAssertion(p, form.Get("client_assertion"), base, anyTime, now)
	}
	return signInRefused(7000218, "The request body must contain the following parameter: 'client_assertion' or 'client_secret'.")
}
