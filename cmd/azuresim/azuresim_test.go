package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// output is what a command prints, while it runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(b)
	select {
	case o.more <- struct{}{}:
	default:
	}
	return len(b), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// running is a simulator on free ports of this machine.
type running struct {
	t            *testing.T
	dir, printed string
	arm, control string
	stop         func() int
}

func start(t *testing.T, args ...string) *running {
	t.Helper()
	dir := t.TempDir()
	out := &output{more: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := root()
	cmd.SetOut(out)
	cmd.SetErr(out)
	done := make(chan int, 1)
	args = append([]string{"--listen=127.0.0.1:0", "--control=127.0.0.1:0", "--dir=" + dir}, args...)
	go func() { done <- execute(ctx, cmd, args) }()
	for !strings.Contains(out.String(), "Ctrl-C stops it") {
		select {
		case <-out.more:
		case code := <-done:
			cancel()
			t.Fatalf("it ended with %d: %s", code, out)
		}
	}
	r := &running{t: t, dir: dir, printed: out.String()}
	r.stop = sync.OnceValue(func() int { cancel(); return <-done })
	t.Cleanup(func() { r.stop() })
	r.arm = regexp.MustCompile(`sign-in +(\S+)`).FindStringSubmatch(r.printed)[1]
	r.control = regexp.MustCompile(`control +(\S+)`).FindStringSubmatch(r.printed)[1]
	return r
}

// verb runs a command against the simulator.
func (r *running) verb(args ...string) (string, int) {
	r.t.Helper()
	var out bytes.Buffer
	cmd := root()
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	code := execute(r.t.Context(), cmd, append(args, "--control="+r.control))
	return out.String(), code
}

// client trusts the simulator's CA and nothing else.
func (r *running) client() *http.Client {
	r.t.Helper()
	pem, err := os.ReadFile(filepath.Join(r.dir, caFile))
	if err != nil {
		r.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
}

// do sends a request with a token of the built-in world's application.
func (r *running) do(method, path, body string) (int, string) {
	r.t.Helper()
	c := r.client()
	resp, err := c.PostForm(r.arm+"/22222222-2222-2222-2222-222222222222/oauth2/v2.0/token", url.Values{
		"grant_type": {"client_credentials"}, "client_id": {"33333333-3333-3333-3333-333333333333"},
		"client_secret": {"simulated"}, "scope": {r.arm + "/.default"},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	var token struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&token); err != nil {
		r.t.Fatal(err)
	}
	resp.Body.Close()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.arm+path+"?api-version=2025-04-01", strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token.AccessToken)
	if resp, err = c.Do(req); err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

const agents = "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/render/providers/Microsoft.Compute/virtualMachineScaleSets/agents"

func TestAStoryOverHTTPSAndTheVerbsThatTellIt(t *testing.T) {
	r := start(t)
	if status, body := r.do("GET", agents, ""); status != 200 || !strings.Contains(body, `"capacity":3`) {
		t.Fatalf("read: %d %s", status, body)
	}
	if out, code := r.verb("inject", "name=storm", "kind=PATCH *", "status=429", "style=compute", "retryAfter=20m"); code != 0 {
		t.Fatal(out)
	}
	if status, body := r.do("PATCH", agents, `{"sku":{"capacity":9}}`); status != 429 || !strings.Contains(body, "HighCostGet30Min") {
		t.Errorf("a write in the storm: %d %s", status, body)
	}
	for _, step := range []struct{ command, want string }{
		{"requests --kind=PATCH*", "429     PATCH virtualMachineScaleSets  agents    OperationNotAllowed  9"},
		{"faults", "storm  PATCH *  -         1        1"},
		{"clear storm", "cleared"},
		{"set-capacity agents 5", "done"},
		{"scalesets", "agents  5"},
		{"set-tags agents --tags=min=2,max=9", "done"},
		{"scalesets -o json", `"max": "9"`},
		{"set-image agents --version=24.04.202611010", "done"},
		{"evict burst_0 --notice=30s --at=1h", "scheduled"},
		{"schedule agents_1 --event=Freeze", "done"},
		{"assign-role 33333333-3333-3333-3333-333333333333 --role=Contributor --scope=/subscriptions/11111111-1111-1111-1111-111111111111", "done"},
		{"autoscale burst --value=93.5", "done"},
		{"deny 33333333-3333-3333-3333-333333333333 --actions=Microsoft.Compute/virtualMachineScaleSets/write", "done"},
		{"acts", "set-tags"},
		{"machines", "agents_4  agents000004"},
		{"operations", "InProgress"},
		{"counters", "1  PATCH virtualMachineScaleSets"},
		{"speed 60", `"speed":60`},
	} {
		if out, code := r.verb(strings.Fields(step.command)...); code != 0 || !strings.Contains(out, step.want) {
			t.Errorf("%s: %d\n%s\nwant %s", step.command, code, out, step.want)
		}
	}
	if status, body := r.do("PATCH", agents, `{}`); status != 403 || !strings.Contains(body, "virtualMachineScaleSets/write") {
		t.Errorf("a write that was denied: %d %s", status, body)
	}
	if code := r.stop(); code != 0 {
		t.Errorf("stopping it: %d", code)
	}
}

// TestTheLineForSluiceIsWhole takes every variable that is printed, and reads the file that one of them names.
func TestTheLineForSluiceIsWhole(t *testing.T) {
	r := start(t)
	_, line, _ := strings.Cut(r.printed, "sluice cluster and sluice certify:\n  export ")
	line, next, _ := strings.Cut(line, "\n")
	given := map[string]string{}
	for _, pair := range strings.Fields(line) {
		name, value, _ := strings.Cut(pair, "=")
		given[name] = value
	}
	want := map[string]string{
		"SSL_CERT_FILE": filepath.Join(r.dir, caFile), "AZURE_ENVIRONMENT_FILEPATH": filepath.Join(r.dir, cloudFile),
		"ARM_SUBSCRIPTION_ID": "11111111-1111-1111-1111-111111111111", "ARM_TENANT_ID": "22222222-2222-2222-2222-222222222222",
		"ARM_CLIENT_ID": "33333333-3333-3333-3333-333333333333", "ARM_CLIENT_SECRET": "simulated",
	}
	if d := cmp.Diff(want, given); d != "" {
		t.Errorf("the variables (-want +got):\n%s", d)
	}
	if !strings.HasPrefix(next, "  sluice certify --plan --region=westeurope\n") {
		t.Errorf("then comes %q", next)
	}
}

// TestAMachineSignsInAsOnAppService uses the two variables as they are printed.
func TestAMachineSignsInAsOnAppService(t *testing.T) {
	r := start(t, "--identity=127.0.0.1:0=server-0")
	said := regexp.MustCompile(`IDENTITY_ENDPOINT=(\S+) IDENTITY_HEADER=(\S+) = server-0`).FindStringSubmatch(r.printed)
	if said == nil {
		t.Fatal(r.printed)
	}
	for header, want := range map[string]int{said[2]: http.StatusOK, "wrong": http.StatusUnauthorized} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, said[1]+"?api-version=2019-08-01&resource=https://management.azure.com/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Identity-Header", header)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close() //nolint:gosec // it was read
		if resp.StatusCode != want || (want == http.StatusOK) != strings.Contains(string(body), "access_token") {
			t.Errorf("header %q: %d %s", header, resp.StatusCode, body)
		}
	}
}

// TestAProgramAnswersRunCommands has a script go in and its output come out, whatever it ends with.
func TestAProgramAnswersRunCommands(t *testing.T) {
	program := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho on ${1##*/}\nexec sh\n"), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	stdout, stderr, err := agent(t.Context(), program)(t.Context(), "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/server-0", []string{"echo hello", "echo no >&2; exit 3"})
	var ended *exec.ExitError
	if stdout != "on server-0\nhello\n" || stderr != "no\n" || !errors.As(err, &ended) || ended.ExitCode() != 3 {
		t.Errorf("%q, %q, %v", stdout, stderr, err)
	}
	over, end := context.WithCancel(t.Context())
	end()
	if _, _, err := agent(over, program)(t.Context(), "m", []string{"sleep 100"}); err == nil {
		t.Error("a script outlives the server")
	}
}

func TestMistakesAreAnsweredWithTheRemedy(t *testing.T) {
	r := start(t)
	for command, want := range map[string]string{
		"inject kind=PATCH* status=many": "status: many is not a whole number",
		"inject nonsense":                "not FIELD=VALUE",
		"inject kind=PATCH*":             "it says when and not what",
		"clear nobody":                   `there is no fault "nobody" in force`,
		"evict agents_0":                 "is not spot",
		"evict nobody":                   "there is not exactly one such instance",
		"requests -o xml":                "use table or json",
		"speed 0":                        "not a number above 0",
		"set-capacity agents":            "accepts 2 arg(s)",
	} {
		if out, code := r.verb(strings.Fields(command)...); code != 2 || !strings.Contains(out, want) {
			t.Errorf("%s: %d %s, want %s", command, code, out, want)
		}
	}
	for flag, want := range map[string]string{
		"--control=0.0.0.0:8444":     "not a loopback address",
		"--metadata=127.0.0.1:0":     "write 127.0.0.1:9000=agents_0",
		"--speed=0":                  "--speed=0 is not above 0",
		"--world=/nonexistent.yaml":  "load world",
		"--listen=" + host(t, r.arm): "choose another address, or port 0",
		"--nonsense":                 "see azuresim --help",
	} {
		var out bytes.Buffer
		cmd := root()
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		args := []string{"--listen=127.0.0.1:0", "--control=127.0.0.1:0", "--dir=" + t.TempDir(), flag}
		if code := execute(t.Context(), cmd, args); code != 2 || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %d %s, want %s", flag, code, out.String(), want)
		}
	}
}

func host(t *testing.T, raw string) string {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

func TestAMachinesMetadataHasAnAddressOfItsOwn(t *testing.T) {
	r := start(t, "--metadata=127.0.0.1:0=agents_1", "--http")
	address := regexp.MustCompile(`instance metadata +(\S+) = agents_1`).FindStringSubmatch(r.printed)
	if address == nil {
		t.Fatalf("no metadata in:\n%s", r.printed)
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", address[1]+"/metadata/instance/compute/name?api-version=2021-02-01&format=text", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Metadata", "true")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if raw, _ := io.ReadAll(resp.Body); string(raw) != "agents_1" {
		t.Errorf("its name is %s", raw)
	}
}

func TestTheCAOutlivesTheServer(t *testing.T) {
	dir := t.TempDir()
	first, err := certificate(dir, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(filepath.Join(dir, caFile))
	if err != nil {
		t.Fatal(err)
	}
	second, err := certificate(dir, "azure.test")
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	for name, leaf := range map[string]*x509.Certificate{"127.0.0.1": first.Leaf, "azure.test": second.Leaf, "localhost": second.Leaf} {
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, key := range []string{caKeyFile, certKey} {
		if info, err := os.Stat(filepath.Join(dir, key)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", key, info.Mode(), err)
		}
	}
}

func TestClientsFindTheirFiles(t *testing.T) {
	r := start(t)
	read := func(name string) (m map[string]any) {
		raw, err := os.ReadFile(filepath.Join(r.dir, name))
		if err == nil {
			err = json.Unmarshal(raw, &m)
		}
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	cloud, config := read(cloudFile), read(configFile)
	got := []any{cloud["resourceManagerEndpoint"], cloud["activeDirectoryEndpoint"], cloud["tokenAudience"], config["aadClientSecret"], config["cloud"]}
	if diff := cmp.Diff([]any{r.arm, r.arm + "/", r.arm, "simulated", "AzureStackCloud"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAHangingRequestDoesNotKeepTheServerUp(t *testing.T) {
	r := start(t, "--http")
	if out, code := r.verb("inject", "kind=GET *", "hang=true"); code != 0 {
		t.Fatal(out)
	}
	conn, err := net.Dial("tcp", host(t, r.arm))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET "+agents+"?api-version=2025-04-01 HTTP/1.1\r\nHost: azure.test\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	for {
		out, _ := r.verb("faults", "-o", "json")
		if strings.Contains(out, `"struck": 1`) {
			break
		}
	}
	if code := r.stop(); code != 0 {
		t.Errorf("stopping it: %d", code)
	}
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Error("the caller got an answer")
	}
}

func TestTheExampleIsAWorld(t *testing.T) {
	var out bytes.Buffer
	cmd := root()
	cmd.SetOut(&out)
	if code := execute(t.Context(), cmd, []string{"example"}); code != 0 || !bytes.Equal(out.Bytes(), example) {
		t.Fatal("it prints the world it has built in")
	}
	commented := strings.NewReplacer("faults: []", "faults:", "acts: []", "acts:", "\n# - {", "\n- {").Replace(string(example))
	path := filepath.Join(t.TempDir(), "world.yaml")
	if err := os.WriteFile(path, []byte(commented), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _, err := options{world: path}.load(newClock(1))
	if err != nil {
		t.Fatalf("with its examples in force: %v", err)
	}
	if len(s.Faults()) != 3 {
		t.Errorf("%d faults", len(s.Faults()))
	}
}
