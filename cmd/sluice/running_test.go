package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/internal/web"
)

// proxying is an API server that leads on to services and pods, by their address in a namespace's path. Like the real one it takes the Authorization
// header off, and refuses in its own words.
type proxying struct {
	next   http.Handler
	behind map[string]http.Handler // such as services/http:sluice:8085
	says   map[string]metav1.Status

	mu    sync.Mutex
	asked []string
}

func (p *proxying) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, page, is := strings.Cut(r.URL.Path, "/proxy/")
	door, home := strings.CutPrefix(path, "/api/v1/namespaces/kube-system/")
	if !is || !home {
		p.next.ServeHTTP(w, r)
		return
	}
	p.mu.Lock()
	p.asked = append(p.asked, door)
	p.mu.Unlock()
	r.URL.Path = "/" + page
	r.Header.Del("Authorization")
	if h := p.behind[door]; h != nil {
		h.ServeHTTP(w, r)
		return
	}
	s, known := p.says[door]
	if !known {
		s = metav1.Status{Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound, Message: door + " not found"}
	}
	s.TypeMeta, s.Status = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, metav1.StatusFailure
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(s.Code))
	_ = json.NewEncoder(w).Encode(s)
}

// to leads on to an address.
func to(t *testing.T, address string) http.Handler {
	t.Helper()
	at, err := url.Parse(address)
	must(t, err)
	return httputil.NewSingleHostReverseProxy(at)
}

// inTheClear is what a port that speaks TLS answers to who does not.
var inTheClear = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "Client sent an HTTP request to an HTTPS server.", http.StatusBadRequest)
})

// standby is a replica that does not lead.
func standby(leader string) http.Handler {
	s := web.New(web.Options{Leader: func() string { return leader }})
	s.StandBy()
	return s.Handler()
}

var forbidden = metav1.Status{Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: `services "http:sluice:8085" is forbidden: User "jane" cannot get resource "services/proxy"`}

// through asks the farm's API server with these ways to what runs in it, and with no flag that decides.
func (f *farm) through(p *proxying, line ...string) said {
	f.t.Helper()
	p.next = fromProtobuf(f.cluster)
	flags := slices.DeleteFunc(f.args(line...), func(arg string) bool {
		return strings.HasPrefix(arg, "--kubeconfig=") || arg == "--nodes=0:3:agents"
	})
	return sluice(f.t.Context(), append(flags, "--kubeconfig="+kubeconfig(f.t, f.serve(p)))...)
}

// TestPlanAndExplainAskTheRunningSluice, which has its own flags, and whose answers are the same whichever way they come: through the API server, at its
// address and from its journal.
func TestPlanAndExplainAskTheRunningSluice(t *testing.T) {
	f := newFarm(t)
	f.pod("web")
	journal := file(t, "journal", "")
	r := f.run("--dry-run", "--scan-interval=10m", "--journal="+journal)
	r.until("/readyz", func() bool { return r.answers("/readyz") })
	p := &proxying{behind: map[string]http.Handler{"services/http:sluice:8085": to(t, r.address)}}
	for _, question := range [][]string{
		{"plan"}, {"plan", "-o", "json"}, {"explain", "pod", "web"}, {"explain", "pod", "web", "-o", "json"}, {"explain", "group", "agents"}, {"explain", "node", "agents000000"},
	} {
		got, direct := f.through(p, question...), sluice(t.Context(), append(question, "--server="+r.address)...)
		if got != direct || got.out == "" || got.complaint != "" {
			t.Errorf("%q: %+v\nat its address: %+v", question, got, direct)
		}
	}
	for _, about := range [][]string{{"explain", "pod", "web"}, {"explain", "group", "agents"}, {"explain", "node", "agents000000"}, {"explain", "instance", "agents/0"}} {
		got, recorded := f.through(p, about...), sluice(t.Context(), append(about, "--journal="+journal, "--cycle=1")...)
		if !strings.Contains(got.out, ", cycle 1 ") || got != recorded {
			t.Errorf("%q: %+v\nfrom the journal: %+v", about, got, recorded)
		}
	}
	f.through(p, "plan").expect(t, exitActs, "grow group agents 1 -> 2", "dry run")
	f.through(p, "explain", "pod", "wep").complains(t, "did you mean default/web?")
	f.through(p, "plan", "--server=kube-system/sluice:8085").expect(t, exitActs, "grow group agents 1 -> 2")
	f.through(p, "plan", "--nodes=0:1:agents").expect(t, exitNothing, "1 pod stuck") // of this process: it may not grow
	f.through(p, "plan", "--nodes=0:1:agents", "--server=kube-system/sluice").complains(t, "--nodes and --server")
	f.through(p, "plan", "--server=none").expect(t, exitActs, "none is managed")
	r.end()
	f.untouched()
}

// TestAReplicaThatStandsByLeadsToTheOneThatLeads, whether or not its pod may be asked by name.
func TestAReplicaThatStandsByLeadsToTheOneThatLeads(t *testing.T) {
	f := newFarm(t)
	r := f.run("--dry-run", "--scan-interval=10m")
	r.until("/readyz", func() bool { return r.answers("/readyz") })
	leader := to(t, r.address)
	times := 0
	turns := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if times++; times%4 == 0 {
			leader.ServeHTTP(w, r)
			return
		}
		standby("sluice-b_0a0a0a0a_1").ServeHTTP(w, r)
	})
	elsewhere := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if times++; times%4 == 0 {
			leader.ServeHTTP(w, r)
			return
		}
		standby("../../kube-system/pods/http:sluice-b:/proxy?_1").ServeHTTP(w, r)
	})
	const service, pod = "services/http:sluice:8085", "pods/http:sluice-b:"
	for name, c := range map[string]struct {
		behind map[string]http.Handler
		says   map[string]metav1.Status
		asked  int
		answer string // "" for the leader's
	}{
		"the pod by name":             {map[string]http.Handler{service: standby("sluice-b_0a0a0a0a_1"), pod: leader}, nil, 2, ""},
		"the pod is not hers":         {map[string]http.Handler{service: turns}, map[string]metav1.Status{pod: forbidden}, 6, ""},
		"the leader is no host":       {map[string]http.Handler{service: elsewhere}, nil, 4, ""},
		"the host bears no pod":       {map[string]http.Handler{service: turns}, nil, 6, ""},
		"the leader has changed":      {map[string]http.Handler{service: turns, pod: standby("sluice-c_0a0a0a0a_1")}, nil, 6, ""},
		"nobody is known to lead":     {map[string]http.Handler{service: standby("")}, nil, 10, "none is known to lead"},
		"the leader is never reached": {map[string]http.Handler{service: standby("sluice-b_0a0a0a0a_1")}, nil, 12, "ask sluice-b_0a0a0a0a_1, which leads"},
	} {
		times = 0
		p := &proxying{behind: c.behind, says: c.says}
		got := f.through(p, "explain", "group", "agents")
		if c.answer == "" {
			got.expect(t, exitNothing, "group agents: steady")
		} else {
			got.complains(t, c.answer)
		}
		if len(p.asked) != c.asked {
			t.Errorf("%s: asked %d times, want %d: %q", name, len(p.asked), c.asked, p.asked)
		}
	}
	r.end()
}

// TestATokenGoesToSluiceOverTLSAlone: the API server keeps the user's own, and what is given for sluice is never sent in the clear.
func TestATokenGoesToSluiceOverTLSAlone(t *testing.T) {
	f := newFarm(t)
	var shown []string
	wants := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			shown = append(shown, r.Header.Get(web.TokenHeader))
			next.ServeHTTP(w, r)
		})
	}
	locked := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(web.TokenHeader) != "Bearer key" {
			http.Error(w, "show a bearer token of the cluster", http.StatusUnauthorized)
			return
		}
		_, _ = fmt.Fprint(w, `{"cycle": 7, "subject": {"kind": "group", "name": "agents"}, "is": "let in"}`)
	})
	p := &proxying{behind: map[string]http.Handler{"services/http:sluice:8085": wants(inTheClear), "services/https:sluice:8085": wants(locked)}}
	f.through(p, "explain", "group", "agents").complains(t, "--web-authorization", "create token", "sluice-viewer")
	f.through(p, "explain", "group", "agents", "--token=key").expect(t, exitNothing, "let in")
	f.through(p, "explain", "group", "agents", "--token=forged").complains(t, "refuses --token")
	if want := []string{"", "", "", "Bearer key", "", "Bearer forged"}; !slices.Equal(shown, want) {
		t.Errorf("shown: %q, want %q", shown, want)
	}
	sluice(t.Context(), "plan", "--server=http://127.0.0.1:1", "--token=key").complains(t, "in the clear", "https")
}

// TestWithoutARunningSluiceTheFlagsAreSaid, and why none was asked.
func TestWithoutARunningSluiceTheFlagsAreSaid(t *testing.T) {
	held := func(holder string, ago time.Duration) *coordinationv1.Lease {
		at := metav1.NewMicroTime(time.Now().Add(-ago))
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cluster-autoscaler"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &at},
		}
	}
	unavailable := func(message string) map[string]metav1.Status {
		return map[string]metav1.Status{"services/http:sluice:8085": {Reason: metav1.StatusReasonServiceUnavailable, Code: http.StatusServiceUnavailable, Message: message}}
	}
	for name, c := range map[string]struct {
		lease *coordinationv1.Lease
		says  map[string]metav1.Status
		why   string
	}{
		"none":                  {nil, nil, "there is no service kube-system/sluice, and there is no lease kube-system/cluster-autoscaler"},
		"not Ready":             {nil, unavailable(`no endpoints available for service "http:sluice:8085"`), "no pod of service kube-system/sluice is Ready"},
		"behind a policy":       {nil, unavailable("error trying to reach service: dial tcp 10.0.0.9:8085: i/o timeout"), "i/o timeout"},
		"beside a server":       {held("server-1_0a0a0a0a_0b0b0b0b", time.Second), nil, "runs on host server-1, to which no service leads: name its address with --server"},
		"cluster-autoscaler":    {held("ca-x2x_1d6a0e2c-0000-4000-8000-000000000000", time.Second), nil, "held by a cluster-autoscaler on ca-x2x"},
		"one that is long gone": {held("server-1_0a0a0a0a_0b0b0b0b", 48*time.Hour), nil, "nobody has renewed lease"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFarm(t)
			if c.lease != nil {
				_, err := f.cluster.Create(c.lease)
				must(t, err)
			}
			got := f.through(&proxying{says: c.says}, "explain", "node", "agents000000")
			got.expect(t, exitNothing, "node agents000000")
			if !strings.Contains(got.complaint, c.why) || !strings.Contains(got.complaint, "decided here with the default flags") || strings.Count(got.complaint, "\n") != 1 {
				t.Errorf("standard error does not say %q and which flags:\n%s", c.why, got.complaint)
			}
		})
	}
}

// TestWhoMayNotAskIsToldTheRight that is missing, and is not answered by other flags than the running sluice's.
func TestWhoMayNotAskIsToldTheRight(t *testing.T) {
	f := newFarm(t)
	p := &proxying{says: map[string]metav1.Status{"services/http:sluice:8085": forbidden}}
	f.through(p, "plan").complains(t, "services/proxy", "sluice-reader", "deploy/reader.yaml", "--server=none")
	f.through(p, "explain", "pod", "web").complains(t, "services/proxy", "sluice-reader")
	p.says = map[string]metav1.Status{"services/http:sluice:8085": {Reason: metav1.StatusReasonUnauthorized, Code: http.StatusUnauthorized, Message: "Unauthorized"}}
	f.through(p, "plan").complains(t, "check the token or certificate in the kubeconfig")
	away := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			t.Error("a redirect was followed")
		}
		http.Redirect(w, r, "/api/v1/namespaces/kube-system/services/http:sluice:8085/proxy/elsewhere", http.StatusFound)
	})
	for what, says := range map[string]http.Handler{"redirect": away, "older": http.NotFoundHandler(), "html": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) })} {
		p.behind = map[string]http.Handler{"services/http:sluice:8085": says}
		t.Log(what)
		f.through(p, "plan").complains(t, "service kube-system/sluice", "sluice")
	}
}

// TestTheShellCompletesNamesFromTheRunningSluice has it complete lines as kubectl and the shells' scripts do.
func TestTheShellCompletesNamesFromTheRunningSluice(t *testing.T) {
	f := newFarm(t)
	f.pod("web")
	r := f.run("--dry-run", "--scan-interval=10m")
	r.until("/readyz", func() bool { return r.answers("/readyz") })
	p := &proxying{behind: map[string]http.Handler{"services/http:sluice:8085": to(t, r.address)}, next: fromProtobuf(f.cluster)}
	config := "--kubeconfig=" + kubeconfig(t, f.serve(p))
	for line, want := range map[string]string{
		"explain |":                          "pod node group instance request buffer",
		"explain no|":                        "node",
		"explain pod |":                      "web\tgrows",
		"explain pod default/|":              "default/web\tgrows",
		"explain pod -n other |":             "default/web\tgrows",
		"explain pod x|":                     "",
		"explain group |":                    "agents\tgrow",
		"explain node a|":                    "agents000000\tkeep",
		"explain instance |":                 "",
		"explain --server=none pod |":        "",
		"hold |":                             "agents000000\tkeep",
		"pause ag|":                          "agents\tgrow",
		"pause agents |":                     "",
		"explain --server=elsewhere/x pod |": "",
	} {
		words, _ := strings.CutSuffix(line, "|")
		at := strings.LastIndex(words, " ")
		args := append(strings.Fields(words[:at]), config, words[at+1:])
		got := sluice(t.Context(), append([]string{"__complete"}, args...)...)
		out, _, _ := strings.Cut(got.out, ":4\n")
		if names := strings.ReplaceAll(strings.TrimSpace(out), "\n", " "); names != want || got.code != exitNothing {
			t.Errorf("%s: %q, want %q; %s", line, names, want, got.complaint)
		}
	}
	r.end()
}

// TestThePluginIsCalledByKubectl holds the names under which kubectl calls the program.
func TestThePluginIsCalledByKubectl(t *testing.T) {
	for line, want := range map[string]string{
		"kubectl-sluice": "", "/usr/bin/kubectl-sluice --context x plan": "--context x plan", "kubectl-sluice.exe explain pod x": "explain pod x",
		"kubectl_complete-sluice explain po": "__complete explain po", "kubectl-sluice --help": "--help",
	} {
		if got := strings.Join(commandLine(strings.Fields(line)), " "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	var out pen
	cmd := underName(root(), "/home/jane/.krew/bin/kubectl-sluice")
	cmd.SetOut(&out)
	if code := execute(t.Context(), cmd, []string{"plan", "--help"}); code != exitNothing || !strings.Contains(out.String(), "kubectl sluice plan [flags]") ||
		strings.Contains(out.String(), "\n  sluice ") || !strings.Contains(out.String(), "\n  kubectl sluice plan --context=prod") {
		t.Errorf("%d: %s", code, out.String())
	}
	var wrong pen
	cmd.SetErr(&wrong)
	if code := execute(t.Context(), cmd, []string{"tpo"}); code != exitError || !strings.Contains(wrong.String(), `did you mean top? see kubectl sluice --help`) {
		t.Errorf("%d: %s", code, wrong.String())
	}
}

// TestKubectlsFlagsSayWhichCluster has a kubeconfig with two contexts, of which one leads nowhere.
func TestKubectlsFlagsSayWhichCluster(t *testing.T) {
	f := newFarm(t)
	var users []string
	p := &proxying{next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		users = append(users, strings.Join(append(slices.Clone(r.Header.Values("Impersonate-User")), r.Header.Values("Impersonate-Group")...), " "))
		fromProtobuf(f.cluster).ServeHTTP(w, r)
	})}
	config := "--kubeconfig=" + file(t, "kubeconfig", `apiVersion: v1
kind: Config
clusters: [{name: here, cluster: {server: "`+f.serve(p)+`"}}, {name: nowhere, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: jane, user: {}}]
contexts: [{name: prod, context: {cluster: here, user: jane, namespace: shop}}, {name: old, context: {cluster: nowhere, user: jane}}]
current-context: old
`)
	ask := func(line ...string) said { return sluice(t.Context(), f.args(append(line, config)...)...) }
	ask("explain", "pod", "web").complains(t, "127.0.0.1:1")
	ask("explain", "pod", "web", "--context=prod").complains(t, `"shop/web"`)
	ask("explain", "pod", "web", "--context=prod", "-n", "default").complains(t, `"default/web"`)
	ask("explain", "pod", "web", "--context=pord").complains(t, "--context=pord", "old, prod")
	ask("explain", "pod", "web", "--request-timeout=soon").complains(t, "--request-timeout=soon", "30s")
	ask("explain", "pod", "web", "--context=prod", "--as-group=viewers").complains(t, "--as-group=viewers", "--as")
	users = nil
	ask("explain", "node", "agents000000", "--context=prod", "--as=jane", "--as-group=viewers").expect(t, exitNothing, "node agents000000")
	if all := slices.Sorted(maps.Keys(tally(users))); !slices.Equal(all, []string{"jane viewers"}) {
		t.Errorf("asked as %q, want jane of viewers alone", all)
	}
}

func tally(list []string) map[string]int {
	n := map[string]int{}
	for _, s := range list {
		n[s]++
	}
	return n
}
