package main

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/kubesim"
)

// The secrets that a process can come by. Each is in no text that it writes.
const (
	plantedSecret   = "Pl4nted~client-secret"
	plantedPassword = "Pl4nted~certificate-password"
	plantedBearer   = "Pl4nted.kubernetes.token"
	plantedJoin     = "K10Pl4nted::server:join-token"
	plantedAdmin    = "Pl4nted~admin-password"
	plantedEnv      = "Pl4nted~environment-of-a-pod"
	plantedNode     = "Pl4nted~annotation-of-a-node"
)

// A vault is the secrets that are searched for, by what they are, and the texts that they are searched in, by where they were written.
type vault struct {
	mu      sync.Mutex
	secrets map[string]string
	texts   map[string]string
}

func newVault() *vault {
	return &vault{texts: map[string]string{}, secrets: map[string]string{
		"the client secret": plantedSecret, "the certificate's password": plantedPassword, "the service account's token": plantedBearer, "a join token": plantedJoin,
		"an administrator's password": plantedAdmin, "a pod's environment": plantedEnv, "a node's annotation": plantedNode,
	}}
}

// heard answers as next does, and keeps the tokens that it gives.
func (v *vault) heard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		var given struct {
			Token string `json:"access_token"`
		}
		if json.Unmarshal(answer.Body.Bytes(), &given) == nil && given.Token != "" {
			v.mu.Lock()
			v.secrets["an access token"] = given.Token
			v.mu.Unlock()
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	})
}

// keep adds a text.
func (v *vault) keep(where, text string) { v.texts[where] += text }

// search finds secrets in texts, also where JSON or a URL has escaped them.
func (v *vault) search(t *testing.T) {
	t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.secrets["an access token"] == "" {
		t.Error("no access token was given: this shows too little")
	}
	for _, where := range slices.Sorted(maps.Keys(v.texts)) {
		if v.texts[where] == "" {
			t.Errorf("%s: nothing was written: this shows nothing", where)
		}
		for what, secret := range v.secrets {
			for _, form := range []string{secret, strings.ReplaceAll(secret, "~", "%7E"), strings.ReplaceAll(secret, "~", `\u007e`)} {
				if i := strings.Index(v.texts[where], form); i >= 0 {
					t.Errorf("%s shows %s: ...%s", where, what, v.texts[where][max(0, i-120):min(len(v.texts[where]), i+40)])
				}
			}
		}
	}
}

// newGuardedFarm is a farm whose sluice has a token for the API server, with secrets wherever a process comes by them.
func newGuardedFarm(t *testing.T, v *vault) *farm {
	t.Helper()
	f := newFarm(t)
	_, err := f.cluster.Create(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": plantedEnv}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "main", Args: []string{"--token=" + plantedEnv}, Env: []corev1.EnvVar{{Name: "TOKEN", Value: plantedEnv}},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}},
		}}},
	})
	must(t, err)
	_, err = f.cluster.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "agents000000.node-password.k3s"}, Data: map[string][]byte{"hash": []byte(plantedNode)}})
	must(t, err)
	must(t, f.cluster.Join(kubesim.Machine{
		Name: "server-0", Labels: map[string]string{"node-role.kubernetes.io/control-plane": "true"},
		Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")},
	}))
	for f.cluster.Step() {
	}
	metadata := f.serve(v.heard(f.azure.Metadata("server-0")))
	config := kubeconfig(t, f.serve(fromProtobuf(f.cluster)))
	text, err := os.ReadFile(config)
	must(t, err)
	must(t, os.WriteFile(config, []byte(strings.Replace(string(text), "user: {}", "user: {token: "+plantedBearer+"}", 1)), 0o600))
	f.flags = append(f.flags, "--azure-metadata-endpoint="+metadata, "--kubeconfig="+config, "--v=9")
	return f
}

// annotate has a person put a secret on every node, where it does not belong.
func (f *farm) annotate(client *http.Client, api string) {
	f.t.Helper()
	for _, n := range []string{"agents000000", "server-0"} {
		r, err := http.NewRequest(http.MethodPatch, api+"/api/v1/nodes/"+n, strings.NewReader(`{"metadata":{"annotations":{"k3s.io/node-env":"`+plantedNode+`","rke2.io/node-args":"`+plantedNode+`"}}}`))
		must(f.t, err)
		r.Header.Set("Content-Type", "application/merge-patch+json")
		resp, err := client.Do(r)
		must(f.t, err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			f.t.Fatalf("annotate node %s: %s", n, resp.Status)
		}
	}
}

// TestNoOutputHoldsASecret plants secrets wherever a process comes by them, has it do and refuse what it can, with the most verbose log, and searches
// everything that it wrote.
func TestNoOutputHoldsASecret(t *testing.T) {
	v := newVault()
	f := newGuardedFarm(t, v)
	f.annotate(http.DefaultClient, f.serve(f.cluster))
	say := func(line ...string) {
		got := sluice(t.Context(), f.args(line...)...)
		v.keep("standard output of "+line[0], got.out)
		v.keep("standard error of "+line[0], got.complaint)
	}
	say("plan")
	say("plan", "-o", "json")
	say("doctor")
	for _, about := range [][]string{{"pod", "web"}, {"pod", "wep"}, {"node", "agents000000"}, {"group", "agents"}, {"instance", "agents/0"}} {
		say("explain", about[0], about[1])
		say("explain", about[0], about[1], "-o", "json")
	}
	journal := file(t, "journal", "")
	r := f.run("--journal="+journal, "--scan-interval=1s")
	grown := func() bool {
		sets := f.azure.Requests()
		return slices.ContainsFunc(sets, func(q azuresim.Request) bool { return q.Method == http.MethodPatch })
	}
	r.until("a growth", grown)
	r.until("a status", func() bool {
		_, ok := kubesim.Find[*corev1.ConfigMap](f.cluster, "kube-system", "cluster-autoscaler-status")
		return ok
	})
	r.until("/readyz", func() bool { return r.answers("/readyz") })
	for _, page := range []string{"/", "/metrics", "/healthz", "/readyz", "/api/v1/entry", "/api/v1/verdicts", "/api/v1/explain?kind=pod&name=default/web", "/api/v1/explain?kind=group&name=agents", "/nowhere"} {
		resp, err := http.Get(r.address + page)
		must(t, err)
		body, err := io.ReadAll(resp.Body)
		must(t, err)
		resp.Body.Close()
		v.keep("page "+page, string(body))
	}
	r.end()
	v.keep("log of run", r.log.String())
	text, err := os.ReadFile(journal)
	must(t, err)
	v.keep("journal", string(text))
	sluice(t.Context(), "replay", journal)
	for _, q := range f.cluster.Log() {
		if q.After != nil && q.Resource != "pods" && q.Resource != "nodes" {
			object, err := json.Marshal(q.After)
			must(t, err)
			v.keep(q.Resource, string(object))
		}
	}
	f.refuse(v)
	v.search(t)
}

// refuse has everything go wrong that has to do with the secrets of a service principal.
func (f *farm) refuse(v *vault) {
	for name, value := range map[string]string{
		"ARM_TENANT_ID": tenant, "ARM_CLIENT_ID": "app", "ARM_CLIENT_SECRET": plantedSecret, "ARM_CLIENT_CERT_PASSWORD": plantedPassword,
		"ARM_SUBSCRIPTION_ID": subscription, "ARM_RESOURCE_GROUP": "farm", "ARM_LOCATION": "westeurope",
	} {
		f.t.Setenv(name, value)
	}
	for name, set := range map[string]func(){
		"a wrong secret": func() { f.t.Setenv("ARM_CLIENT_SECRET", plantedSecret+"x") },
		"a certificate that is none": func() {
			f.t.Setenv("ARM_CLIENT_SECRET", "")
			f.t.Setenv("ARM_CLIENT_CERT_PATH", file(f.t, "cert", plantedAdmin))
		},
		"no tenant":                    func() { f.t.Setenv("ARM_TENANT_ID", "") },
		"an authority that is nowhere": func() { f.flags = append(f.flags, "--azure-authority-host=http://127.0.0.1:1") },
		"an azure.json with secrets in wrong places": func() {
			f.flags = append(f.flags, "--cloud-config="+file(f.t, "azure.json", `{"vmType":"standard","aadClientSecret":{"value":"`+plantedSecret+`"},"deployment":"cluster",
"deploymentParameters":{"adminPassword":{"value":"`+plantedAdmin+`"},"joinToken":{"value":"`+plantedJoin+`"}}`))
		},
		"a deployment with secrets among its parameters": func() {
			f.t.Setenv("ARM_VM_TYPE", "standard")
			f.flags = append(f.flags, "--cloud-config="+file(f.t, "azure.json", `{"vmType":"standard","deployment":"cluster",
"deploymentParameters":{"adminPassword":{"value":"`+plantedAdmin+`"},"joinToken":{"value":"`+plantedJoin+`"}}}`))
		},
	} {
		f.t.Run(name, func(t *testing.T) {
			outer, flags := f.t, f.flags
			f.t = t
			defer func() { f.t, f.flags = outer, flags }()
			set()
			for _, command := range []string{"plan", "doctor"} {
				got := sluice(t.Context(), f.args(command)...)
				v.keep(command+" with "+name, got.out+got.complaint)
			}
		})
	}
}
