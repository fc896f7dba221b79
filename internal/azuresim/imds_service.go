package azuresim

import (
	"net/http"
	"slices"
	"strings"
)

// metadataLimit and identityLimit are a machine's budgets: 5 and 20 requests a
// second.
var (
	metadataLimit = limit{5 * 60, 5}
	identityLimit = limit{20 * 60, 20}
)

// throttle refuses what exceeds a machine's budget, when the server
// throttles.
func (m metadataRequest) throttle(area string) (answer, bool) {
	l := metadataLimit
	if area == "identity" {
		l = identityLimit
	} else {
		area = "any"
	}
	if !m.server.Throttle {
		return answer{}, true
	}
	if _, wait := m.server.buckets.spend("imds/"+area+"/"+m.from.vmID, l, m.server.Throttle, m.now); wait > 0 {
		return metadataFailed(http.StatusTooManyRequests, "Too many requests", ""), false
	}
	return answer{}, true
}

// loadBalancer shows the public addresses by which the machine is reached or goes out: standard ones of its interface, and of the load balancers whose
// pools it is in. A pool of which nothing is known has an address of the block for documentation.
func (m metadataRequest) loadBalancer() answer {
	var public []string
	for _, id := range m.from.instance.balancers() {
		public = append(public, m.store.generic.frontends(id, m.from.ip)...)
	}
	if len(m.from.instance.nics) > 0 {
		own := find(m.store.generic.list, text(first(dig(m.from.instance.nics[0].nic.model, "properties", "ipConfigurations")), "properties", "publicIPAddress", "id"))
		if own != nil && strings.EqualFold(text(own.model, "sku", "name"), "Standard") {
			public = append(public, own.address)
		}
	}
	if len(public) == 0 {
		return metadataFailed(http.StatusNotFound, "No load balancer metadata is found. Please check if your VM is using any non-basic SKU load balancer and retry later.", "")
	}
	addresses := []any{}
	for _, a := range public {
		addresses = append(addresses, map[string]any{"frontendIpAddress": a, "privateIpAddress": m.from.ip})
	}
	return answer{status: http.StatusOK, body: map[string]any{"loadbalancer": map[string]any{
		"publicIpAddresses": addresses, "inboundRules": []any{}, "outboundRules": []any{},
	}}}
}

// balancers are the pools of load balancers that the machine's interfaces are in.
func (i *instance) balancers() (pools []string) {
	found := map[Linked]bool{}
	if i.uniform() {
		follow(i.taken.network, "", found)
	}
	for _, p := range i.nics {
		follow(p.nic.model, "", found)
	}
	for l := range found {
		if strings.HasSuffix(l.Action, "/backendAddressPools/join/action") {
			pools = append(pools, l.Scope)
		}
	}
	slices.Sort(pools)
	return pools
}

// frontends are the public addresses of the load balancer that a pool is of.
func (g *generic) frontends(pool, private string) (all []string) {
	above, _ := cutLast(pool, "/backendaddresspools/")
	balancer := find(g.list, above)
	if balancer == nil {
		return []string{"203.0.113." + private[strings.LastIndexByte(private, '.')+1:]}
	}
	for _, f := range asList(dig(balancer.model, "properties", "frontendIPConfigurations")) {
		if public := find(g.list, text(f, "properties", "publicIPAddress", "id")); public != nil {
			all = append(all, public.address)
		}
	}
	return all
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
		q := &request{server: s, store: &s.store, now: now, http: r, base: baseURL(r), query: r.URL.Query()}
		q.route.kind = r.Method + " appservice/token"
		c, ok := s.store.computer(vm, now)
		switch {
		case !ok:
			panic(http.ErrAbortHandler)
		case r.Header.Get("X-Identity-Header") != secret:
			q.deliver(w, metadataFailed(http.StatusUnauthorized, "unauthorized", "The X-IDENTITY-HEADER is missing or wrong"))
		case q.query.Get("api-version") != "2019-08-01":
			q.deliver(w, metadataFailed(http.StatusBadRequest, "invalid_request", "The api-version must be 2019-08-01"))
		default:
			if id := q.query.Get("principal_id"); id != "" { // its name for the object id
				q.query.Set("object_id", id)
			}
			q.deliver(w, metadataRequest{q, c}.token())
		}
	})
}
