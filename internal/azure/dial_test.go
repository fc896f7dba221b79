package azure_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
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

// guestbook writes down every host that is asked and how often, and lets no others through than the guests.
type guestbook struct {
	http.RoundTripper
	t      *testing.T
	guests []string
	seen   map[string]int
	urls   []string
}

func (g *guestbook) RoundTrip(r *http.Request) (*http.Response, error) {
	host := r.URL.Host
	g.seen[host]++
	g.urls = append(g.urls, r.URL.String())
	if !slices.Contains(g.guests, host) {
		g.t.Errorf("%s %s was asked for", r.Method, r.URL)
		return nil, fmt.Errorf("dial %s: refused", host)
	}
	return g.RoundTripper.RoundTrip(r)
}

// written is the path of a new file.
func written(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// certified makes a certificate and its PEM file with the key.
func certified(t *testing.T) (*x509.Certificate, string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sluice"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return c, written(t, "sluice.pem", append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...))
}

// TestNothingElseIsDialled runs the whole provider in five clouds, each with another credential.
func TestNothingElseIsDialled(t *testing.T) {
	const tenant = "00000000-0000-0000-0000-00000000000a"
	certificate, pemFile := certified(t)
	where := []string{"ARM_SUBSCRIPTION_ID=" + subscription, "ARM_RESOURCE_GROUP=" + resourceGroup}
	app := []string{"ARM_TENANT_ID=" + tenant, "ARM_CLIENT_ID=app"}
	for name, tc := range map[string]struct {
		env     []string
		sim     func(*azuresim.Server)
		guests  []string
		version string // of Microsoft.Compute; "" any
	}{
		"public, with nothing configured": {
			guests: []string{"169.254.169.254", "management.azure.com"},
		},
		"US government, with a secret": {
			env:    append([]string{"ARM_CLOUD=AzureUSGovernment", "ARM_CLIENT_SECRET=open sesame"}, app...),
			guests: []string{"169.254.169.254", "login.microsoftonline.us", "management.usgovcloudapi.net"},
		},
		"China, with a certificate": {
			env:    slices.Concat([]string{"ARM_CLOUD=AzureChinaCloud", "ARM_CLIENT_CERT_PATH=" + pemFile}, where, app),
			guests: []string{"login.chinacloudapi.cn", "management.chinacloudapi.cn"},
		},
		"Stack Hub, with AD FS": {
			env: append([]string{"ARM_CLOUD=AzureStackCloud", "ARM_TENANT_ID=adfs", "ARM_CLIENT_ID=app", "ARM_CLIENT_SECRET=open sesame", "AZURE_ENVIRONMENT_FILEPATH=" + written(t, "hub.json", []byte(`{
				"name":"AzureStackCloud","resourceManagerEndpoint":"https://management.local.azurestack.external/",
				"activeDirectoryEndpoint":"https://adfs.local.azurestack.external/adfs/","tokenAudience":"https://management.hub.test/0"}`))}, where...),
			sim:     func(s *azuresim.Server) { s.Audiences, s.ADFS = []string{"https://management.hub.test/0"}, true },
			guests:  []string{"adfs.local.azurestack.external", "management.local.azurestack.external"},
			version: "2020-06-01",
		},
		"custom, with a federated token": {
			env: slices.Concat([]string{"ARM_CLOUD=Contoso", "AZURE_FEDERATED_TOKEN_FILE=" + written(t, "token", []byte("a.b.c\n"))}, where, app),
			sim: func(s *azuresim.Server) {
				s.CloudName, s.Audiences = "Contoso", []string{"https://management.contoso.test/"}
			},
			guests: []string{"arm.contoso.test"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tagged("agents", 2, "cluster-autoscaler-enabled=true", "min=0", "max=5"))
			w.now = time.Now().UTC() // assertions carry the time of the wall
			w.sim.AnyToken = false
			if tc.sim != nil {
				tc.sim(w.sim)
			}
			w.must(w.sim.AddServicePrincipal(azuresim.ServicePrincipal{
				TenantID: tenant, ClientID: "app", Secret: "open sesame", Federated: true, Certificates: []*x509.Certificate{certificate},
			}))
			var file []byte
			if strings.HasPrefix(name, "custom") {
				file = []byte(`{"resourceManagerEndpoint":"https://arm.contoso.test"}`)
			}
			env := map[string]string{}
			for _, e := range tc.env {
				k, v, _ := strings.Cut(e, "=")
				env[k] = v
			}
			o := w.options()
			var err error
			o.Config, err = config.Parse(file, "azure.json", func(k string) string { return env[k] })
			w.must(err)
			book := &guestbook{RoundTripper: o.Transport, t: t, guests: tc.guests, seen: map[string]int{}}
			o.Transport = book
			w.open(o)

			if g := w.groups()["agents"]; !g.Usable() || len(g.Instances) != 2 {
				t.Fatalf("agents is %+v", g)
			}
			w.grow("agents", 1)
			w.pass(5 * time.Minute)
			g, err := w.Group(context.Background(), "agents")
			w.must(err)
			in := g.Instances[0]
			w.must(w.DeleteInstances(context.Background(), g, []cluster.Machine{{Group: g.ID, ID: in.ID, UID: in.UID}}))
			w.pass(3 * time.Minute)
			if g := w.groups()["agents"]; !g.Usable() || g.Capacity != 2 || len(g.Instances) != 2 || g.Instance(in.ID) != nil {
				t.Errorf("after growth and removal agents is %+v", g)
			}
			if d := cmp.Diff(tc.guests, slices.Sorted(maps.Keys(book.seen))); d != "" {
				t.Errorf("hosts (-want +got):\n%s", d)
			}
			for _, u := range book.urls {
				if tc.version != "" && strings.Contains(u, "Microsoft.Compute/virtualMachineScaleSets") && !strings.Contains(u, "/networkInterfaces?") && !strings.Contains(u, "api-version="+tc.version) {
					t.Errorf("%s is not asked with api-version %s", u, tc.version)
				}
			}
		})
	}
}

func TestACloudWithoutEndpointsIsRefusedAtStart(t *testing.T) {
	for name, tc := range map[string]struct {
		set  config.Config
		want string
	}{
		"a name that nobody knows":   {config.Config{Cloud: "Fabrikam"}, `cloud (ARM_CLOUD) is "Fabrikam", whose endpoints are not known: set AZURE_ENVIRONMENT_FILEPATH`},
		"a Stack Hub without a file": {config.Config{Cloud: "AzureStackCloud"}, `cloud (ARM_CLOUD) is "AzureStackCloud", whose endpoints are not known`},
		"a file that is not there":   {config.Config{EnvironmentFile: "/nowhere/hub.json"}, "AZURE_ENVIRONMENT_FILEPATH=/nowhere/hub.json: it cannot be read (no such file or directory)"},
		"endpoints from plain http":  {config.Config{EndpointsFrom: "http://arm.contoso.test"}, "resourceManagerEndpoint=http://arm.contoso.test: must be https"},
		"another cloud's endpoints":  {config.Config{Cloud: "Fabrikam", EndpointsFrom: "https://arm.contoso.test"}, `describes no cloud "Fabrikam": set cloud (ARM_CLOUD) to one of AzureCloud`},
		"a certificate that is none": {config.Config{Identity: config.Identity{Tenant: "t", Client: "c", CertificateFile: "/nowhere/c.pem"}}, "aadClientCertPath=/nowhere/c.pem: it cannot be read (no such file or directory)"},
		"tokens from another machine": {
			config.Config{IdentityEndpoint: "http://10.0.0.1/token", IdentityHeader: "x"}, "IDENTITY_ENDPOINT=http://10.0.0.1/token: it must be https, or a loopback or link-local address",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, set("agents", 1))
			o := w.options("0:5:agents")
			o.Config = tc.set
			o.Subscription, o.ResourceGroup = subscription, resourceGroup
			_, err := azure.New(context.Background(), o)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("New gives %v, want %s", err, tc.want)
			}
		})
	}
}

func TestAvailabilitySetsNeedNamedPoolsWithAMachine(t *testing.T) {
	standard := config.Config{Kind: config.Standard, Deployment: "d", Subscription: subscription, ResourceGroup: resourceGroup}
	for want, o := range map[string]azure.Options{
		"no node group is named: with vmType standard give --nodes=min:max:pool, since availability sets have no sizes in tags": {},
		"--nodes=0:5:pool: with vmType standard min must be at least 1, since a new machine is modelled on one that is there":   {Groups: []azure.GroupSpec{{Name: "pool", Max: 5}}},
		"--node-group-auto-discovery finds scale sets by their tags: with vmType standard give --nodes=min:max:pool instead":    {Discovery: []azure.Discovery{{Tags: map[string]string{"a": "b"}}}},
	} {
		o.Config = standard
		if _, err := azure.New(context.Background(), o); err == nil || err.Error() != want {
			t.Errorf("New gives %v, want %s", err, want)
		}
	}
}
