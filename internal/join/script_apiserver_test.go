package join_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"

	"sluice.dev/sluice/internal/azuresim"
)

// script runs what machines run. Without Python the protocol is tried by the client of the other tests alone.
func script(t *testing.T, p *plane) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("LEFT OUT: there is no python3, so that sluice-join, the script on machines, was not tried: install Python 3.9 or newer")
	}
	path, err := filepath.Abs("../render/join.py")
	if err != nil {
		t.Fatal(err)
	}
	w := p.newWorld(t, "script", 5)
	run := func(m *machine, arguments ...string) (code int, printed, console, root string) {
		t.Helper()
		metadata := httptest.NewServer(w.sim.Metadata(m.ID))
		t.Cleanup(metadata.Close)
		root = t.TempDir()
		cmd := exec.CommandContext(t.Context(), python, append([]string{path, "--imds", metadata.URL, "--console", root + "/console", "--root", root, "--source", m.PrivateIP}, arguments...)...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		said, _ := os.ReadFile(root + "/console")
		return cmd.ProcessState.ExitCode(), out.String(), string(said), root
	}
	read := func(path string) string {
		t.Helper()
		text, err := os.ReadFile(path)
		w.must(err)
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", path, info, err)
		}
		return string(text)
	}
	door := func(distribution string) []string {
		return []string{"--door", w.at, "--fingerprint", w.fingerprint, "--distribution", distribution}
	}

	m := w.machine(0)
	code, printed, console, root := run(m, door("k3s")...)
	if code != 0 || !strings.Contains(console, "admitted as node "+m.ComputerName) {
		t.Fatalf("k3s: exit %d: %s%s", code, printed, console)
	}
	var agent struct{ Server, Token string }
	w.must(yaml.Unmarshal([]byte(read(root+"/etc/rancher/k3s/config.yaml")), &agent))
	whole := sha256.Sum256(p.config.CAData)
	if agent.Server != p.config.Host || !strings.HasPrefix(agent.Token, "K10"+hex.EncodeToString(whole[:])+"::") {
		t.Errorf("k3s: %+v", agent)
	}

	m = w.machine(1)
	if code, printed, _, root = run(m, door("kubeadm")...); code != 0 {
		t.Fatalf("kubeadm: exit %d: %s", code, printed)
	}
	var configuration struct {
		Kind      string
		Discovery struct {
			BootstrapToken struct {
				APIServerEndpoint, Token string
				CACertHashes             []string
			}
		}
		NodeRegistration struct{ Name string }
	}
	w.must(yaml.Unmarshal([]byte(read(root+"/etc/sluice/join.yaml")), &configuration))
	b := configuration.Discovery.BootstrapToken
	if "https://"+b.APIServerEndpoint != p.config.Host || len(b.Token) != 23 || len(b.CACertHashes) != 1 || configuration.NodeRegistration.Name != m.ComputerName {
		t.Errorf("kubeadm: %+v", configuration)
	}

	// Another door gets nothing at all: not even a request.
	m = w.machine(2)
	requests := 0
	other := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests++ }))
	t.Cleanup(other.Close)
	code, printed, _, root = run(m, "--door", other.URL, "--fingerprint", w.fingerprint, "--distribution", "k3s", "--give-up-after", "0")
	if _, err := os.Stat(root + "/etc"); code != 1 || requests != 0 || !strings.Contains(printed, "door-unknown") || err == nil {
		t.Errorf("another door: exit %d, %d requests: %s", code, requests, printed)
	}

	// What is over soon is waited for, and what is not ends.
	w.sim.Inject(azuresim.Fault{StaleNonce: true, Times: 1})
	if code, printed, _, _ = run(m, door("k3s")...); code != 0 || !strings.Contains(printed, "waits: document-nonce") {
		t.Errorf("a stale nonce: exit %d: %s", code, printed)
	}
	w.node(m.ComputerName, "")
	code, printed, console, root = run(m, door("k3s")...)
	if _, err := os.Stat(root + "/etc"); code != 2 || !strings.Contains(console, "sluice-join: refused: already-joined: ") || err == nil {
		t.Errorf("a second time: exit %d: %s%s", code, printed, console)
	}

	if code, printed, _, _ = run(m, "--provider-id"); code != 0 || strings.TrimSpace(printed) != "azure://"+strings.Replace(m.ID, "/Farm/", "/farm/", 1) {
		t.Errorf("the provider id is %s", printed)
	}
	if code, printed, _, _ = run(m, "--labels"); code != 0 || !strings.Contains(printed, "node.kubernetes.io/instance-type=Standard_D4s_v5,topology.kubernetes.io/region=westeurope") {
		t.Errorf("the labels are %s", printed)
	}
}
