package join_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	certificates "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"sluice.dev/sluice/deploy"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azure/config"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/controlplane/controlplanetest"
	"sluice.dev/sluice/internal/join"
)

const subscription = "00000000-0000-0000-0000-000000000001"

// plane is the one real API server of the tests here, and an administrator of it.
type plane struct {
	config *rest.Config
	admin  kubernetes.Interface
	seen   sync.Map // the codes of refusals that somebody got
}

func newPlane(t *testing.T) *plane {
	t.Helper()
	p := &plane{config: controlplanetest.Start(t)}
	p.admin = kubernetes.NewForConfigOrDie(p.config)
	for _, documents := range [][]byte{deploy.Join} {
		p.apply(t, documents)
	}
	return p
}

// apply creates what YAML documents describe.
func (p *plane) apply(t *testing.T, documents []byte) {
	t.Helper()
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discovery.NewDiscoveryClientForConfigOrDie(p.config)))
	client := dynamic.NewForConfigOrDie(p.config)
	reader := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(documents), 4096)
	for {
		o := &unstructured.Unstructured{}
		if err := reader.Decode(o); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		m, err := mapper.RESTMapping(o.GroupVersionKind().GroupKind(), o.GroupVersionKind().Version)
		if err != nil {
			t.Fatal(err)
		}
		var at dynamic.ResourceInterface = client.Resource(m.Resource)
		if o.GetNamespace() != "" {
			at = client.Resource(m.Resource).Namespace(o.GetNamespace())
		}
		if _, err := at.Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// world is a simulated Azure with scale sets, and a door in front of the plane that has the rights of deploy/join.yaml and no others.
type world struct {
	t *testing.T
	*plane
	sim         *azuresim.Server
	provider    *azure.Provider
	door        *join.Door
	options     join.Options
	at          string // where the door answers
	fingerprint string
	ahead       time.Duration // of the clocks of Azure and the door
	name        string        // of its scale set
}

func (w *world) now() time.Time { return time.Now().Add(w.ahead) }

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// newWorld has a scale set of n machines. Its name makes node names that no other world has.
func (p *plane) newWorld(t *testing.T, name string, n int, change ...func(*join.Options)) *world {
	t.Helper()
	w := &world{t: t, plane: p, name: name}
	seed := uint64(0)
	for _, c := range name {
		seed = seed*31 + uint64(c)
	}
	w.sim = &azuresim.Server{Now: w.now, Seed: seed, AnyToken: true, Loopback: true, Throttle: true, Boot: azuresim.Fixed(0), Delete: azuresim.Fixed(0)}
	w.must(w.sim.AddMachine(azuresim.Machine{Subscription: subscription, ResourceGroup: "Farm", Name: name + "-server", Location: "westeurope", SystemAssigned: true}))
	w.must(w.sim.AddScaleSet(azuresim.ScaleSet{
		Subscription: subscription, ResourceGroup: "Farm", Name: name, Location: "westeurope", Size: "Standard_D4s_v5", VCPUs: 4, Family: "standardDSv5Family", Capacity: n,
	}))
	w.must(w.sim.AddScaleSet(azuresim.ScaleSet{
		Subscription: subscription, ResourceGroup: "Other", Name: name + "o", Location: "westeurope", Size: "Standard_D4s_v5", VCPUs: 4, Family: "standardDSv5Family", Capacity: 1,
	}))
	var err error
	w.provider, err = azure.New(t.Context(), azure.Options{
		Config: config.Config{Subscription: subscription, ResourceGroup: "Farm"}, Transport: &azuresim.Transport{Server: w.sim, Machine: name + "-server"}, Now: w.now,
	})
	w.must(err)
	attestor, err := w.sim.Attestor()
	w.must(err)
	roots := x509.NewCertPool()
	roots.AddCert(attestor.CA)
	account := rest.CopyConfig(p.config)
	account.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + deploy.Namespace + ":" + deploy.ServiceAccount, Groups: []string{"system:serviceaccounts", "system:authenticated"},
	}
	w.options = join.Options{
		Client: kubernetes.NewForConfigOrDie(account), Cloud: w.provider.Arrivals(), Groups: []string{"farm"}, Pools: []string{strings.ToUpper(name)}, Distribution: join.Kubeadm,
		Server: p.config.Host, CA: p.config.CAData, Key: []byte("0123456789abcdef"), Roots: roots, IssuersFrom: "https://www.microsoft.test" + "/pkiops/certs",
		Transport: &azuresim.Transport{Server: w.sim}, Now: w.now,
	}
	if len(w.options.CA) == 0 {
		t.Fatal("the plane's configuration has no certificate authority")
	}
	for _, c := range change {
		c(&w.options)
	}
	w.open()
	return w
}

// open opens another door with the same options.
func (w *world) open() {
	w.t.Helper()
	var err error
	w.door, err = join.New(w.options)
	w.must(err)
	server := httptest.NewUnstartedServer(w.door)
	identity, fingerprint, err := join.NewIdentity(time.Now())
	w.must(err)
	pair, err := tls.X509KeyPair(identity, identity)
	w.must(err)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	w.t.Cleanup(server.Close)
	w.at, w.fingerprint = server.URL, fingerprint
}

// machine is one on which something like sluice-join runs.
type machine struct {
	w *world
	azuresim.MachineState
	client *http.Client
	from   string // its requests come from there
}

// machine is the nth of the scale set.
func (w *world) machine(n int) *machine {
	w.t.Helper()
	return w.called(fmt.Sprintf("%s_%d", w.name, n))
}

func (w *world) called(name string) *machine {
	w.t.Helper()
	for _, s := range w.sim.Machines() {
		if s.Name == name {
			return w.at127(s, s.PrivateIP)
		}
	}
	w.t.Fatalf("there is no machine %s", name)
	return nil
}

// at127 lets a machine's requests come from an address.
func (w *world) at127(s azuresim.MachineState, from string) *machine {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	transport := &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{
		InsecureSkipVerify: true, //nolint:gosec // the fingerprint is checked instead, as on a machine
		VerifyConnection: func(c tls.ConnectionState) error {
			if sum := sha256.Sum256(c.PeerCertificates[0].Raw); hex.EncodeToString(sum[:]) != w.fingerprint {
				return errors.New("it is another door")
			}
			return nil
		},
	}}
	w.t.Cleanup(transport.CloseIdleConnections)
	return &machine{w: w, MachineState: s, client: &http.Client{Transport: transport}, from: from}
}

// said is an answer of the door.
type said struct {
	status int
	retry  string
	join.Answer
	Nonce, Code, Message string
}

func (m *machine) post(path string, body any) said {
	m.w.t.Helper()
	raw, err := json.Marshal(body)
	m.w.must(err)
	return m.send(path, raw)
}

func (m *machine) send(path string, raw []byte) (s said) {
	m.w.t.Helper()
	resp, err := m.client.Post(m.w.at+path, "application/json", bytes.NewReader(raw))
	m.w.must(err)
	defer resp.Body.Close()
	s.status, s.retry = resp.StatusCode, resp.Header.Get("Retry-After")
	m.w.must(json.NewDecoder(resp.Body).Decode(&s))
	return s
}

func (m *machine) challenge() string {
	m.w.t.Helper()
	s := m.post(join.ChallengePath, nil)
	if s.status != http.StatusOK || len(s.Nonce) != 32 {
		m.w.t.Fatalf("the challenge is %+v", s)
	}
	return s.Nonce
}

// document is what the machine's metadata service gives.
func (m *machine) document(nonce string) map[string]any {
	m.w.t.Helper()
	req := httptest.NewRequest(http.MethodGet, "http://169.254.169.254/metadata/attested/document?api-version=2021-02-01&nonce="+nonce, nil)
	req.Header.Set("Metadata", "true")
	r := httptest.NewRecorder()
	m.w.sim.Metadata(m.ID).ServeHTTP(r, req)
	var d map[string]any
	m.w.must(json.Unmarshal(r.Body.Bytes(), &d))
	return d
}

func (m *machine) ask(nonce, id string, document map[string]any) said {
	m.w.t.Helper()
	return m.post(join.JoinPath, map[string]any{"nonce": nonce, "resourceId": id, "document": document})
}

// join is the whole protocol once.
func (m *machine) join() said {
	m.w.t.Helper()
	nonce := m.challenge()
	return m.ask(nonce, m.ID, m.document(nonce))
}

// joins is join for a machine that is let in.
func (m *machine) joins() said {
	m.w.t.Helper()
	s := m.join()
	if s.status != http.StatusOK || s.Token == "" {
		m.w.t.Fatalf("%s is refused: %d %s: %s", m.Name, s.status, s.Code, s.Message)
	}
	return s
}

func (m *machine) refused(s said, code join.Code) {
	m.w.t.Helper()
	m.w.seen.Store(s.Code, true)
	if s.Code != string(code) || s.status < 400 || s.Token != "" || s.Message == "" {
		m.w.t.Errorf("%s got %+v, want %s", m.Name, s, code)
	}
	if retry := s.status == http.StatusTooManyRequests || s.status == http.StatusServiceUnavailable; retry != (s.retry != "") {
		m.w.t.Errorf("%s: status %d with Retry-After %q", code, s.status, s.retry)
	}
}

// bearer is a client with a token of the door.
func (w *world) bearer(s said) *kubernetes.Clientset {
	c := rest.AnonymousClientConfig(w.config)
	c.BearerToken = s.Token
	return kubernetes.NewForConfigOrDie(c)
}

// csr asks for a certificate and lets the door decide.
func (w *world) csr(client kubernetes.Interface, signer string, usages []certificates.KeyUsage, request *x509.CertificateRequest) (*certificates.CertificateSigningRequest, *ecdsa.PrivateKey) {
	w.t.Helper()
	text, key := w.requestOf(request)
	q, err := client.CertificatesV1().CertificateSigningRequests().Create(w.t.Context(), &certificates.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "csr-"},
		Spec:       certificates.CertificateSigningRequestSpec{Request: text, SignerName: signer, Usages: usages},
	}, metav1.CreateOptions{})
	w.must(err)
	w.step()
	q, err = w.admin.CertificatesV1().CertificateSigningRequests().Get(w.t.Context(), q.Name, metav1.GetOptions{})
	w.must(err)
	_, why := decided(q)
	w.seen.Store(why, true)
	return q, key
}

// requestOf is a request for a certificate in PEM, with a key that was made for it.
func (w *world) requestOf(request *x509.CertificateRequest) ([]byte, *ecdsa.PrivateKey) {
	w.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	w.must(err)
	der, err := x509.CreateCertificateRequest(rand.Reader, request, key)
	w.must(err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), key
}

func (w *world) step() {
	w.t.Helper()
	_, err := w.door.Step(w.t.Context())
	w.must(err)
}

func subject(node string) pkix.Name {
	return pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}}
}

var clientUsages = []certificates.KeyUsage{certificates.UsageDigitalSignature, certificates.UsageClientAuth}
var servingUsages = []certificates.KeyUsage{certificates.UsageDigitalSignature, certificates.UsageServerAuth}

// issued waits for the certificate of an approved request, and is a client with it.
func (w *world) issued(q *certificates.CertificateSigningRequest, key *ecdsa.PrivateKey) *kubernetes.Clientset {
	w.t.Helper()
	watch, err := w.admin.CertificatesV1().CertificateSigningRequests().Watch(w.t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + q.Name})
	w.must(err)
	defer watch.Stop()
	for e := range watch.ResultChan() {
		if is, ok := e.Object.(*certificates.CertificateSigningRequest); ok && len(is.Status.Certificate) > 0 {
			q = is
			break
		}
	}
	der, err := x509.MarshalECPrivateKey(key)
	w.must(err)
	c := rest.AnonymousClientConfig(w.config)
	c.CertData, c.KeyData = q.Status.Certificate, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	return kubernetes.NewForConfigOrDie(c)
}

// decided is the decision on a request: Approved or Denied, and its reason; "" while there is none.
func decided(q *certificates.CertificateSigningRequest) (string, string) {
	for _, c := range q.Status.Conditions {
		return string(c.Type), c.Reason
	}
	return "", ""
}

func (w *world) tokenIsGone(s said) bool {
	w.t.Helper()
	id, _, _ := strings.Cut(s.Token, ".")
	_, err := w.admin.CoreV1().Secrets("kube-system").Get(w.t.Context(), "bootstrap-token-"+id, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		w.t.Fatal(err)
	}
	return err != nil
}

// node registers a node as an administrator, for cases that are not about how.
func (w *world) node(name, providerID string) {
	w.t.Helper()
	_, err := w.admin.CoreV1().Nodes().Create(w.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID}}, metav1.CreateOptions{})
	w.must(err)
}
