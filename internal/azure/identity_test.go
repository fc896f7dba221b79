package azure_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azure/config"
	"sluice.dev/sluice/internal/azuresim"
)

const userIdentity = "/subscriptions/" + subscription + "/resourceGroups/" + resourceGroup + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/"

// strict is a world that checks tokens, with a machine that has two user-assigned identities and one of its own.
func strict(t *testing.T) *world {
	w := newWorld(t, set("agents", 2))
	w.sim.AnyToken = false
	m := azuresim.Machine{Subscription: subscription, ResourceGroup: resourceGroup, Name: "server-1", Location: "westeurope", SystemAssigned: true}
	for _, name := range []string{"one", "two"} {
		w.must(w.sim.AddIdentity(azuresim.Identity{ID: userIdentity + name, TenantID: "tenant", ClientID: "client-" + name}))
		m.Identities = append(m.Identities, userIdentity+name)
	}
	w.must(w.sim.AddMachine(m))
	return w
}

func TestTokensAreOfTheConfiguredIdentity(t *testing.T) {
	for name, tc := range map[string]struct {
		user string
		want string // the principal's client id; "" any
	}{
		"the machine's own":                    {"", ""},
		"a user-assigned one by client id":     {"client-two", "client-two"},
		"a user-assigned one by resource id":   {userIdentity + "one", "client-one"},
		"a resource id in another letter case": {strings.ToUpper(userIdentity + "one"), "client-one"},
	} {
		t.Run(name, func(t *testing.T) {
			w := strict(t)
			o := w.options("0:9:agents")
			o.Transport = &azuresim.Transport{Server: w.sim, Machine: "server-1"}
			o.Identity.UserAssigned = tc.user
			w.open(o)
			if g := w.groups()["agents"]; !g.Usable() {
				t.Fatalf("agents is %+v", g)
			}
			for _, r := range w.sim.Requests() {
				if r.Kind == listSets && (r.Principal == "" || tc.want != "" && r.Principal != tc.want) {
					t.Errorf("the list was asked for by %q, want %q", r.Principal, tc.want)
				}
			}
			if n := w.sim.Counters()["GET metadata/identity"]; n != 1 {
				t.Errorf("%d tokens were asked for, want 1", n)
			}
		})
	}
}

func TestAnIdentityTheMachineHasNotGotIsNamed(t *testing.T) {
	w := strict(t)
	o := w.options("0:9:agents")
	o.Transport = &azuresim.Transport{Server: w.sim, Machine: "server-1"}
	o.Identity.UserAssigned = "client-three"
	w.open(o)
	_, err := w.Groups(context.Background())
	e := errorOf(t, err)
	want := `list the scale sets of resource group "Farm": this machine has not got the user-assigned identity with client id client-three (instance metadata refused with 400: Identity not found): assign it to the machine or its scale set, or configure another`
	if e.Kind != cloud.Unauthorized || e.Message != want {
		t.Errorf("the error is %+v, want unauthorized: %s", e, want)
	}
}

func TestATokenThatEndedIsRenewedWithinTheRequest(t *testing.T) {
	w := strict(t)
	o := w.options("0:9:agents")
	o.Transport = &azuresim.Transport{Server: w.sim, Machine: "server-1"}
	w.open(o)
	w.groups()
	w.now = w.now.Add(25 * time.Hour) // the simulated day; the pipeline's clock has not moved
	if g := w.groups()["agents"]; !g.Usable() || !g.Read.At.Equal(w.now) {
		t.Errorf("after the token's end agents is %+v, want it read", g)
	}
	if n := w.sim.Counters()["GET metadata/identity"]; n != 2 {
		t.Errorf("%d tokens were asked for, want 2", n)
	}
}

func TestAServicePrincipalSignsInWithItsSecret(t *testing.T) {
	for name, tc := range map[string]struct {
		secret string
		way    http.RoundTripper // nil: one that trusts the authority
		kind   cloud.Kind
		want   string
	}{
		"the right secret":      {"open sesame", nil, "", ""},
		"a wrong secret":        {"open barley", nil, cloud.Unauthorized, ""},
		"a CA of its own":       {"open sesame", &http.Transport{}, cloud.Transient, " shows a TLS certificate that is not trusted (x509: "},
		"nobody listens":        {"open sesame", lostWay{syscall.ECONNREFUSED}, cloud.Transient, " cannot be reached (connection refused): see to the"},
		"the name is not known": {"open sesame", lostWay{&net.DNSError{}}, cloud.Transient, "cannot be resolved: see to the machine's DNS"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, set("agents", 2))
			w.sim.AnyToken = false
			tenant := "00000000-0000-0000-0000-00000000000a"
			w.must(w.sim.AddServicePrincipal(azuresim.ServicePrincipal{TenantID: tenant, ClientID: "app", Secret: "open sesame"}))
			server := httptest.NewTLSServer(w.sim)
			t.Cleanup(server.Close)
			o := w.options("0:9:agents")
			o.Subscription, o.ResourceGroup = subscription, resourceGroup
			if o.Transport = tc.way; tc.way == nil {
				o.Transport = server.Client().Transport
			}
			o.ResourceManagerEndpoint, o.AuthorityHost = server.URL, server.URL
			o.Identity = azure.Identity{Tenant: tenant, Client: "app", Secret: config.Secret(tc.secret)}
			w.open(o)
			gs, err := w.Groups(context.Background())
			if cloud.KindOf(err) != tc.kind {
				t.Fatalf("Groups: %v of kind %q, want %q", err, cloud.KindOf(err), tc.kind)
			}
			if err != nil {
				m := errorOf(t, err).Message
				who := "service principal app of tenant " + tenant + " got no token: "
				if !strings.Contains(m, who) || strings.Contains(m, tc.secret) || !strings.Contains(m, tc.want) {
					t.Errorf("message %q, want the principal named, its secret kept, and %q", m, tc.want)
				}
				return
			}
			if g := byID(gs)["agents"]; !g.Usable() {
				t.Errorf("agents is %+v", g)
			}
		})
	}
}

// lostWay is a network that ends no request.
type lostWay struct{ err error }

func (l lostWay) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: l.err}
}

func TestAHalfGivenPrincipalIsRefusedAtStart(t *testing.T) {
	for want, id := range map[string]azure.Identity{
		"identity: the service principal has no client secret: give tenant, client id and client secret, or none of them": {Tenant: "t", Client: "c"},
		"identity: both a user-assigned identity and a service principal are given: give one of them":                     {Tenant: "t", Client: "c", Secret: "s", UserAssigned: "u"},
	} {
		_, err := azure.New(context.Background(), azure.Options{Groups: []azure.GroupSpec{{Name: "a"}}, Config: config.Config{Subscription: "s", ResourceGroup: "g", Identity: id}})
		if err == nil || err.Error() != want {
			t.Errorf("New gives %v, want %s", err, want)
		}
	}
}

// redirecting sends the second page's link to another host.
type redirecting struct {
	http.RoundTripper
	seen []string
}

func (r *redirecting) RoundTrip(req *http.Request) (*http.Response, error) {
	r.seen = append(r.seen, req.URL.Host)
	if strings.HasSuffix(req.URL.Path, "/virtualMachineScaleSets") {
		w := httptest.NewRecorder()
		_, _ = w.WriteString(`{"value":[],"nextLink":"https://elsewhere.example/page2"}`)
		resp := w.Result()
		resp.Request = req
		return resp, nil
	}
	return r.RoundTripper.RoundTrip(req)
}

func TestTheTokenNeverGoesToAnotherHost(t *testing.T) {
	w := newWorld(t, set("agents", 2))
	o := w.options("0:9:agents")
	r := &redirecting{RoundTripper: o.Transport}
	o.Transport = r
	w.open(o)
	if _, err := w.Groups(context.Background()); err == nil || !strings.Contains(err.Error(), "elsewhere.example") {
		t.Errorf("Groups gives %v, want the foreign host refused", err)
	}
	for _, host := range r.seen {
		if host == "elsewhere.example" {
			t.Errorf("the foreign host was asked")
		}
	}
}
