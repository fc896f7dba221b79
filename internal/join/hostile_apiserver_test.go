package join_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	certificates "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sluice.dev/sluice/internal/attest"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/join"
)

// otherSigner signs documents as well as Azure does, with a certificate for something else.
func (w *world) otherSigner(name string) *azuresim.Attestor {
	w.t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	w.must(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	w.must(err)
	leaf, err := x509.ParseCertificate(der)
	w.must(err)
	return &azuresim.Attestor{CA: leaf, Leaf: leaf, Key: key}
}

func otherSigners(t *testing.T, p *plane) {
	w := p.newWorld(t, "signer", 3)
	own := w.sim.Attestation
	for n, name := range []string{"www.example.com", "metadata.azure.com.example.com", "evilmetadata.azure.com"} {
		m := w.machine(n)
		nonce := m.challenge()
		w.sim.Attestation = w.otherSigner(name)
		m.refused(m.ask(nonce, m.ID, m.document(nonce)), join.Code(attest.Signer))
		w.sim.Attestation = own
	}
}

// gate is a transport that holds writes of records until two are there.
type gate struct {
	http.RoundTripper
	two sync.WaitGroup
}

func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost && r.URL.Path == "/api/v1/namespaces/sluice-join/configmaps" {
		g.two.Done()
		g.two.Wait()
	}
	return g.RoundTripper.RoundTrip(r)
}

// account is the door's client, through another transport.
func (w *world) account(wrap func(http.RoundTripper) http.RoundTripper) kubernetes.Interface {
	c := rest.CopyConfig(w.config)
	c.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:kube-system:sluice", Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	c.Wrap(wrap)
	return kubernetes.NewForConfigOrDie(c)
}

// twiceAtOnce has a machine ask twice, and both requests find no record: one token is made.
func twiceAtOnce(t *testing.T, p *plane) {
	w := p.newWorld(t, "twice", 1)
	g := &gate{}
	g.two.Add(2)
	w.options.Client = w.account(func(next http.RoundTripper) http.RoundTripper { g.RoundTripper = next; return g })
	w.open()
	m := w.machine(0)
	answers := make(chan said, 2)
	for range 2 {
		nonce := m.challenge()
		document := m.document(nonce)
		go func() { answers <- m.ask(nonce, m.ID, document) }()
	}
	one, other := <-answers, <-answers
	if one.status != http.StatusOK {
		one, other = other, one
	}
	if one.status != http.StatusOK {
		t.Fatalf("neither is let in: %+v %+v", one, other)
	}
	m.refused(other, join.Busy)
	tokens, err := w.admin.CoreV1().Secrets("kube-system").List(t.Context(), metav1.ListOptions{LabelSelector: "sluice.dev/join=token"})
	w.must(err)
	n := 0
	for _, s := range tokens.Items {
		if s.Annotations["sluice.dev/node"] == m.ComputerName {
			n++
		}
	}
	if n != 1 {
		t.Errorf("there are %d tokens", n)
	}
}

// held is a cloud that does not answer before its gate is open.
type held struct {
	join.Cloud
	open chan struct{}
}

func (h held) Machine(ctx context.Context, id string) (azure.Arrival, error) {
	<-h.open
	return h.Cloud.Machine(ctx, id)
}

func (h held) Machines(ctx context.Context, group, set string) ([]azure.Arrival, error) {
	<-h.open
	return h.Cloud.Machines(ctx, group, set)
}

// crowded has 258 good documents judged while Azure answers none: 256 wait, and two are sent away at once.
func crowded(t *testing.T, p *plane) {
	const all, most = 258, 256
	h := held{open: make(chan struct{})}
	w := p.newWorld(t, "crowd", all/10+1, func(o *join.Options) {
		h.Cloud = o.Cloud
		o.Cloud = h
	})
	w.sim.Throttle = false // a metadata service answers five times in a second
	answers := make(chan said, all)
	for n := range all {
		m := w.at127(w.machine(n/10).MachineState, fmt.Sprintf("127.210.%d.%d", n/200, n%200+1))
		nonce := m.challenge()
		document := m.document(nonce)
		go func() {
			var s said
			defer func() { answers <- s }()
			s = m.ask(nonce, m.ID, document)
		}()
	}
	for range all - most {
		(&machine{w: w}).refused(<-answers, join.Busy)
	}
	close(h.open)
	for range most {
		(&machine{w: w}).refused(<-answers, join.AddressOther)
	}
}

// issuersAwaited has 300 documents by nobody's signers come while certificates of issuers cannot be fetched. A machine whose issuer is known joins meanwhile.
func issuersAwaited(t *testing.T, p *plane) {
	const all, most = 300, 256
	stranger, err := azuresim.NewAttestor()
	if err != nil {
		t.Fatal(err)
	}
	open := make(chan struct{})
	w := p.newWorld(t, "awaited", 1, func(o *join.Options) {
		o.Transport = roundTripper(func(*http.Request) (*http.Response, error) {
			<-open
			return nil, errors.New("no way out")
		})
	})
	attestor, err := w.sim.Attestor()
	w.must(err)
	w.options.Intermediates = attestor.Certificates()
	w.open()
	foreign := &azuresim.Server{Now: w.now, Attestation: stranger, Seed: 1}
	w.must(foreign.AddScaleSet(azuresim.ScaleSet{Subscription: subscription, ResourceGroup: "Farm", Name: "strange", Location: "westeurope", Size: "Standard_D4s_v5", Capacity: 1}))
	own := w.sim
	answers := make(chan said, all)
	for n := range all {
		m := w.at127(foreign.Machines()[0], fmt.Sprintf("127.230.%d.%d", n/200, n%200+1))
		nonce := m.challenge()
		w.sim = foreign
		document := m.document(nonce)
		w.sim = own
		go func() {
			var s said
			defer func() { answers <- s }()
			s = m.ask(nonce, m.ID, document)
		}()
	}
	for range all - most {
		(&machine{w: w}).refused(<-answers, join.IssuerUnavailable)
	}
	w.machine(0).joins()
	close(open)
	for range most {
		(&machine{w: w}).refused(<-answers, join.IssuerUnavailable)
	}
}

// clocks has the door's clock three minutes off. Machines wait until somebody has mended it.
func clocks(t *testing.T, p *plane) {
	w := p.newWorld(t, "clock", 2)
	var off time.Duration
	w.options.Now = func() time.Time { return w.now().Add(off) }
	w.open()
	m := w.machine(0)
	off = -3 * time.Minute
	s := m.join()
	if m.refused(s, join.Code(attest.Expired)); s.retry == "" {
		t.Error("it is refused for good, and the clock is the door's")
	}
	off = 0
	m.joins()
	off = 3 * time.Minute
	m = w.machine(1)
	s = m.joins()
	// The API server's clock is behind Azure's: the Node looks older than its machine.
	w.ahead = 3 * time.Minute
	w.node(s.Node, "azure://"+m.ID)
	w.step()
	if !w.tokenIsGone(s) {
		t.Error("the machine is a node, and its token stays")
	}
}

// away has no API server for some minutes after a token was made.
func away(t *testing.T, p *plane) {
	w := p.newWorld(t, "away", 2)
	var down atomic.Bool
	w.options.Client = w.account(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if down.Load() {
				return nil, errors.New("connection refused")
			}
			return next.RoundTrip(r)
		})
	})
	w.open()
	m, late := w.machine(0), w.machine(1)
	tokens := []said{m.joins(), late.joins()}
	down.Store(true)
	if busy, err := w.door.Step(t.Context()); err == nil || !busy {
		t.Errorf("nobody answers: busy %v, %v", busy, err)
	}
	m.refused(m.join(), join.ClusterUnavailable)
	w.node(tokens[0].Node, "")
	w.ahead += 5 * time.Minute
	down.Store(false)
	w.step()
	if !w.tokenIsGone(tokens[0]) || w.tokenIsGone(tokens[1]) {
		t.Error("of the token of the node nothing is left, and the other is good")
	}
	w.ahead += 5 * time.Minute
	w.step()
	if !w.tokenIsGone(tokens[1]) {
		t.Error("its time is over, and it is there")
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// requests asks for certificates and has nobody decide.
func (w *world) requests(client kubernetes.Interface, name string, n int, signer string, usages []certificates.KeyUsage, request *x509.CertificateRequest) {
	w.t.Helper()
	for i := range n {
		pem, _ := w.requestOf(request)
		_, err := client.CertificatesV1().CertificateSigningRequests().Create(w.t.Context(), &certificates.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%03d", name, i)}, Spec: certificates.CertificateSigningRequestSpec{Request: pem, SignerName: signer, Usages: usages},
		}, metav1.CreateOptions{})
		w.must(err)
	}
}

// certificateFlood has one node, and one token, ask for more certificates than anybody needs: the others are not kept waiting.
func certificateFlood(t *testing.T, p *plane) {
	w := p.newWorld(t, "flood", 3)
	as := func(node string) kubernetes.Interface {
		c := rest.CopyConfig(p.config)
		c.Impersonate = rest.ImpersonationConfig{UserName: "system:node:" + node, Groups: []string{"system:nodes", "system:authenticated"}}
		return kubernetes.NewForConfigOrDie(c)
	}
	w.node("flooder", "azure://"+w.called("floodo_0").ID) // of a group that is not the door's
	w.requests(as("flooder"), "0flood-serving", 12, certificates.KubeletServingSignerName, servingUsages, &x509.CertificateRequest{Subject: subject("flooder"), DNSNames: []string{"flooder"}})
	m := w.machine(0)
	w.node(m.ComputerName, "azure://"+m.ID)
	q, _ := w.csr(as(m.ComputerName), certificates.KubeletServingSignerName, servingUsages, &x509.CertificateRequest{Subject: subject(m.ComputerName), IPAddresses: []net.IP{net.ParseIP(m.PrivateIP)}})
	if is, why := decided(q); is != "Approved" {
		t.Errorf("a node's own is %q %s", is, why)
	}

	flooding, own := w.machine(1).joins(), w.machine(2).joins()
	w.requests(w.bearer(flooding), "0flood-client", 12, certificates.KubeAPIServerClientKubeletSignerName, clientUsages, &x509.CertificateRequest{Subject: subject(flooding.Node)})
	q, _ = w.csr(w.bearer(own), certificates.KubeAPIServerClientKubeletSignerName, clientUsages, &x509.CertificateRequest{Subject: subject(own.Node)})
	if is, why := decided(q); is != "Approved" {
		t.Errorf("another machine's is %q %s", is, why)
	}
	list, err := w.admin.CertificatesV1().CertificateSigningRequests().List(t.Context(), metav1.ListOptions{})
	w.must(err)
	n := 0
	for i := range list.Items {
		if is, _ := decided(&list.Items[i]); is != "" && list.Items[i].Spec.Username == "system:bootstrap:"+flooding.Token[:6] {
			n++
		}
	}
	if n == 0 || n > 4 {
		t.Errorf("of one token %d requests are decided in a pass", n)
	}
}

// served is the world's door on a port of its own, as the program has it.
func (w *world) served() {
	w.t.Helper()
	file, fingerprint, err := join.NewIdentity(time.Now())
	w.must(err)
	pair, err := tls.X509KeyPair(file, file)
	w.must(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.door.Serve(ctx, l, pair) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	})
	w.at, w.fingerprint = "https://"+l.Addr().String(), fingerprint
}

// silent connects and says nothing.
func (w *world) silent(from string) net.Conn {
	w.t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := dialer.DialContext(w.t.Context(), "tcp", w.at[len("https://"):])
	w.must(err)
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

// closed wants the door to have closed a connection without a word. Connections are taken in their order, so that all earlier ones were then, too.
func (w *world) closed(c net.Conn) {
	w.t.Helper()
	w.must(c.SetReadDeadline(time.Now().Add(30 * time.Second)))
	if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil {
		w.t.Errorf("it says %d bytes", n)
	} else if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		w.t.Error("it is open")
	}
}

// silence has forty addresses open all the connections that they may, and say nothing. A machine joins all the same.
func silence(t *testing.T, p *plane) {
	w := p.newWorld(t, "silent", 1)
	w.served()
	for a := range 40 {
		from := fmt.Sprintf("127.220.0.%d", a+1)
		for range 16 {
			w.silent(from)
		}
		w.closed(w.silent(from))
	}
	w.machine(0).joins()
}

// hurry has one address connect again and again. Nobody else waits for it.
func hurry(t *testing.T, p *plane) {
	w := p.newWorld(t, "hurry", 1)
	w.served()
	const often = 200
	refused := 0
	for range often {
		c := w.silent("127.221.0.1")
		_, err := io.WriteString(c, "GET / HTTP/1.0\r\n\r\n") // no TLS: the door says so and closes
		if _, also := c.Read(make([]byte, 1)); err != nil || also != nil {
			refused++
		}
		_ = c.Close()
	}
	if refused < often/2 {
		t.Errorf("%d of %d connections are refused", refused, often)
	}
	w.machine(0).joins()
}

// capitals has a machine whose computer name is written so.
func capitals(t *testing.T, p *plane) {
	w := p.newWorld(t, "capitals", 0, func(o *join.Options) { o.Pools = nil })
	w.must(w.sim.AddScaleSet(azuresim.ScaleSet{
		Subscription: subscription, ResourceGroup: "Farm", Name: "Upper", ComputerNamePrefix: "UPPER", Location: "westeurope", Size: "Standard_D4s_v5", Capacity: 1,
	}))
	m := w.called("Upper_0")
	s := m.joins()
	if s.Node != strings.ToLower(m.ComputerName) || s.Node == m.ComputerName {
		t.Fatalf("computer %s is to be node %s", m.ComputerName, s.Node)
	}
	for name, want := range map[string]string{m.ComputerName: "Denied", s.Node: "Approved"} {
		q, _ := w.csr(w.bearer(s), certificates.KubeAPIServerClientKubeletSignerName, clientUsages, &x509.CertificateRequest{Subject: subject(name)})
		if is, why := decided(q); is != want {
			t.Errorf("a certificate for %s is %q %s, want %s", name, is, why, want)
		}
	}
}

// tooOften has pods ask with their machine's documents until nobody is asked about it any more. What was refused so is not used up: the memory of challenges is for
// those that were judged.
func tooOften(t *testing.T, p *plane) {
	w := p.newWorld(t, "often", 1)
	w.sim.Throttle = false
	m := w.machine(0)
	for n := range 10 {
		pod := w.at127(m.MachineState, fmt.Sprintf("127.240.0.%d", n+1))
		pod.refused(pod.join(), join.AddressOther)
	}
	nonce := m.challenge()
	document := m.document(nonce)
	m.refused(m.ask(nonce, m.ID, document), join.TooManyRequests)
	w.ahead += 30 * time.Second
	if s := m.ask(nonce, m.ID, document); s.status != http.StatusOK {
		t.Errorf("it is refused: %+v", s)
	}
}
