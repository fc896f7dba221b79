package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sluice.dev/sluice/internal/doctor"
)

// said is what a command line came to.
type said struct {
	code      int
	out       string // to standard output
	complaint string // to standard error
}

// pen is a buffer that a log may be written to while a test reads it.
type pen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *pen) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *pen) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// sluice runs a command line in this process.
func sluice(ctx context.Context, args ...string) said {
	var out, complaint pen
	cmd := root()
	cmd.SetOut(&out)
	cmd.SetErr(&complaint)
	code := execute(ctx, cmd, commandLine(append([]string{"sluice"}, args...)))
	return said{code, out.String(), complaint.String()}
}

// nowhere takes away what the environment says of clusters and clouds.
func nowhere(t *testing.T) {
	t.Helper()
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "ARM_") || strings.HasPrefix(name, "AZURE_") || strings.HasPrefix(name, "KUBERNETES_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "absent")) // else ~/.kube/config is read
}

// file writes a file of the test's own.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// kubeconfig writes one for a server's address.
func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	return file(t, "kubeconfig", `apiVersion: v1
kind: Config
clusters: [{name: farm, cluster: {server: "`+server+`"}}]
users: [{name: sluice, user: {}}]
contexts: [{name: farm, context: {cluster: farm, user: sluice}}]
current-context: farm
`)
}

// freeAddress is a loopback address at which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// expect holds the exit code and what the output says.
func (s said) expect(t *testing.T, code int, words ...string) {
	t.Helper()
	if s.code != code {
		t.Errorf("exit code %d, want %d; standard error: %s", s.code, code, s.complaint)
	}
	for _, w := range words {
		if !strings.Contains(s.out, w) {
			t.Errorf("standard output does not say %q:\n%s", w, s.out)
		}
	}
}

// complains holds that the user got one sentence with these words, and nothing else.
func (s said) complains(t *testing.T, words ...string) {
	t.Helper()
	if s.code != exitError {
		t.Errorf("exit code %d, want %d", s.code, exitError)
	}
	if s.out != "" {
		t.Errorf("standard output is not empty: %s", s.out)
	}
	line, ok := strings.CutSuffix(s.complaint, "\n")
	if !ok || !strings.HasPrefix(line, "sluice: ") || strings.Contains(line, "\n") || strings.Contains(line, "goroutine") {
		t.Errorf("standard error is not one sentence:\n%s", s.complaint)
	}
	for _, w := range words {
		if !strings.Contains(line, w) {
			t.Errorf("the sentence does not say %q: %s", w, line)
		}
	}
}

func TestVersionIsPrinted(t *testing.T) {
	if got := sluice(t.Context(), "--version"); got.code != exitNothing || got.out != "sluice "+version+"\n" || version == "" {
		t.Errorf("exit code %d, %q", got.code, got.out)
	}
	sluice(t.Context(), "version").expect(t, exitNothing, "sluice "+version+"\ncommit ", "\nkubernetes  ")
}

func TestWithoutACommandTheHelpIsPrinted(t *testing.T) {
	sluice(t.Context()).expect(t, exitNothing, "sluice plan", "simulate", "replay")
}

// TestWithoutAClusterThereIsSomethingToTry holds that the scenario that is offered is there, and plays as it says.
func TestWithoutAClusterThereIsSomethingToTry(t *testing.T) {
	_, name, _ := strings.Cut(doctor.Offline, "sluice simulate ")
	sluice(t.Context(), "simulate", filepath.Join("..", "..", filepath.FromSlash(name))).expect(t, exitNothing, "machine agents_0")
}

func TestEveryCommandHasHelp(t *testing.T) {
	for _, c := range root().Commands() {
		sluice(t.Context(), c.Name(), "--help").expect(t, exitNothing, "Usage:\n  sluice "+c.Name())
	}
}

// TestWithoutAVerbItIsRun holds that manifests of cluster-autoscaler, which name no verb, start the autoscaler.
func TestWithoutAVerbItIsRun(t *testing.T) {
	for line, want := range map[string]string{
		"sluice": "", "sluice --help": "--help", "sluice -h": "-h", "sluice --version": "--version", "sluice plan --v=4": "plan --v=4",
		"sluice --v=4": "run --v=4", "sluice -v 4": "run -v 4", "sluice --help --v=4": "run --help --v=4",
		"./cluster-autoscaler": "run", "./cluster-autoscaler --help": "run --help", "./cluster-autoscaler -h": "run -h", "./cluster-autoscaler --version": "--version",
		"/usr/bin/cluster-autoscaler --v=4 --nodes=1:10:vmss1": "run --v=4 --nodes=1:10:vmss1", "/cluster-autoscaler-sluice": "",
		"cluster-autoscaler.exe -v=4": "run -v=4", "/cluster-autoscaler/sluice doctor": "doctor", "./cluster-autoscaler doctor --nodes=1:10:vmss1": "doctor --nodes=1:10:vmss1",
	} {
		if got := strings.Join(commandLine(strings.Fields(line)), " "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
