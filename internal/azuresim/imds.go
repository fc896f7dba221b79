package azuresim

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// metadataVersions are the metadata service's API versions.
var metadataVersions = []string{
	"2017-03-01", "2017-04-02", "2017-08-01", "2017-10-01", "2017-11-01", "2017-12-01", "2018-02-01", "2018-04-02", "2018-10-01",
	"2019-01-01", "2019-02-01", "2019-03-11", "2019-04-01", "2019-04-30", "2019-06-01", "2019-06-04", "2019-08-01", "2019-08-15", "2019-11-01",
	"2020-06-01", "2020-07-01", "2020-07-15", "2020-09-01", "2020-10-01", "2020-12-01",
	"2021-01-01", "2021-02-01", "2021-03-01", "2021-05-01", "2021-08-01", "2021-10-01", "2021-11-01", "2021-11-15", "2021-12-13",
	"2023-07-01", "2023-11-15", "2024-03-15", "2024-07-17", "2025-04-07",
}

// metadataError is the metadata service's error: not Resource Manager's envelope.
type metadataError struct {
	Error       string   `json:"error"`
	Description string   `json:"error_description,omitempty"`
	Newest      []string `json:"newest-versions,omitempty"`
}

func metadataFailed(status int, code, description string) answer {
	return answer{status: status, body: metadataError{Error: code, Description: description}}
}

// Metadata is the instance metadata service as one machine reaches it, by
// resource id or name: a machine is known by where its requests come from, so
// every machine has its own handler. A machine that does not exist, or no longer,
// has no service: the connection breaks.
func (s *Server) Metadata(vm string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		now := s.now()
		s.sweep(now)
		q := &request{server: s, store: &s.store, now: now, http: r, base: baseURL(r), query: r.URL.Query()}
		q.readBody()
		if !isReadMethod(r.Method) {
			s.remember(now)
		}
		c, ok := s.store.computer(vm, now)
		if !ok {
			panic(http.ErrAbortHandler)
		}
		q.deliver(w, metadataRequest{q, c}.answer())
	})
}

// metadataRequest is a request to a machine's metadata service.
type metadataRequest struct {
	*request
	from computer
}

// answer answers a request to a machine's metadata service.
func (m metadataRequest) answer() answer {
	segments := strings.Split(strings.Trim(m.http.URL.Path, "/"), "/")
	area := ""
	if len(segments) > 1 && strings.EqualFold(segments[0], "metadata") {
		area = strings.ToLower(segments[1])
	}
	m.route.kind, m.route.set = m.http.Method+" metadata/"+area, m.from.set
	m.strike()
	if a, ok := m.faulted(); ok {
		return a
	}
	if a, ok := m.throttle(area); !ok {
		return a
	}
	if a, ok := m.rules(area); !ok {
		return a
	}
	switch rest := strings.ToLower(strings.Join(segments[min(2, len(segments)):], "/")); {
	case area == "versions" && rest == "":
		return answer{status: http.StatusOK, body: map[string]any{"apiVersions": metadataVersions}}
	case area == "instance":
		return m.document(segments[2:])
	case area == "identity" && rest == "oauth2/token":
		return m.skewed(m.token)
	case area == "loadbalancer" && rest == "":
		return m.loadBalancer()
	case area == "attested" && rest == "document":
		return m.attested()
	case area == "scheduledevents" && rest == "":
		return m.scheduledEvents()
	}
	return metadataFailed(http.StatusNotFound, "Not found", "")
}

// rules are the rules for every request.
func (m metadataRequest) rules(area string) (answer, bool) {
	h := m.http.Header
	switch {
	case h.Get("X-Forwarded-For") != "":
		return metadataFailed(http.StatusBadRequest, "Bad request. Request was forwarded: the X-Forwarded-For header is not allowed", ""), false
	case !strings.EqualFold(h.Get("Metadata"), "true"):
		return metadataFailed(http.StatusBadRequest, "Bad request. Required metadata header not specified", ""), false
	case m.http.Method != http.MethodGet && (m.http.Method != http.MethodPost || area != "scheduledevents"):
		return metadataFailed(http.StatusMethodNotAllowed, "Method not allowed", ""), false
	}
	for key, values := range m.query {
		if len(values) > 1 {
			return metadataFailed(http.StatusBadRequest, "Bad request. Duplicate query parameter: "+key, ""), false
		}
	}
	if area == "versions" {
		return answer{}, true
	}
	if !slices.Contains(metadataVersions, m.query.Get("api-version")) {
		n := len(metadataVersions)
		return answer{status: http.StatusBadRequest, body: metadataError{
			Error:  "Bad request. api-version is invalid or was not specified in the request. For more information refer to aka.ms/azureimds",
			Newest: []string{metadataVersions[n-1], metadataVersions[n-2], metadataVersions[n-3]},
		}}, false
	}
	return answer{}, true
}

// machineTokenLife is how long a managed identity's token is good.
const machineTokenLife = 24 * time.Hour

// machineTokenBody is the answer to a managed identity; its numbers are strings.
type machineTokenBody struct {
	AccessToken  string `json:"access_token"`
	ClientID     string `json:"client_id"`
	ExpiresIn    string `json:"expires_in"`
	ExpiresOn    string `json:"expires_on"`
	ExtExpiresIn string `json:"ext_expires_in"`
	NotBefore    string `json:"not_before"`
	Resource     string `json:"resource"`
	TokenType    string `json:"token_type"`
}

// token issues a token for an identity of the machine.
func (m metadataRequest) token() answer {
	resource := m.query.Get("resource")
	if resource == "" {
		return metadataFailed(http.StatusBadRequest, "invalid_request", "Required query variable 'resource' is missing")
	}
	p, why := m.chooseIdentity()
	if p == nil {
		return metadataFailed(http.StatusBadRequest, "invalid_request", why)
	}
	m.principal = p
	life := strconv.FormatInt(int64(machineTokenLife/time.Second)-1, 10)
	return answer{status: http.StatusOK, body: machineTokenBody{
		AccessToken: issueToken(m.server.Seed, p, resource, m.now, machineTokenLife), ClientID: p.clientID,
		ExpiresIn: life, ExtExpiresIn: life,
		ExpiresOn: strconv.FormatInt(m.now.Add(machineTokenLife).Unix(), 10),
		NotBefore: strconv.FormatInt(m.now.Unix(), 10),
		Resource:  resource, TokenType: "Bearer",
	}}
}

// chooseIdentity finds the identity a token is asked for, or says why there is
// none. Without a selector it is the machine's own, or else its only one.
func (m metadataRequest) chooseIdentity() (*principal, string) {
	var own *principal
	if m.from.systemAssigned {
		own = m.store.principals.ofMachine(m.server.Seed, m.server.TenantID, m.from)
	}
	var assigned []*principal
	for _, id := range m.from.identities {
		for _, p := range m.store.principals {
			if strings.EqualFold(p.id, id) {
				assigned = append(assigned, p)
			}
		}
	}
	all := assigned
	if own != nil {
		all = append([]*principal{own}, assigned...)
	}
	selectors := []struct {
		name string
		of   func(*principal) string
	}{
		{"client_id", func(p *principal) string { return p.clientID }},
		{"object_id", func(p *principal) string { return p.objectID }},
		{"msi_res_id", func(p *principal) string { return p.id }},
		{"mi_res_id", func(p *principal) string { return p.id }},
	}
	for _, sel := range selectors {
		want := m.query.Get(sel.name)
		if want == "" {
			continue
		}
		for _, p := range all {
			if strings.EqualFold(sel.of(p), want) {
				return p, ""
			}
		}
		return nil, "Identity not found"
	}
	switch {
	case own != nil:
		return own, ""
	case len(assigned) == 1:
		return assigned[0], ""
	case len(assigned) > 1:
		return nil, "Multiple user assigned identities exist, please specify the clientId / resourceId of the identity in the token request"
	}
	return nil, "Identity not found"
}
