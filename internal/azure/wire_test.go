package azure_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azure/config"
	"sluice.dev/sluice/internal/azuresim"
)

var update = flag.Bool("update", false, "rewrite testdata/calls.txt")

// wired is a simulated Azure behind TLS on the loopback interface, the metadata service of the machine server-0 beside it, and a process of
// sluice that is configured as an operator would do it.
type wired struct {
	*world
	arm, metadata, platform *httptest.Server

	env     map[string]string
	options azure.Options
	heard   []string // what the process complained of, in the order of time
	leaves  bool     // the process ends as soon as it has begun an operation
}

// The people of a wired world. The tenant's applications may do everything until they have a role.
const (
	wireTenant = "00000000-0000-0000-0000-00000000000a"
	farmHand   = "farm-hand" // the client id of the application, and of the user-assigned identity with -identity
)

// wire makes the world of a kind of groups. Its clock begins a little before that of the wall, by which credentials are dated, and a whole
// life fits between what the authority takes for too early and too late.
func wire(t *testing.T, kind groupKind, signIn signIn) *wired {
	t.Helper()
	w := &wired{world: &world{t: t, now: time.Now().UTC().Add(-3 * time.Minute)}}
	w.sim = &azuresim.Server{
		Now: func() time.Time { return w.now }, ADFS: signIn.adfs, Boot: azuresim.Fixed(25 * time.Second), Delete: azuresim.Fixed(15 * time.Second),
	}
	for _, s := range kind.sets {
		w.must(w.sim.AddScaleSet(s))
	}
	w.must(w.sim.AddServicePrincipal(azuresim.ServicePrincipal{TenantID: wireTenant, ClientID: "owner", Secret: "owner"}))
	w.must(w.sim.AddIdentity(azuresim.Identity{ID: userIdentity + farmHand, TenantID: wireTenant, ClientID: farmHand + "-identity"}))
	w.must(w.sim.AddMachine(azuresim.Machine{
		Subscription: subscription, ResourceGroup: resourceGroup, Name: "server-0", Location: "westeurope",
		SystemAssigned: true, Identities: []string{userIdentity + farmHand},
	}))
	w.arm = httptest.NewTLSServer(w.sim)
	w.metadata = httptest.NewServer(w.sim.Metadata("server-0"))
	w.platform = httptest.NewServer(w.sim.AppServiceIdentity("server-0", "pass"))
	for _, s := range []*httptest.Server{w.arm, w.metadata, w.platform} {
		t.Cleanup(s.Close)
	}
	authority := w.arm.URL
	if signIn.adfs {
		authority += "/adfs"
	}
	w.env = map[string]string{
		"ARM_CLOUD": "AzureStackCloud", "AZURE_ENABLE_DYNAMIC_INSTANCE_LIST": "true",
		"AZURE_ENVIRONMENT_FILEPATH": written(t, "cloud.json", fmt.Appendf(nil,
			`{"name":"Farmland","resourceManagerEndpoint":%q,"activeDirectoryEndpoint":%q,"tokenAudience":%q}`, w.arm.URL, authority, w.arm.URL)),
	}
	signIn.settings(w)
	var file []byte
	if kind.file != "" {
		file = []byte(kind.file)
	}
	c, err := config.Parse(file, "azure.json", func(key string) string { return w.env[key] })
	w.must(err)
	w.options = w.world.options()
	w.options.Config, w.options.MetadataEndpoint, w.options.Transport = c, w.metadata.URL, w.arm.Client().Transport
	kind.prepare(w)
	return w
}

// set adds settings from the environment.
func (w *wired) set(pairs ...string) {
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		w.env[key] = value
	}
}

// signIn is a kind of credential.
type signIn struct {
	name     string
	settings func(*wired)
	adfs     bool
}

// application makes the application known, with a way to prove itself, and configures it.
func (w *wired) application(p azuresim.ServicePrincipal, settings ...string) {
	w.t.Helper()
	p.TenantID, p.ClientID = wireTenant, farmHand
	w.must(w.sim.AddServicePrincipal(p))
	w.set("ARM_TENANT_ID="+wireTenant, "ARM_CLIENT_ID="+farmHand, "ARM_SUBSCRIPTION_ID="+subscription, "ARM_RESOURCE_GROUP="+resourceGroup)
	w.set(settings...)
}

var bySecret = signIn{name: "an application by its secret", settings: func(w *wired) {
	w.application(azuresim.ServicePrincipal{Secret: "open sesame"}, "ARM_CLIENT_SECRET=open sesame")
}}

// signIns are all kinds of credentials.
var signIns = []signIn{
	{name: "the machine's own identity", settings: func(*wired) {}},
	{name: "a user-assigned identity by client id", settings: func(w *wired) {
		w.set("ARM_USE_MANAGED_IDENTITY_EXTENSION=true", "ARM_USER_ASSIGNED_IDENTITY_ID="+farmHand+"-identity")
	}},
	{name: "a user-assigned identity by resource id", settings: func(w *wired) {
		w.set("ARM_USE_MANAGED_IDENTITY_EXTENSION=true", "ARM_USER_ASSIGNED_IDENTITY_ID="+userIdentity+farmHand)
	}},
	{name: "a user-assigned identity of a platform that has an endpoint of its own", settings: func(w *wired) {
		w.set("IDENTITY_ENDPOINT="+w.platform.URL+"/msi/token", "IDENTITY_HEADER=pass", "ARM_USER_ASSIGNED_IDENTITY_ID="+farmHand+"-identity",
			"ARM_SUBSCRIPTION_ID="+subscription, "ARM_RESOURCE_GROUP="+resourceGroup)
	}},
	bySecret,
	{name: "an application by its certificate as PEM", settings: func(w *wired) {
		certificate, file := certified(w.t)
		w.application(azuresim.ServicePrincipal{Certificates: certificates(certificate)}, "ARM_CLIENT_CERT_PATH="+file)
	}},
	{name: "an application by its certificate as PKCS#12", settings: func(w *wired) {
		w.application(azuresim.ServicePrincipal{Certificates: certificates(inPKCS12(w.t))}, "ARM_CLIENT_CERT_PATH=testdata/sluice.p12", "ARM_CLIENT_CERT_PASSWORD=open sesame")
	}},
	{name: "an application by the token of a service account", settings: func(w *wired) {
		account := azuresim.FederatedCredential{Issuer: "https://farm.example", Subject: "system:serviceaccount:kube-system:sluice"}
		w.application(azuresim.ServicePrincipal{Credentials: []azuresim.FederatedCredential{account}},
			"AZURE_FEDERATED_TOKEN_FILE="+written(w.t, "token", accountToken(account)), "ARM_USE_FEDERATED_WORKLOAD_IDENTITY_EXTENSION=true")
	}},
	{name: "an application by its secret at AD FS", adfs: true, settings: func(w *wired) {
		w.application(azuresim.ServicePrincipal{Secret: "open sesame"}, "ARM_CLIENT_SECRET=open sesame")
		delete(w.env, "ARM_TENANT_ID")
		w.set("ARM_TENANT_ID=adfs")
	}},
}

// TestEveryOperationThroughTheSDKCostsExactlyTheseCalls lives a life with every kind of group and every kind of credential. What Resource
// Manager is asked is the same whoever asks, and what a credential costs is the same whatever is done with it. The figures are in
// testdata/calls.txt: whoever makes a call more, or one less, says so there.
func TestEveryOperationThroughTheSDKCostsExactlyTheseCalls(t *testing.T) {
	var table bytes.Buffer
	tokens := map[string]string{} // by credential
	for n, kind := range groupKinds {
		var first string
		for _, signIn := range signIns {
			t.Run(kind.name+"/"+signIn.name, func(t *testing.T) {
				w := wire(t, kind, signIn)
				asked, signedIn := w.live(kind)
				if len(w.heard) > 0 || strings.Contains(w.log.String(), "level=WARN") {
					t.Errorf("complaints: %s\n%s", strings.Join(w.heard, "\n"), w.log.String())
				}
				if first == "" {
					first = asked
				}
				if d := cmp.Diff(first, asked); d != "" {
					t.Errorf("asks Resource Manager otherwise than with other credentials (-want +got):\n%s", d)
				}
				if n == 0 {
					tokens[signIn.name] = signedIn
				}
				if d := cmp.Diff(tokens[signIn.name], signedIn); d != "" {
					t.Errorf("signs in otherwise than with other groups (-want +got):\n%s", d)
				}
			})
		}
		fmt.Fprintf(&table, "# %s\n%s\n", kind.name, first)
	}
	fmt.Fprintf(&table, "# signing in, for the %d processes of a life\n", processes)
	for _, signIn := range signIns {
		fmt.Fprintf(&table, "%s\n%s", signIn.name, tokens[signIn.name])
	}
	const file = "testdata/calls.txt"
	if *update {
		if err := os.WriteFile(file, table.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(table.String(), "\n")); d != "" {
		t.Errorf("%s differs (-want +got); -update rewrites it:\n%s", file, d)
	}
}

// live goes through the steps of a kind, and tells in lines what each asked of Resource Manager, and what signing in took altogether.
func (w *wired) live(kind groupKind) (asked, signedIn string) {
	signing, begun := map[string]int{}, w.sim.Counters()
	var lines strings.Builder
	for _, s := range kind.steps {
		before := w.sim.Counters()
		if err := s.do(w); err != nil {
			w.hear(s.name + ": " + err.Error())
		}
		spent := diff(before, w.sim.Counters())
		maps.DeleteFunc(spent, func(call string, n int) bool {
			if signs(call) {
				signing[call] += n
			}
			return n == 0 || signs(call)
		})
		fmt.Fprintf(&lines, "%s\n%s", s.name, counted(spent))
	}
	if total := diff(begun, w.sim.Counters()); len(total) == 0 {
		w.t.Error("nothing was asked at all")
	}
	maps.DeleteFunc(signing, func(_ string, n int) bool { return n == 0 })
	return lines.String(), counted(signing)
}

// signs says whether a call serves to find out who and where the process is.
func signs(call string) bool {
	return strings.Contains(call, "metadata") || strings.Contains(call, "token") || strings.Contains(call, "openid") || strings.Contains(call, "discovery")
}

func counted(calls map[string]int) string {
	var lines strings.Builder
	for _, call := range slices.Sorted(maps.Keys(calls)) {
		fmt.Fprintf(&lines, "%4d %s\n", calls[call], call)
	}
	return lines.String()
}

// hear remembers a complaint, once as long as it lasts.
func (w *wired) hear(sentence string) {
	if !slices.Contains(w.heard, sentence) {
		w.heard = append(w.heard, sentence)
	}
}

// cycle is one look of the process at all of its groups, after which nothing is under way.
func (w *wired) cycle() map[cluster.GroupID]*cluster.Group {
	groups, err := w.Groups(context.Background())
	if err != nil {
		w.hear(err.Error())
	}
	for _, g := range groups {
		if g.Problem != "" {
			w.hear(g.Problem)
		}
		if g.Failure != nil {
			w.hear(g.Failure.Message)
		}
	}
	w.AwaitErrands()
	return byID(groups)
}

// pass lets time go by as [world.pass] does.
func (w *wired) pass(d time.Duration) {
	for end := w.now.Add(d); w.now.Before(end); w.cycle() {
		next := w.now.Add(10 * time.Second)
		if p := w.NextPoll(); p.After(w.now) && p.Before(next) {
			next = p
		}
		w.now = next
	}
}
