package join_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	certificates "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sluice.dev/sluice/internal/attest"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/join"
)

// TestJoinByProof plays the door over the wire, between a simulated Azure and a real API server.
func TestJoinByProof(t *testing.T) {
	p := newPlane(t)
	played := 0
	plays := map[string]func(t *testing.T, p *plane){
		"a machine joins and its token is gone":             joinsWhole,
		"a kubelet gets no certificate of another node":     certificatesOfOthers,
		"serving certificates are the machine's own":        servingCertificates,
		"what proves nothing is refused":                    refusals,
		"a machine joins once":                              once,
		"an answer that was lost is given again":            lost,
		"tokens end":                                        tokensEnd,
		"certificates of issuers are fetched within bounds": fetches,
		"two hundred machines stay within the share":        twoHundred,
		"strangers ask in vain, and cost little":            strangers,
		"an old node of the name stands in the way":         nameTaken,
		"what only a person can mend is an Event":           eventsTell,
		"flexible machines join too":                        flexible,
		"two doors take each other's challenges":            twoDoors,
		"what others do not answer is asked for again":      unanswered,
		"the script of machines joins":                      script,
		"a certificate for something else signs nothing":    otherSigners,
		"a machine that asks twice at once gets one token":  twiceAtOnce,
		"who comes when 256 are judged comes again":         crowded,
		"clocks may be three minutes off":                   clocks,
		"an API server that was away is caught up with":     away,
		"a flood of requests keeps nobody else waiting":     certificateFlood,
		"silent connections keep nobody out":                silence,
		"hurried connections keep nobody out":               hurry,
		"a machine that asks too often keeps its challenge": tooOften,
		"who waits for certificates keeps nobody out":       issuersAwaited,
		"a computer in capitals is a node in small letters": capitals,
	}
	for name, play := range plays {
		t.Run(name, func(t *testing.T) { play(t, p); played++ })
	}
	if played < len(plays) {
		return // only some were asked for, or one ended early
	}
	for _, code := range p.codes(t) {
		if _, seen := p.seen.Load(code); !seen {
			t.Errorf("nobody got %s over the wire", code)
		}
	}
}

// codes are all that the door's metrics know.
func (p *plane) codes(t *testing.T) (all []string) {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(p.newWorld(t, "codes", 0).door.Collectors()...)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "sluice_join_refusals_total" {
			for _, m := range f.GetMetric() {
				all = append(all, m.GetLabel()[0].GetValue())
			}
		}
	}
	if len(all) < 25 {
		t.Fatalf("%d codes are found", len(all))
	}
	return all
}

func joinsWhole(t *testing.T, p *plane) {
	w := p.newWorld(t, "whole", 1)
	m := w.machine(0)
	if w.door.Woken() {
		t.Error("a door that has given nothing looks sooner")
	}
	s := m.joins()
	if !w.door.Woken() {
		t.Error("its kubelet's request waits until the door looks again by itself")
	}
	if s.Node != m.ComputerName || s.Server != p.config.Host || s.CACertificate != string(p.config.CAData) || !strings.HasPrefix(s.K3sToken, "K10") || !strings.HasSuffix(s.K3sToken, "::"+s.Token) {
		t.Errorf("it got %+v", s)
	}
	block, _ := pem.Decode(p.config.CAData)
	ca, err := x509.ParseCertificate(block.Bytes)
	w.must(err)
	if sum := sha256.Sum256(ca.RawSubjectPublicKeyInfo); s.CAHash != "sha256:"+hex.EncodeToString(sum[:]) {
		t.Errorf("the hash is %s", s.CAHash)
	}
	client := w.bearer(s)
	if _, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("with its token it may list pods: %v", err)
	}
	q, key := w.csr(client, certificates.KubeAPIServerClientKubeletSignerName, clientUsages, &x509.CertificateRequest{Subject: subject(s.Node)})
	if is, why := decided(q); is != "Approved" {
		t.Fatalf("its request is %q %s", is, why)
	}
	if w.tokenIsGone(s) {
		t.Error("its token ended before it is a node: it reads its certificate with it")
	}
	m.refused(m.join(), join.AlreadyJoined)
	kubelet := w.issued(q, key)
	_, err = kubelet.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.Node}}, metav1.CreateOptions{})
	w.must(err)
	w.step()
	if !w.tokenIsGone(s) {
		t.Error("it is a node, and its token is still there")
	}
	w.must(w.admin.CoreV1().Nodes().Delete(t.Context(), s.Node, metav1.DeleteOptions{}))
	m.refused(m.join(), join.AlreadyJoined)
}

func certificatesOfOthers(t *testing.T, p *plane) {
	w := p.newWorld(t, "thief", 2)
	s := w.machine(0).joins()
	client, own := w.bearer(s), s.Node
	other := w.machine(1).ComputerName
	for name, of := range map[string]struct {
		request *x509.CertificateRequest
		usages  []certificates.KeyUsage
		want    join.Code
	}{
		"another machine's node": {&x509.CertificateRequest{Subject: subject(other)}, clientUsages, join.CertificateName},
		"alternative names":      {&x509.CertificateRequest{Subject: subject(own), DNSNames: []string{own}}, clientUsages, join.CertificateName},
		"a server's usage":       {&x509.CertificateRequest{Subject: subject(own)}, []certificates.KeyUsage{certificates.UsageClientAuth, certificates.UsageServerAuth}, join.CertificateUsages},
	} {
		// Some of these the API server's admission refuses itself.
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		w.must(err)
		der, err := x509.CreateCertificateRequest(rand.Reader, of.request, key)
		w.must(err)
		q, err := client.CertificatesV1().CertificateSigningRequests().Create(t.Context(), &certificates.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "thief-"},
			Spec: certificates.CertificateSigningRequestSpec{
				Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), SignerName: certificates.KubeAPIServerClientKubeletSignerName, Usages: of.usages,
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		w.step()
		q, err = w.admin.CertificatesV1().CertificateSigningRequests().Get(t.Context(), q.Name, metav1.GetOptions{})
		w.must(err)
		is, why := decided(q)
		if w.seen.Store(why, true); is != "Denied" || why != string(of.want) {
			t.Errorf("%s: %q %s, want Denied %s", name, is, why, of.want)
		}
	}
	// A request that was made while the token was there, and is looked at when it has ended.
	w.ahead += join.DefaultLife
	q, _ := w.csr(client, certificates.KubeAPIServerClientKubeletSignerName, clientUsages, &x509.CertificateRequest{Subject: subject(own)})
	if is, why := decided(q); is != "Denied" || why != string(join.CertificateToken) {
		t.Errorf("an ended token's: %q %s", is, why)
	}
}

func servingCertificates(t *testing.T, p *plane) {
	w := p.newWorld(t, "serving", 2)
	// Of machines of other worlds, too, certificates would be expected.
	w.must(w.admin.CoreV1().ConfigMaps("sluice-join").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "sluice.dev/join=record"}))
	m, other := w.machine(0), w.machine(1)
	s := m.joins()
	q, key := w.csr(w.bearer(s), certificates.KubeAPIServerClientKubeletSignerName, clientUsages, &x509.CertificateRequest{Subject: subject(s.Node)})
	kubelet := w.issued(q, key)
	_, err := kubelet.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.Node}, Spec: corev1.NodeSpec{ProviderID: "azure://" + m.ID}}, metav1.CreateOptions{})
	w.must(err)
	looksAgain := func(want bool, when string) {
		t.Helper()
		if busy, err := w.door.Step(t.Context()); err != nil || busy != want {
			t.Errorf("%s: busy %v, want %v: %v", when, busy, want, err)
		}
	}
	looksAgain(true, "a new node has no serving certificate yet")
	w.ahead += 5 * time.Minute
	looksAgain(false, "its kubelet asks for none")
	w.ahead -= 5 * time.Minute
	ip, theirs := net.ParseIP(m.PrivateIP), net.ParseIP(other.PrivateIP)
	for name, of := range map[string]struct {
		request  *x509.CertificateRequest
		is, want string
	}{
		"its own":           {&x509.CertificateRequest{Subject: subject(s.Node), DNSNames: []string{s.Node}, IPAddresses: []net.IP{ip}}, "Approved", "JoinByProof"},
		"another's address": {&x509.CertificateRequest{Subject: subject(s.Node), DNSNames: []string{s.Node}, IPAddresses: []net.IP{ip, theirs}}, "Denied", string(join.CertificateAddress)},
		"another's name":    {&x509.CertificateRequest{Subject: subject(s.Node), DNSNames: []string{"kubernetes.default.svc"}}, "Denied", string(join.CertificateAddress)},
	} {
		q, _ := w.csr(kubelet, certificates.KubeletServingSignerName, servingUsages, of.request)
		if is, why := decided(q); is != of.is || why != of.want {
			t.Errorf("%s: %q %s, want %s %s", name, is, why, of.is, of.want)
		}
	}
	looksAgain(false, "it has one")
}

func refusals(t *testing.T, p *plane) {
	w := p.newWorld(t, "refused", 12)
	stranger, err := azuresim.NewAttestor()
	w.must(err)
	foreign := &azuresim.Server{Now: w.now, Attestation: stranger, Seed: 1}
	w.must(foreign.AddScaleSet(azuresim.ScaleSet{Subscription: subscription, ResourceGroup: "Farm", Name: "refused", Location: "westeurope", Size: "Standard_D4s_v5", Capacity: 1}))
	n := 0
	next := func() *machine { n++; return w.machine(n - 1) }

	m := next()
	nonce := m.challenge()
	d := m.document(nonce)
	der, err := base64.StdEncoding.DecodeString(d["signature"].(string))
	w.must(err)
	forged := bytes.Replace(der, []byte(m.VMID), []byte(w.machine(11).VMID), 1)
	d["signature"] = base64.StdEncoding.EncodeToString(forged)
	m.refused(m.ask(nonce, m.ID, d), join.Code(attest.BadSignature))

	m = next()
	nonce = m.challenge()
	own := w.sim
	w.sim = foreign
	document := (&machine{w: w, MachineState: foreign.Machines()[0]}).document(nonce)
	w.sim = own
	m.refused(m.ask(nonce, m.ID, document), join.Code(attest.Chain))

	for code, f := range map[attest.Code]azuresim.Fault{
		attest.Expired: {DocumentAge: 8 * time.Minute}, attest.Subscription: {DocumentSubscription: "another"}, attest.Nonce: {StaleNonce: true},
	} {
		f.Times = 1
		w.sim.Inject(f)
		m = next()
		m.refused(m.join(), join.Code(code))
	}

	m, other := next(), next()
	w.sim.Inject(azuresim.Fault{DocumentOf: other.ID, Times: 1})
	m.refused(m.join(), join.MachineOther)
	nonce = m.challenge() // and the other way round: its own document, the other's id
	m.refused(m.ask(nonce, other.ID, m.document(nonce)), join.MachineOther)

	m = w.called("refusedo_0")
	m.refused(m.join(), join.MachineGroup)
	m = w.called("refused-server")
	m.refused(m.join(), join.MachineGroup)

	m = next()
	for _, id := range []string{"", "/subscriptions/x/resourceGroups/farm/providers/Microsoft.Compute/virtualMachines/a", m.ID + "/../5", m.ID + "?a=b", strings.Replace(m.ID, subscription, "other", 1)} {
		w.ahead += 3 * time.Second
		nonce = m.challenge()
		m.refused(m.ask(nonce, id, m.document(nonce)), join.MachineID)
	}

	// A pod with an address of its own has its machine's document.
	m = next()
	pod := w.at127(m.MachineState, "127.200.0.7")
	pod.refused(pod.join(), join.AddressOther)
	nonce = m.challenge()
	pod.refused(pod.ask(nonce, m.ID, m.document(nonce)), join.ChallengeUnknown)

	// Nothing is left to replay.
	nonce = m.challenge()
	document = m.document(nonce)
	if s := m.ask(nonce, m.ID, document); s.status != http.StatusOK {
		t.Fatalf("it is refused: %+v", s)
	}
	m.refused(m.ask(nonce, m.ID, document), join.ChallengeUsed)

	m = next()
	nonce = m.challenge()
	w.ahead += 2*time.Minute + time.Second
	m.refused(m.ask(nonce, m.ID, m.document(nonce)), join.ChallengeExpired)
	w.ahead += 30 * time.Minute
	m.refused(m.join(), join.MachineOld)
}

func once(t *testing.T, p *plane) {
	w := p.newWorld(t, "once", 1)
	m := w.machine(0)
	m.joins()
	w.node(m.ComputerName, "")
	m.refused(m.join(), join.AlreadyJoined)
	w.must(w.admin.CoreV1().Nodes().Delete(t.Context(), m.ComputerName, metav1.DeleteOptions{}))
	w.open() // a restart forgets nothing
	m.refused(m.join(), join.AlreadyJoined)
}

func lost(t *testing.T, p *plane) {
	w := p.newWorld(t, "lost", 1)
	m := w.machine(0)
	first := m.joins()
	second := m.joins()
	if first.Token == second.Token || !w.tokenIsGone(first) || w.tokenIsGone(second) {
		t.Error("of two tokens only the second is good")
	}
	// The first was never used: of one that was, the API server remembers for ten seconds more whose it is.
	for tries := 0; ; tries++ { // it hears of the end by a watch
		_, err := w.bearer(first).CoreV1().Nodes().Get(t.Context(), first.Node, metav1.GetOptions{})
		if apierrors.IsUnauthorized(err) {
			break
		}
		if tries == 100 {
			t.Fatalf("the first still opens: %v", err)
		}
	}
	for range 3 {
		w.ahead += 20 * time.Second
		m.joins()
	}
	m.refused(m.join(), join.TokensSpent)
}

func tokensEnd(t *testing.T, p *plane) {
	w := p.newWorld(t, "ends", 2)
	late, gone := w.machine(0), w.machine(1)
	tokens := []said{late.joins(), gone.joins()}
	w.step()
	if w.tokenIsGone(tokens[0]) || w.tokenIsGone(tokens[1]) {
		t.Error("they end at once")
	}
	w.must(w.sim.DeleteMachine(gone.ID))
	w.ahead += 3 * time.Minute
	w.step()
	if w.tokenIsGone(tokens[0]) || !w.tokenIsGone(tokens[1]) {
		t.Error("the token of the machine that is gone ends, and no other")
	}
	w.ahead += join.DefaultLife
	w.step()
	if !w.tokenIsGone(tokens[0]) {
		t.Error("its time is over, and it is there")
	}
	w.ahead += 3 * time.Hour
	w.step()
	records, err := w.admin.CoreV1().ConfigMaps("sluice-join").List(t.Context(), metav1.ListOptions{LabelSelector: "sluice.dev/join=record"})
	w.must(err)
	for _, r := range records.Items {
		if strings.HasPrefix(r.Data["node"], "ends") {
			t.Errorf("the record of %s is kept", r.Data["node"])
		}
	}
}

func fetches(t *testing.T, p *plane) {
	w := p.newWorld(t, "fetch", 3)
	count := func() (n int) {
		for _, r := range w.sim.Requests() {
			if r.Kind == "GET pkiops/certs" {
				n++
			}
		}
		return n
	}
	w.sim.Inject(azuresim.Fault{Oversize: 16 << 10, Times: 1})
	m := w.machine(0)
	m.refused(m.join(), join.IssuerUnavailable)
	m.refused(m.join(), join.IssuerUnavailable)
	if n := count(); n != 1 {
		t.Errorf("what cannot be had is asked for %d times", n)
	}
	w.ahead += 5 * time.Minute
	m.joins()
	w.machine(1).joins()
	if n := count(); n != 3 {
		t.Errorf("certificates are fetched %d times", n)
	}
	w.ahead = 0
	w.sim.Inject(azuresim.Fault{Kind: "GET pkiops/certs", Hang: true, Times: 1})
	w.options.Now = func() time.Time { return w.now() }
	w.open()
	m = w.machine(2)
	m.refused(m.join(), join.IssuerUnavailable)
	w.options.IssuersFrom = ""
	w.open()
	m.refused(m.join(), join.Code(attest.Chain))
}

func twoHundred(t *testing.T, p *plane) {
	w := p.newWorld(t, "many", 200)
	before := len(w.sim.Requests())
	var waiting []*machine
	for n := range 200 {
		waiting = append(waiting, w.machine(n))
	}
	type answered struct {
		*machine
		said
	}
	in, rounds := 0, 0
	for ; len(waiting) > 0 && rounds < 5; rounds++ {
		answers := make(chan answered, len(waiting))
		for _, m := range waiting {
			go func() { answers <- answered{m, m.join()} }()
		}
		asked := len(waiting)
		waiting = nil
		for range asked {
			switch a := <-answers; {
			case a.status == http.StatusOK:
				in++
			case a.status == http.StatusServiceUnavailable:
				waiting = append(waiting, a.machine)
			default:
				t.Errorf("%s got %+v", a.Name, a.said)
			}
		}
		w.ahead += 5 * time.Second
	}
	reads := 0
	for _, r := range w.sim.Requests()[before:] {
		if r.Status == http.StatusTooManyRequests {
			t.Errorf("Azure refuses %s", r.Kind)
		}
		if strings.Contains(r.Kind, "irtualMachine") || strings.Contains(r.Kind, "networkInterfaces") {
			reads++
		}
	}
	t.Logf("%d joined in %d rounds, with %d reads of Azure", in, rounds, reads)
	if reads > 30 || in != 200 {
		t.Errorf("%d joined with %d reads of Azure", in, reads)
	}
}

func strangers(t *testing.T, p *plane) {
	w := p.newWorld(t, "stranger", 1)
	m := w.machine(0)
	before := len(w.sim.Requests())
	m.refused(m.send(join.JoinPath, []byte("no JSON")), join.RequestUnreadable)
	m.refused(m.send(join.JoinPath, bytes.Repeat([]byte(" "), 65<<10)), join.RequestTooLarge)
	m.refused(m.ask("x", m.ID, map[string]any{"encoding": "pkcs7", "signature": ""}), join.ChallengeUnknown)
	m.refused(m.ask(m.challenge(), m.ID, map[string]any{"encoding": "pkcs7", "signature": ""}), join.Code(attest.Unreadable))
	m.refused(m.ask(m.challenge(), m.ID, map[string]any{"encoding": "jwt", "signature": ""}), join.RequestUnreadable)
	for range 10 {
		m.post(join.ChallengePath, nil)
	}
	m.refused(m.post(join.ChallengePath, nil), join.TooManyRequests)
	if n := len(w.sim.Requests()) - before; n != 0 {
		t.Errorf("Azure was asked %d times", n)
	}
	w.at127(m.MachineState, "127.201.0.1").challenge() // others are not kept waiting
	if resp, err := m.client.Get(w.at + join.JoinPath); err != nil || resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %v %v", resp, err)
	}
	if resp, err := m.client.Get(w.at + "/metrics"); err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("another path: %v %v", resp, err)
	}
}

func nameTaken(t *testing.T, p *plane) {
	w := p.newWorld(t, "taken", 0, func(o *join.Options) { o.Pools = nil })
	w.node("takenlater000000", "")
	w.ahead += 6 * time.Minute // clocks may be five apart
	w.must(w.sim.AddScaleSet(azuresim.ScaleSet{
		Subscription: subscription, ResourceGroup: "Farm", Name: "takenlater", Location: "westeurope", Size: "Standard_D4s_v5", Capacity: 1,
	}))
	m := w.called("takenlater_0")
	m.refused(m.join(), join.NameTaken)
	w.must(w.admin.CoreV1().Nodes().Delete(t.Context(), m.ComputerName, metav1.DeleteOptions{}))
	m.joins()
}

func unanswered(t *testing.T, p *plane) {
	w := p.newWorld(t, "wait", 4)
	gone := w.machine(0)
	nonce := gone.challenge()
	document := gone.document(nonce)
	w.must(w.sim.DeleteMachine(gone.ID))
	gone.refused(gone.ask(nonce, gone.ID, document), join.MachineUnknown)

	m := w.machine(1)
	w.sim.Inject(azuresim.Fault{Kind: "GET virtualMachineScaleSets/virtualMachines", Status: 429, RetryAfter: time.Minute, Times: 1})
	s := m.join()
	if m.refused(s, join.AzureUnavailable); s.retry != "60" {
		t.Errorf("Azure wants a minute, the machine is told %s s", s.retry)
	}
	w.ahead += 2 * time.Minute
	m.joins()

	w.options.Pools = nil
	w.open()
	w.must(w.sim.AddScaleSet(azuresim.ScaleSet{
		Subscription: subscription, ResourceGroup: "Farm", Name: "wait_b", Location: "westeurope", Size: "Standard_D4s_v5", Capacity: 1,
	}))
	m = w.called("wait_b_0")
	m.refused(m.join(), join.MachineName)

	other := rest.CopyConfig(p.config)
	other.Impersonate = rest.ImpersonationConfig{UserName: "nobody"}
	w.options.Client = kubernetes.NewForConfigOrDie(other)
	w.open()
	m = w.machine(2)
	m.refused(m.join(), join.ClusterUnavailable)
}

func eventsTell(t *testing.T, p *plane) {
	w := p.newWorld(t, "events", 1)
	m := w.called("eventso_0")
	m.refused(m.join(), join.MachineGroup)
	m.refused(m.join(), join.MachineGroup)
	events, err := w.admin.CoreV1().Events("sluice-join").List(t.Context(), metav1.ListOptions{FieldSelector: "reason=" + string(join.MachineGroup)})
	w.must(err)
	n := 0
	for _, e := range events.Items {
		if strings.Contains(e.Message, "eventso") && strings.Contains(e.Message, "--join-pools") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d Events tell of it: %v", n, events.Items)
	}
}

func flexible(t *testing.T, p *plane) {
	w := p.newWorld(t, "flex", 0, func(o *join.Options) { o.Pools = nil })
	w.must(w.sim.AddScaleSet(azuresim.ScaleSet{
		Subscription: subscription, ResourceGroup: "Farm", Name: "flexible", OrchestrationMode: "Flexible", Location: "westeurope", Size: "Standard_D4s_v5", Capacity: 6,
	}))
	for _, s := range w.sim.Machines() {
		if s.ScaleSet == "flexible" {
			w.at127(s, s.PrivateIP).joins()
		}
	}
}

func twoDoors(t *testing.T, p *plane) {
	w := p.newWorld(t, "doors", 1)
	m := w.machine(0)
	nonce := m.challenge()
	w.open()
	m = w.machine(0)
	if s := m.ask(nonce, m.ID, m.document(nonce)); s.status != http.StatusOK {
		t.Errorf("the second door refuses: %+v", s)
	}
}
