package azuresim

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// authority answers what needs no token: the token authority and Resource
// Manager's description of the cloud. It reports false for other paths.
func (q *request) authority() (answer, bool) {
	segments := strings.Split(strings.Trim(q.http.URL.Path, "/"), "/")
	if len(segments) < 2 || strings.EqualFold(segments[0], "subscriptions") {
		return answer{}, false
	}
	var handle func(*request, string) answer
	tenant := segments[0]
	switch strings.ToLower(strings.Join(segments[1:], "/")) {
	case "v2.0/.well-known/openid-configuration":
		q.route.kind, handle = "GET openid-configuration", openID
	case "oauth2/v2.0/token":
		q.route.kind, handle = "POST token", token
	case "endpoints":
		if strings.EqualFold(tenant, "metadata") {
			q.route.kind, handle = "GET metadata/endpoints", endpoints
		}
	}
	if handle == nil {
		return answer{}, false
	}
	q.fault = q.server.take(q.route.kind, "")
	if a, ok := q.fault.answer(); ok {
		return a, true
	}
	if method, _, _ := strings.Cut(q.route.kind, " "); q.http.Method != method {
		return methodNotAllowed(q.http.Method).answer(), true
	}
	return handle(q, tenant), true
}

func openID(q *request, tenant string) answer {
	root := q.base + "/" + tenant
	return answer{status: http.StatusOK, body: map[string]any{
		"issuer":                                root + "/v2.0",
		"authorization_endpoint":                root + "/oauth2/v2.0/authorize",
		"token_endpoint":                        root + "/oauth2/v2.0/token",
		"device_authorization_endpoint":         root + "/oauth2/v2.0/devicecode",
		"jwks_uri":                              root + "/discovery/v2.0/keys",
		"token_endpoint_auth_methods_supported": []string{"client_secret_post", "private_key_jwt"},
		"response_types_supported":              []string{"code", "id_token"},
		"subject_types_supported":               []string{"pairwise"},
	}}
}

// tokenBody is the authority's answer; its numbers are numbers.
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

// token grants client credentials: a secret, or the assertion of a federated
// identity.
func token(q *request, tenant string) answer {
	form, err := url.ParseQuery(string(q.body))
	if err != nil || form.Get("grant_type") != "client_credentials" {
		return signInFailed(http.StatusBadRequest, "unsupported_grant_type", 70003, "The app requested an unsupported grant type '"+form.Get("grant_type")+"'.")
	}
	id := form.Get("client_id")
	p := q.server.byClientID(id)
	if p == nil || !strings.EqualFold(p.tenantID, tenant) {
		return signInFailed(http.StatusBadRequest, "unauthorized_client", 700016,
			"Application with identifier '"+id+"' was not found in the directory '"+tenant+"'.")
	}
	q.principal = p
	const bearer = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	switch secret := form.Get("client_secret"); {
	case secret != "" && secret == p.secret:
	case p.federated && form.Get("client_assertion") != "" && form.Get("client_assertion_type") == bearer:
	case secret != "":
		return signInFailed(http.StatusUnauthorized, "invalid_client", 7000215,
			"Invalid client secret provided. Ensure the secret being sent in the request is the client secret value, not the client secret ID, for a secret added to app '"+id+"'.")
	default:
		return signInFailed(http.StatusUnauthorized, "invalid_client", 7000218,
			"The request body must contain the following parameter: 'client_assertion' or 'client_secret'.")
	}
	audience := ""
	for _, scope := range strings.Fields(form.Get("scope")) { // MSAL adds openid and others
		if resource, ok := strings.CutSuffix(scope, "/.default"); ok {
			audience = resource
		}
	}
	if audience == "" {
		return signInFailed(http.StatusBadRequest, "invalid_scope", 1002012,
			"The provided value for scope "+form.Get("scope")+" is not valid. Client credential flows must have a scope value with /.default suffixed to the resource identifier (application ID URI).")
	}
	life := int64(applicationTokenLife / time.Second)
	return answer{status: http.StatusOK, body: tokenBody{
		TokenType: "Bearer", ExpiresIn: life - 1, ExtExpiresIn: life - 1,
		AccessToken: q.server.issue(p, audience, q.now, applicationTokenLife),
	}}
}

// endpoints describes the cloud, in the two shapes of its two versions.
func endpoints(q *request, _ string) answer {
	authentication := map[string]any{"loginEndpoint": q.base, "audiences": []string{q.base, q.base + "/"}}
	if q.query.Get("api-version") < "2019" {
		return answer{status: http.StatusOK, body: map[string]any{
			"galleryEndpoint": q.base, "graphEndpoint": q.base, "portalEndpoint": q.base, "authentication": authentication,
		}}
	}
	return answer{status: http.StatusOK, body: []any{map[string]any{
		"name": "AzureCloud", "resourceManager": q.base, "authentication": authentication,
		"suffixes": map[string]any{"storage": "core.windows.net", "acrLoginServer": "azurecr.io"},
	}}}
}
