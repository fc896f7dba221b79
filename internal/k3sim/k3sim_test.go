package k3sim

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"sluice.dev/sluice/internal/controlplane/controlplanetest"
)

// TestAgainstARealAPIServer has all that needs one: it is started once.
func TestAgainstARealAPIServer(t *testing.T) {
	api := controlplanetest.Start(t)
	t.Run("routes", func(t *testing.T) { testRoutes(newCell(t, api, Options{})) })
	t.Run("tokens", func(t *testing.T) { testTokens(newCell(t, api, Options{})) })
	t.Run("certificates", func(t *testing.T) { testCertificates(newCell(t, api, Options{})) })
	t.Run("objects", func(t *testing.T) { testObjects(newCell(t, api, Options{})) })
	t.Run("provider ids", func(t *testing.T) { testProviderIDs(t, api) })
	t.Run("names used again", func(t *testing.T) { testNames(newCell(t, api, Options{})) })
	t.Run("finalizers", func(t *testing.T) { testFinalizers(newCell(t, api, Options{})) })
	t.Run("trial", func(t *testing.T) { testTrial(t, api) })
	t.Run("orphans", func(t *testing.T) {
		var mu sync.Mutex
		now := time.Now()
		c := newCell(t, api, Options{Now: func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return now
		}})
		testOrphans(c, func(d time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			now = now.Add(d)
		})
	})
}

// testRoutes asks each route as each kind of caller.
func testRoutes(c *cell) {
	good, expired := c.bootstrap("routes", time.Now().Add(time.Hour)), c.bootstrap("routex", time.Now().Add(-time.Minute))
	for name, tc := range map[string]struct {
		path   string
		header map[string]string
		code   int
		says   string
	}{
		"anybody pings":                            {"/ping", nil, 200, "pong"},
		"anybody reads the authority":              {"/cacerts", nil, 200, "BEGIN CERTIFICATE"},
		"nobody reads the config":                  {"/v1-k3s/config", nil, 403, "forbidden"},
		"nobody reads the API servers":             {"/v1-k3s/apiservers", nil, 403, "forbidden"},
		"nobody asks the supervisor for readiness": {"/v1-k3s/readyz", nil, 403, "forbidden"},
		"nobody asks the API for readiness":        {"/readyz", nil, 401, "Unauthorized"},
		"an agent reads the config":                {"/v1-k3s/config", basic("node", "agent-secret"), 200, `"DisableCCM":false`},
		"a bootstrap token reads the config":       {"/v1-k3s/config", bearer(good), 200, `"FlannelBackend":"vxlan"`},
		"an agent reads the API servers":           {"/v1-k3s/apiservers", basic("node", "agent-secret"), 200, `["127.0.0.1:`},
		"a bootstrap token reads the API servers":  {"/v1-k3s/apiservers", bearer(good), 200, `["127.0.0.1:`},
		"an agent asks for readiness":              {"/v1-k3s/readyz", basic("node", "agent-secret"), 200, "ok"},
		"an agent reads the servers' authority":    {"/v1-k3s/server-ca.crt", basic("node", "agent-secret"), 200, "BEGIN CERTIFICATE"},
		"a bootstrap token reads the clients'":     {"/v1-k3s/client-ca.crt", bearer(good), 200, "BEGIN CERTIFICATE"},
		"an agent is no server":                    {"/v1-k3s/server-bootstrap", basic("node", "agent-secret"), 403, "forbidden"},
		"a bootstrap token is no server":           {"/v1-k3s/server-bootstrap", bearer(good), 403, "forbidden"},
		"an expired token":                         {"/v1-k3s/config", bearer(expired), 401, "not authorized"},
		"a token that never was":                   {"/v1-k3s/config", bearer("absent.0123456789abcdef"), 401, "not authorized"},
		"a wrong password":                         {"/v1-k3s/config", basic("node", "another"), 401, "not authorized"},
		"the servers' password as an agent's":      {"/v1-k3s/config", basic("node", "server-secret"), 401, "not authorized"},
		"a certificate without headers":            {"/v1-k3s/client-kubelet.crt", bearer(good), 400, "node name not set"},
		"a serving certificate without headers":    {"/v1-k3s/serving-kubelet.crt", bearer(good), 400, "node name not set"},
		"a certificate without a password":         {"/v1-k3s/client-kubelet.crt", with(bearer(good), headerName, "routes"), 400, "node password not set"},
		"a bootstrap token is one of the API, too": {"/api/v1/nodes", bearer(good), 403, `User "system:bootstrap:routes" cannot list resource "nodes"`},
	} {
		c.Run(name, func(t *testing.T) {
			code, says := c.ask(http.MethodGet, tc.path, nil, tc.header)
			if code != tc.code || !strings.Contains(says, tc.says) {
				t.Errorf("answers %d %s, want %d %s", code, says, tc.code, tc.says)
			}
		})
	}
}

func with(header map[string]string, key, value string) map[string]string {
	header[key] = value
	return header
}

// testTokens joins with each form of a token, each time as another machine.
func testTokens(c *cell) {
	one := c.bootstrap("tokens", time.Now().Add(time.Hour))
	for i, tc := range []struct{ name, token, refused string }{
		{"an agent's, in full", c.NodeToken(), ""},
		{"an agent's, bare", "agent-secret", ""},
		{"the same secret under the server's name", c.FullToken("server:agent-secret"), ""},
		{"the servers', where agents have their own", c.ServerToken(), "401 Unauthorized"},
		{"a bootstrap token", one, ""},
		{"a bootstrap token in full, which is not one-use", c.FullToken(one), ""},
		{"of another cluster", "K10" + strings.Repeat("0", 64) + "::node:agent-secret", "token CA hash does not match the Cluster CA certificate hash: 0000"},
		{"with half a hash", "K10abc::node:agent-secret", "invalid token CA hash length"},
		{"in full without a user", c.FullToken("agent-secret"), "invalid token format"},
		{"none", "", "token must not be empty"},
		{"one that has expired", c.bootstrap("tokenx", time.Now().Add(-time.Minute)), "401 Unauthorized"},
		{"one that never was", "absent.0123456789abcdef", "401 Unauthorized"},
	} {
		c.Run(tc.name, func(t *testing.T) {
			a := c.agent(fmt.Sprintf("tokens%d", i))
			a.Token = tc.token
			if err := a.Join(t.Context()); (err != nil) != (tc.refused != "") || err != nil && !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("got %v, want %q", err, tc.refused)
			}
		})
	}
	c.Run("one that its owner has deleted", func(t *testing.T) {
		if err := c.api.CoreV1().Secrets("kube-system").Delete(t.Context(), "bootstrap-token-tokens", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		c.await("the API server forgets the token", func(ctx context.Context) error {
			a := c.agent("tokens-late")
			a.Token = one
			if err := a.Join(ctx); err == nil || !strings.Contains(err.Error(), "401 Unauthorized") {
				return fmt.Errorf("a machine joins: %w", err)
			}
			return nil
		})
	})
}

// testCertificates reads what an agent is given.
func testCertificates(c *cell) {
	began := time.Now()
	a := c.agent("Certs01")
	c.join(a)
	client, serving := parsed(c.T, a.Disk.ClientCert), parsed(c.T, a.Disk.ServingCert)
	if got := client.Subject.String(); got != "CN=system:node:certs01,O=system:nodes" {
		c.Errorf("the client's subject is %s", got)
	}
	if err := client.CheckSignatureFrom(c.clientCA.certificate); err != nil {
		c.Errorf("the client's certificate: %v", err)
	}
	if err := serving.CheckSignatureFrom(c.serverCA.certificate); err != nil {
		c.Errorf("the serving certificate: %v", err)
	}
	if bytes.Equal(c.serverCA.certificate.Raw, c.clientCA.certificate.Raw) {
		c.Error("both authorities are one")
	}
	var names []string
	for _, ip := range serving.IPAddresses {
		names = append(names, ip.String())
	}
	if diff := cmp.Diff([]string{"certs01", "localhost", "127.0.0.1", "10.10.0.7"}, slices.Concat(serving.DNSNames, names)); diff != "" {
		c.Errorf("the serving certificate's names (-want +got):\n%s", diff)
	}
	for _, leaf := range []*x509.Certificate{client, serving} {
		if year := began.AddDate(1, 0, 0); leaf.NotAfter.Before(year.Add(-time.Minute)) || leaf.NotAfter.After(year.Add(time.Hour)) {
			c.Errorf("%s ends at %s", leaf.Subject, leaf.NotAfter)
		}
	}
	requests, err := c.api.CertificatesV1().CertificateSigningRequests().List(c.Context(), metav1.ListOptions{})
	if err != nil || len(requests.Items) != 0 {
		c.Errorf("%d signing requests, %v: K3s makes none", len(requests.Items), err)
	}
	code, says := c.ask(http.MethodGet, "/v1-k3s/client-kubelet.crt", nil, with(with(basic("node", "agent-secret"), headerName, "certs02"), headerPassword, "p"))
	if code != http.StatusOK || !strings.Contains(says, "BEGIN EC PRIVATE KEY") {
		c.Errorf("an agent of old, which sends no key, is given %d %s", code, says)
	}
	kubelet, err := kubernetes.NewForConfig(a.Kubelet(c.CACerts()))
	if err != nil {
		c.Fatal(err)
	}
	c.join(c.agent("certs03"))
	_, err = kubelet.CoreV1().Nodes().Patch(c.Context(), "certs03", "application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	if !apierrors.IsForbidden(err) {
		c.Errorf("a kubelet changes another's node: %v", err)
	}
	stranger, err := newAuthority("another", time.Now())
	if err != nil {
		c.Fatal(err)
	}
	forged, err := stranger.own(time.Now())
	if err != nil {
		c.Fatal(err)
	}
	for _, path := range []string{"/v1-k3s/config", "/api/v1/nodes"} {
		if code, says := c.ask(http.MethodGet, path, &forged, basic("node", "agent-secret")); code != http.StatusUnauthorized {
			c.Errorf("%s answers a certificate of another authority with %d %s", path, code, says)
		}
	}
}

func parsed(t *testing.T, text []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatalf("no certificate: %q", text)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

// testObjects holds what the stand-in makes to what was seen of K3s: all that the fixtures have, it has.
func testObjects(c *cell) {
	a := c.agent("agents00002F")
	a.UUID, a.Server = "7d7503f3-960b-4ca8-aa62-2d7139814b06", c.URL()
	node := c.join(a)
	secret, err := c.api.CoreV1().Secrets("kube-system").Get(c.Context(), PasswordOf("agents00002f"), metav1.GetOptions{})
	if err != nil {
		c.Fatal(err)
	}
	var seenNode corev1.Node
	var seenSecret corev1.Secret
	fixture(c.T, "node.yaml", &seenNode)
	fixture(c.T, "node-password.yaml", &seenSecret)
	for key, want := range seenNode.Annotations {
		got := node.Annotations[key]
		switch key {
		case "k3s.io/node-config-hash":
			got, want = fmt.Sprint(len(got), got[52:]), fmt.Sprint(len(want), want[52:])
		case "k3s.io/node-args":
			got = strings.ReplaceAll(got, c.URL(), "https://10.10.0.4:6443")
		}
		if got != want {
			c.Errorf("annotation %s is %q, was seen as %q", key, got, want)
		}
	}
	if strings.Contains(fmt.Sprint(node.Annotations), "agent-secret") {
		c.Error("the token stands on the node")
	}
	for key, want := range seenNode.Labels {
		if got := node.Labels[key]; got != want {
			c.Errorf("label %s is %q, was seen as %q", key, got, want)
		}
	}
	if diff := cmp.Diff(seenNode.Finalizers, node.Finalizers); diff != "" {
		c.Errorf("finalizers (-seen +got):\n%s", diff)
	}
	waits := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == uninitialized })
	if node.Spec.ProviderID != seenNode.Spec.ProviderID || waits || node.Status.NodeInfo.SystemUUID != seenNode.Status.NodeInfo.SystemUUID {
		c.Errorf("the node is %q with taints %v, unique id %s", node.Spec.ProviderID, node.Spec.Taints, node.Status.NodeInfo.SystemUUID)
	}
	if secret.Type != seenSecret.Type || secret.Immutable == nil || *secret.Immutable != *seenSecret.Immutable {
		c.Errorf("the password is of type %s, immutable %v", secret.Type, secret.Immutable)
	}
	if len(secret.OwnerReferences) != 1 || secret.OwnerReferences[0] != (metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}) {
		c.Errorf("the password is owned by %v", secret.OwnerReferences)
	}
	if hash := string(secret.Data["hash"]); !strings.HasPrefix(hash, "$1:") || !strings.Contains(hash, ":15:8:1:") || verifyHash(hash, a.Disk.Password) != nil {
		c.Errorf("the password's hash is %s", hash)
	}
	if err := verifyHash(string(seenSecret.Data["hash"]), "example"); err != nil {
		c.Errorf("the hash that was seen: %v", err)
	}
}

func fixture(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// testProviderIDs is the table of set-ups.
func testProviderIDs(t *testing.T, api *rest.Config) {
	const azure = "azure:///subscriptions/s/resourceGroups/farm/providers/Microsoft.Compute/virtualMachineScaleSets/agents/virtualMachines/3"
	labels := map[string]string{corev1.LabelInstanceTypeStable: "Standard_D4s_v5", corev1.LabelTopologyZone: "westeurope-1"}
	type node struct{ ID, Size, BetaSize, Zone, BetaZone, Taint string }
	for i, tc := range []struct {
		name     string
		disabled bool // --disable-cloud-controller
		id       string
		labels   map[string]string
		external bool
		want     node
	}{
		{"embedded, nothing said", false, "", nil, false, node{"k3s://setup0", "k3s", "k3s", "", "", ""}},
		{"embedded, provider id and labels", false, azure, labels, false, node{azure, "Standard_D4s_v5", "Standard_D4s_v5", "westeurope-1", "westeurope-1", ""}},
		{"disabled, provider id", true, azure, nil, false, node{azure, "", "", "", "", ""}},
		{"disabled, provider id and labels", true, azure, labels, false, node{azure, "Standard_D4s_v5", "", "westeurope-1", "", ""}},
		{"disabled, nothing said", true, "", nil, false, node{}},
		{"disabled, kubelet awaits another one", true, "", nil, true, node{Taint: "node.cloudprovider.kubernetes.io/uninitialized"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCell(t, api, Options{DisableCloudController: tc.disabled})
			a := c.agent(fmt.Sprintf("setup%d", i))
			a.ProviderID, a.Labels, a.ExternalCloud = tc.id, tc.labels, tc.external
			n := c.join(a)
			got := node{
				n.Spec.ProviderID, n.Labels[corev1.LabelInstanceTypeStable], n.Labels["beta.kubernetes.io/instance-type"],
				n.Labels[corev1.LabelTopologyZone], n.Labels["failure-domain.beta.kubernetes.io/zone"], "",
			}
			for _, taint := range n.Spec.Taints {
				if !strings.HasPrefix(taint.Key, "node.kubernetes.io/") { // those of the node lifecycle controller
					got.Taint += taint.Key
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
