package azuresim

import (
	"net/http"
	"strings"
)

// metadataLimit and identityLimit are a machine's budgets: 5 and 20 requests a
// second.
var (
	metadataLimit = limit{5 * 60, 5}
	identityLimit = limit{20 * 60, 20}
)

// throttleMetadata refuses what exceeds a machine's budget, when the server
// throttles.
func (q *request) throttleMetadata(c computer, area string) (answer, bool) {
	l := metadataLimit
	if area == "identity" {
		l = identityLimit
	} else {
		area = "any"
	}
	if !q.server.Throttle {
		return answer{}, true
	}
	if _, wait := q.server.spend("imds/"+area+"/"+c.vmID, l, q.now); wait > 0 {
		return metadataFailed(http.StatusTooManyRequests, "Too many requests", ""), false
	}
	return answer{}, true
}

// loadBalancer shows the public address of a machine whose interfaces are in a
// backend pool. Addresses are of the block for documentation.
func (q *request) loadBalancer(c computer) answer {
	found := map[Linked]bool{}
	follow(c.profile(), "", found)
	for l := range found {
		if strings.HasSuffix(l.Action, "/backendAddressPools/join/action") {
			public := "203.0.113." + c.ip[strings.LastIndexByte(c.ip, '.')+1:]
			return answer{status: http.StatusOK, body: map[string]any{"loadbalancer": map[string]any{
				"publicIpAddresses": []any{map[string]any{"frontendIpAddress": public, "privateIpAddress": c.ip}},
				"inboundRules":      []any{}, "outboundRules": []any{},
			}}}
		}
	}
	return metadataFailed(http.StatusNotFound, "No load balancer metadata is found. Please check if your VM is using any non-basic SKU load balancer and retry later.", "")
}

// AppServiceIdentity is the token endpoint that App Service and Container Apps
// give to a program, as IDENTITY_ENDPOINT, for the identities of a machine. The
// secret is IDENTITY_HEADER.
func (s *Server) AppServiceIdentity(vm, secret string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		now := s.now()
		s.sweep(now)
		q := &request{server: s, now: now, http: r, base: baseURL(r), query: r.URL.Query()}
		q.route.kind = r.Method + " appservice/token"
		c, ok := s.computer(vm, now)
		switch {
		case !ok:
			panic(http.ErrAbortHandler)
		case r.Header.Get("X-Identity-Header") != secret:
			s.deliver(w, q, metadataFailed(http.StatusUnauthorized, "unauthorized", "The X-IDENTITY-HEADER is missing or wrong"))
		case q.query.Get("api-version") != "2019-08-01":
			s.deliver(w, q, metadataFailed(http.StatusBadRequest, "invalid_request", "The api-version must be 2019-08-01"))
		default:
			if id := q.query.Get("principal_id"); id != "" { // its name for the object id
				q.query.Set("object_id", id)
			}
			s.deliver(w, q, q.machineToken(c))
		}
	})
}
