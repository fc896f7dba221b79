package lifecycle_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/smallstep/pkcs7"

	"sluice.dev/sluice/internal/lifecycle"
)

// adminConfig is an admin's kubeconfig as K3s writes it, with more in it than one needs: so that it takes several run commands.
func adminConfig(server string) string {
	noise := make([]byte, 6000)
	for i := range noise {
		noise[i] = byte(i * i * 31 >> 3)
	}
	return `apiVersion: v1
kind: Config
clusters: [{name: default, cluster: {server: "` + server + `", certificate-authority-data: ` + base64.StdEncoding.EncodeToString(noise) + `}}]
users: [{name: default, user: {client-certificate-data: Y2VydA==, client-key-data: a2V5, exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/evil}}}]
contexts: [{name: default, context: {cluster: default, user: default}}]
current-context: default
`
}

// guest is a server that answers run commands as its script does.
type guest struct {
	state  string // what it says of itself
	config string // the admin's; "" while there is none
	nodes  string
	asked  int
	files  map[string]string
}

var (
	answers    = regexp.MustCompile(`(?m)^ANSWER=(\S+)$`)
	recipients = regexp.MustCompile(`(?s)RECIPIENT='(.*?)'`)
	parts      = regexp.MustCompile(`tail -c \+(\d+) (\S+) \| head -c (\d+)`)
)

func (g *guest) run(_ context.Context, machine string, script []string) (stdout, stderr string, err error) {
	if !strings.HasSuffix(machine, "/virtualMachines/render-server") {
		return "", "", errors.New("it is not the server: " + machine)
	}
	text := strings.Join(script, "\n")
	if m := answers.FindStringSubmatch(text); m != nil {
		g.asked++
		said := g.state
		if g.config != "" {
			said += "api ready\n" + g.nodes
			if to := recipients.FindStringSubmatch(text)[1]; to != "" {
				block, _ := pem.Decode([]byte(to))
				certificate, err := x509.ParseCertificate(block.Bytes)
				if err != nil {
					return "", "", err
				}
				pkcs7.ContentEncryptionAlgorithm = pkcs7.EncryptionAlgorithmAES256CBC
				sealed, err := pkcs7.Encrypt(packed(g.config), []*x509.Certificate{certificate})
				if err != nil {
					return "", "", err
				}
				said += "kubeconfig " + base64.StdEncoding.EncodeToString(sealed) + "\n"
			}
		}
		g.files = map[string]string{m[1]: base64.StdEncoding.EncodeToString(packed(said))}
	}
	m := parts.FindStringSubmatch(text)
	from, _ := strconv.Atoi(m[1])
	most, _ := strconv.Atoi(m[3])
	whole := g.files[m[2]]
	return fmt.Sprintf("sluice-answer %d\n%s", len(whole), whole[from-1:min(from-1+most, len(whole))]), "", nil
}

func packed(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return b.Bytes()
}

func unpacked(t *testing.T, text string) string {
	t.Helper()
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// invite has the server's machine be a guest.
func (w *world) invite(run func(context.Context, string, []string) (string, string, error)) {
	w.sim.Run = func(ctx context.Context, machine string, script []string) (stdout, stderr string, err error) {
		defer func() { w.ran <- struct{}{} }()
		return run(ctx, machine, script)
	}
}

// awaiting is how a test waits: the kubeconfig comes into kept, nodes from where they say.
func (w *world) awaiting(kept *string, nodes func() ([]lifecycle.Node, error)) lifecycle.Awaiting {
	return lifecycle.Awaiting{
		For: 20 * time.Minute, Address: "203.0.113.9", Now: w.time,
		Keep:  func(text []byte) error { *kept = string(text); return nil },
		Nodes: func(context.Context, []byte) ([]lifecycle.Node, error) { return nodes() },
	}
}

func (w *world) told(words ...string) {
	w.Helper()
	all := strings.Join(w.said, "\n")
	for _, word := range words {
		if !strings.Contains(all, word) {
			w.Errorf("nothing says %q in:\n%s", word, all)
		}
	}
}

// TestUpWaitsForTheServerThenForEachNode boots the server step by step, and reads the nodes from its API server.
func TestUpWaitsForTheServerThenForEachNode(t *testing.T) {
	w := newWorld(t, "k3s")
	w.up()
	g := &guest{state: "cloud-init running\nunit activating\nline sluice: downloads https://github.com/k3s\n"}
	w.invite(func(ctx context.Context, machine string, script []string) (string, string, error) {
		if g.asked == 2 {
			g.state, g.config = "cloud-init done\nunit activating\nline sluice: more\n", adminConfig("https://127.0.0.1:6443")
		}
		return g.run(ctx, machine, script)
	})
	looks := 0
	var kept string
	w.said = nil
	came, err := w.Await(t.Context(), w.awaiting(&kept, func() ([]lifecycle.Node, error) {
		looks++
		return []lifecycle.Node{{Name: "render-server", Ready: true}, {Name: "render-agents-000000", Ready: looks > 2}, {Name: "render-burst-000000"}}, nil
	}))
	w.must(err)
	if !came.Kubeconfig || !came.Direct || len(came.Missing) > 0 || looks != 3 {
		t.Errorf("%+v after %d looks", came, looks)
	}
	w.told("the server: downloads https://github.com/k3s", "the API server answers", "node render-server is Ready", "node render-agents-000000 is Ready (pool agents: 1, min 1)")
	for _, word := range []string{"server: https://203.0.113.9:6443", "current-context: render", "client-key-data: a2V5"} {
		if !strings.Contains(kept, word) {
			t.Errorf("the kubeconfig does not say %q:\n%.200s", word, kept)
		}
	}
	if strings.Contains(kept, "evil") {
		t.Error("the kubeconfig names a program that kubectl would start here")
	}
}

// TestNodesAreReadThroughTheServerWhereItsAPIIsOutOfReach has a firewall before the API server, and pools whose names begin alike.
func TestNodesAreReadThroughTheServerWhereItsAPIIsOutOfReach(t *testing.T) {
	w := newWorld(t, "k3s")
	longer := w.File.Pools[0]
	longer.Name = "agents-a"
	w.File.Pools = append(w.File.Pools, longer)
	w.up()
	g := &guest{config: adminConfig("https://127.0.0.1:6443"), nodes: "node render-agents-a-000000 True\n"}
	w.invite(func(ctx context.Context, machine string, script []string) (string, string, error) {
		if g.asked == 3 {
			g.nodes += "node render-agents-000000 True\n"
		}
		return g.run(ctx, machine, script)
	})
	var kept string
	came, err := w.Await(t.Context(), w.awaiting(&kept, func() ([]lifecycle.Node, error) { return nil, errors.New("i/o timeout") }))
	w.must(err)
	if !came.Kubeconfig || came.Direct || len(came.Missing) > 0 || g.asked != 4 {
		t.Errorf("%+v after %d commands", came, g.asked)
	}
	w.told("the API server at 203.0.113.9 does not answer here (i/o timeout)", "node render-agents-000000 is Ready (pool agents: 1, min 1)")
}

// TestARaisedMinIsNotWaitedFor has a pool that was there with fewer machines: sluice adds them as it needs them.
func TestARaisedMinIsNotWaitedFor(t *testing.T) {
	w := newWorld(t, "k3s")
	w.up()
	w.File.Pools[0].Min = 3
	w.up()
	w.invite((&guest{config: adminConfig("https://127.0.0.1:6443")}).run)
	var kept string
	came, err := w.Await(t.Context(), w.awaiting(&kept, func() ([]lifecycle.Node, error) {
		return []lifecycle.Node{{Name: "render-agents-000000", Ready: true}}, nil
	}))
	w.must(err)
	if len(came.Missing) > 0 {
		t.Errorf("missing: %q", came.Missing)
	}
}

// TestWhatIsLateIsToldWithItsConsole has a machine that never joins: its console's cause is told once, and the end says what is missing.
func TestWhatIsLateIsToldWithItsConsole(t *testing.T) {
	w := newWorld(t, "k3s")
	w.sim.Console = func(string) (string, bool) {
		return "Linux\nsluice-join: refused: too-old: the machine is older than 30m\n", true
	}
	w.up()
	g := &guest{config: adminConfig("https://127.0.0.1:6443")}
	w.invite(g.run)
	var kept string
	w.said = nil
	came, err := w.Await(t.Context(), w.awaiting(&kept, func() ([]lifecycle.Node, error) { return nil, nil }))
	w.must(err)
	if len(came.Missing) != 1 || came.Missing[0] != "pool agents has 0 Ready nodes of 1" {
		t.Errorf("missing: %q", came.Missing)
	}
	w.told("machine render-agents-000000 of pool agents is late: the door of the cluster does not let it join", "  sluice-join: refused: too-old")
	if n := strings.Count(strings.Join(w.said, "\n"), "is late"); n != 1 {
		t.Errorf("it is told %d times", n)
	}
}

// TestWaitingEndsWhereNothingCanBeRead has the server go after its kubeconfig came: no pool wants a node, and yet the end says what is the matter.
func TestWaitingEndsWhereNothingCanBeRead(t *testing.T) {
	w := newWorld(t, "k3s")
	w.File.Pools[0].Min = 0
	w.up()
	g := &guest{config: adminConfig("https://127.0.0.1:6443")}
	w.invite(func(ctx context.Context, machine string, script []string) (string, string, error) {
		if g.asked > 0 && answers.MatchString(strings.Join(script, "\n")) {
			return "", "", errors.New("the agent is gone")
		}
		return g.run(ctx, machine, script)
	})
	var kept string
	came, err := w.Await(t.Context(), w.awaiting(&kept, func() ([]lifecycle.Node, error) { return nil, errors.New("no route") }))
	w.must(err)
	if !came.Kubeconfig || len(came.Missing) != 1 || came.Missing[0] != "the nodes cannot be read: the cause is said above" {
		t.Errorf("%+v", came)
	}
}

// TestAServerThatDoesNotComeIsExamined has a server without an agent: what Azure says of it and its console are told.
func TestAServerThatDoesNotComeIsExamined(t *testing.T) {
	w := newWorld(t, "k3s")
	w.sim.Console = func(string) (string, bool) { return "Linux\nwrite error: No space left on device\n", true }
	w.up()
	var kept string
	w.said = nil
	came, err := w.Await(t.Context(), w.awaiting(&kept, nil))
	w.must(err)
	if came.Kubeconfig || len(came.Missing) != 1 || !strings.Contains(came.Missing[0], "the API server does not answer") {
		t.Errorf("%+v", came)
	}
	w.told("the server answers no run command yet", "the server render-server is late: the disk is full")
	if all := strings.Join(append(w.said, came.Missing...), "\n"); strings.Count(all, "has not reported status for VM agent") != 1 {
		t.Errorf("what Azure says of its agent is not told once:\n%s", all)
	}
}

// TestWithoutTheRightToRunCommandsItIsSaid takes the right away.
func TestWithoutTheRightToRunCommandsItIsSaid(t *testing.T) {
	w := newWorld(t, "k3s")
	w.up()
	w.invite((&guest{}).run)
	w.reader()
	var kept string
	if _, err := w.Await(t.Context(), w.awaiting(&kept, nil)); !errors.Is(err, lifecycle.ErrRunCommand) {
		t.Errorf("%v", err)
	}
}

// TestTheServersScriptSaysHowFarItIs runs the script that a server gets, with others in the place of the machine's programs.
func TestTheServersScriptSaysHowFarItIs(t *testing.T) {
	for _, program := range []string{"sh", "openssl", "gzip", "base64"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("there is no " + program + " here")
		}
	}
	w := newWorld(t, "k3s")
	w.up()
	root := t.TempDir()
	for name, text := range map[string]string{
		"cloud-init": "echo 'status: done'", "systemctl": "echo active", "journalctl": "echo 'sluice: the control plane is ready'",
		"kubectl": `case "$*" in *jsonpath*) echo 'node render-agents-000000 True' ;; *readyz*) echo ok ;; esac`,
	} {
		w.must(os.MkdirAll(filepath.Join(root, "bin"), 0o755))
		w.must(os.WriteFile(filepath.Join(root, "bin", name), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	}
	admin := filepath.Join(root, "etc", "kubernetes", "admin.conf")
	w.must(os.MkdirAll(filepath.Dir(admin), 0o755))
	w.must(os.WriteFile(admin, []byte(adminConfig("https://10.10.0.4:6443")), 0o600))
	printed, shown := "", ""
	w.invite(func(ctx context.Context, _ string, script []string) (string, string, error) {
		text := strings.NewReplacer("/run/sluice/", root+"/run/sluice/", "/etc/", root+"/etc/").Replace(strings.Join(script, "\n"))
		cmd := exec.CommandContext(ctx, "sh", "-c", text)
		cmd.Env = []string{"PATH=" + root + "/bin:" + os.Getenv("PATH")}
		out, err := cmd.Output()
		_, part, _ := strings.Cut(string(out), "\n")
		if printed += part; len(part) < 4000 {
			shown, printed = shown+unpacked(t, printed), ""
		}
		return string(out), "", err
	})
	var kept string
	came, err := w.Await(t.Context(), w.awaiting(&kept, func() ([]lifecycle.Node, error) { return nil, errors.New("no route") }))
	w.must(err)
	if !came.Kubeconfig || !strings.Contains(kept, "server: https://203.0.113.9:6443") {
		t.Errorf("%+v\n%.200s", came, kept)
	}
	w.told("node render-agents-000000 is Ready (pool agents: 1, min 1)")
	if !strings.Contains(shown, "kubeconfig MII") {
		t.Errorf("no sealed kubeconfig is in %.400s", shown)
	}
	for _, secret := range []string{"client-key-data", "a2V5"} {
		if strings.Contains(shown, secret) {
			t.Errorf("the script prints %s, which everybody may read who may read the machine", secret)
		}
	}
	left, err := filepath.Glob(root + "/run/sluice/*")
	w.must(err)
	if len(left) > 0 {
		t.Errorf("on the server stays %v", left)
	}
}
