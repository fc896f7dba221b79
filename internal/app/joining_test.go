package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azure/config"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/join"
)

// joining are options of a process that lets machines join, with a key in a file, and its fingerprint.
func joining(t *testing.T) (o Options, log *bytes.Buffer, fingerprint string) {
	t.Helper()
	sim := &azuresim.Server{AnyToken: true}
	if err := sim.AddMachine(azuresim.Machine{Subscription: "s", ResourceGroup: "farm", Name: "server-0", Location: "westeurope", SystemAssigned: true}); err != nil {
		t.Fatal(err)
	}
	file, fingerprint, err := join.NewIdentity(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tls.pem")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	log = &bytes.Buffer{}
	o = Options{
		Kube:  &rest.Config{Host: "https://127.0.0.1:1", TLSClientConfig: rest.TLSClientConfig{CAData: file}},
		Azure: azure.Options{Config: config.Config{Subscription: "s", ResourceGroup: "farm"}, Transport: &azuresim.Transport{Server: sim, Machine: "server-0"}},
		Log:   slog.New(slog.NewTextHandler(log, nil)),
		Joining: Joining{
			Address: "somewhere", Listener: l, TLSFile: path, Server: "https://10.0.0.4:6443", Distribution: join.K3s, Age: join.DefaultAge, Life: join.DefaultLife,
		},
	}
	return o, log, fingerprint
}

func TestJoinServesTheDoorUntilItIsToldToStop(t *testing.T) {
	o, _, fingerprint := joining(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Join(ctx, o) }()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		InsecureSkipVerify: true, //nolint:gosec // the fingerprint is compared
		VerifyConnection: func(c tls.ConnectionState) error {
			if sum := sha256.Sum256(c.PeerCertificates[0].Raw); hex.EncodeToString(sum[:]) != fingerprint {
				return errors.New("it is another door")
			}
			return nil
		},
	}}}
	resp, err := client.Post("https://"+o.Joining.Listener.Addr().String()+join.ChallengePath, "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK || !strings.Contains(string(body), "nonce") {
		t.Errorf("the door answers %d %s", resp.StatusCode, body)
	}
	client.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Errorf("it ends with %v", err)
	}
}

// TestTheAutoscalerDoesNotWaitForTheDoor: the key of the door may come later, or never; anything else that is wrong is said at the start.
func TestTheAutoscalerDoesNotWaitForTheDoor(t *testing.T) {
	o, log, _ := joining(t)
	provider, err := azure.New(t.Context(), o.Azure)
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(o.Kube)
	letIn := func(change func(*Options)) error {
		own := o
		change(&own)
		return own.letIn(t.Context(), client, provider, func(...prometheus.Collector) {}, func(err error) { t.Error(err) })
	}
	for name, change := range map[string]func(*Options){
		"no address": func(o *Options) { o.Joining.Address, o.Joining.Listener = "", nil },
		"a dry run":  func(o *Options) { o.DryRun = true },
	} {
		if err := letIn(change); err != nil || log.Len() > 0 {
			t.Errorf("%s: %v %s", name, err, log)
		}
	}
	if err := letIn(func(o *Options) { o.Joining.TLSFile += ".none" }); err != nil || !strings.Contains(log.String(), "before the key of the door is there") {
		t.Errorf("without a key: %v %s", err, log)
	}
	none := filepath.Join(t.TempDir(), "none")
	for want, change := range map[string]func(*Options){
		"--join-distribution=rke2":               func(o *Options) { o.Joining.Distribution = "rke2" },
		"--join-server=http://10.0.0.4":          func(o *Options) { o.Joining.Server = "http://10.0.0.4" },
		"--join-server is empty":                 func(o *Options) { o.Joining.Server = "" },
		"--join-tls-file=/dev/null":              func(o *Options) { o.Joining.TLSFile = "/dev/null" },
		"--attest-certificates=" + none:          func(o *Options) { o.Joining.Certificates = none },
		"--attest-certificates=/dev/null":        func(o *Options) { o.Joining.Certificates = "/dev/null" },
		"--join-address=nowhere.invalid:7443":    func(o *Options) { o.Joining.Listener, o.Joining.Address = nil, "nowhere.invalid:7443" },
		"--join-ca-file is empty":                func(o *Options) { o.Kube = &rest.Config{} },
		"--join-ca-file=" + none:                 func(o *Options) { o.Joining.CAFile = none },
		"--join-max-age=1s, --join-token-life=1": func(o *Options) { o.Joining.Age = time.Second },
	} {
		if err := letIn(change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestOwnRootsAreTrustedInThePlaceOfMicrosofts and issuers besides.
func TestOwnRootsAreTrustedInThePlaceOfMicrosofts(t *testing.T) {
	sim := &azuresim.Server{}
	attestor, err := sim.Attestor()
	if err != nil {
		t.Fatal(err)
	}
	all, signer := attestor.Certificates(), attestor.Leaf
	for n, trusted := range map[int]bool{0: true, 1: false} {
		var text []byte
		for _, c := range all[n:] {
			text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
		}
		path := filepath.Join(t.TempDir(), "own.pem")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		roots, between, err := Joining{Certificates: path}.roots()
		if err != nil {
			t.Fatal(err)
		}
		pool := x509.NewCertPool()
		for _, c := range between {
			pool.AddCert(c)
		}
		if _, err := signer.Verify(x509.VerifyOptions{Roots: roots, Intermediates: pool}); (err == nil) != trusted {
			t.Errorf("from certificate %d on: %v", n, err)
		}
	}
}
