package world_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"sluice.dev/sluice/deploy"
	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/kubesim"
	"sluice.dev/sluice/internal/world"
	"sluice.dev/sluice/policy"
)

// livesOn are scenarios that together need every right that decisions and writes have.
var livesOn = []string{
	"agent-budget-waits-for-room", "agent-notice-withdrawn", "buffer-replicas", "disks-per-machine", "expander-priority", "gang-by-annotation", "gate-kept-until-ready",
	"load-leaves", "name-reused-k3s", "rescue", "request-check-capacity", "two-budgets", "gang-of-64", "soft-taint", "volume-never-detached",
}

// besides are scripts of what no scenario shows: a gang of the older API, and an eviction of which the answer asks for a second look.
var besides = []string{
	"group agents size=Standard_D4s_v5 max=3\npodgroup render min=2 api=coscheduling\njob render pods=2 cpu=3 podgroup=render\nadvance 5m\n",
	"group agents size=Standard_D4s_v5 max=3 machines=2\npod base-0 cpu=2500m on=agents_0\npod web-0 cpu=300m on=agents_1\napi-fault conflict of=evict times=1\nadvance 15m\n",
}

// A rulebook says yes or no to every request as the API server's authorizer would from the roles of a manifest, and remembers what was needed.
type rulebook struct {
	mu      sync.Mutex
	granted map[string]bool // "get nodes", "list configmaps in kube-system named x", and whether it was used
	missing map[string]bool
	asked   chan struct{} // has room for one: something was asked for
}

// newRulebook reads the roles of a manifest.
func newRulebook(t *testing.T, manifest []byte) *rulebook {
	t.Helper()
	b := &rulebook{granted: map[string]bool{}, missing: map[string]bool{}, asked: make(chan struct{}, 1)}
	for documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return b
		}
		var role rbacv1.Role // a ClusterRole has the same fields
		if err != nil || yaml.Unmarshal(document, &role) != nil {
			t.Fatalf("the manifest cannot be read: %v", err)
		}
		for _, r := range role.Rules {
			if len(r.ResourceNames) == 0 {
				r.ResourceNames = []string{""}
			}
			for _, verb := range r.Verbs {
				for _, group := range r.APIGroups {
					for _, resource := range r.Resources {
						for _, name := range r.ResourceNames {
							b.granted[right(verb, resource, group, role.Namespace, name)] = false
						}
					}
				}
			}
		}
	}
}

// right is such as "patch nodes", "watch daemonsets.apps" or "get configmaps in kube-system named x"; a namespace or name of "" is any.
func right(verb, resource, group, namespace, name string) string {
	s := verb + " " + resource
	if group != "" {
		s += "." + group
	}
	if namespace != "" {
		s += " in " + namespace
	}
	if name != "" {
		s += " named " + name
	}
	return s
}

// carry lets through what the roles allow.
func (b *rulebook) carry(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if !b.allows(r) {
			return &http.Response{StatusCode: http.StatusForbidden, Status: "403 Forbidden", Body: http.NoBody, Header: http.Header{}, Request: r}, nil
		}
		return next.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// allows notes the right that a request needs. Discovery and questions about one's own rights are everybody's.
func (b *rulebook) allows(r *http.Request) bool {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var group, namespace, name string
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = parts[1], parts[3:]
	default:
		return r.Method == http.MethodGet
	}
	if group == "authorization.k8s.io" && parts[0] == "selfsubjectaccessreviews" {
		return true
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		namespace, parts = parts[1], parts[2:]
	}
	resource := parts[0]
	if len(parts) > 1 {
		name = parts[1]
	}
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	verb := map[string]string{"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}[r.Method]
	if verb == "get" && name == "" {
		verb = "list"
		if r.URL.Query().Get("watch") != "" {
			verb = "watch"
		}
		name = strings.TrimPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case b.asked <- struct{}{}:
	default:
	}
	for _, in := range []string{"", namespace} {
		for _, named := range []string{"", name} {
			if may := right(verb, resource, group, in, named); granted(b.granted, may) {
				b.granted[may] = true
				return true
			}
		}
	}
	b.missing[right(verb, resource, group, namespace, name)] = true
	return false
}

func granted(rights map[string]bool, right string) bool { _, ok := rights[right]; return ok }

// unused are the rights that nothing needed yet, sorted.
func (b *rulebook) unused() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(b.granted)), func(r string) bool { return b.granted[r] })
}

// judge holds the manifest to what was used.
func (b *rulebook) judge(t *testing.T, manifest string) {
	t.Helper()
	for _, r := range b.unused() {
		t.Errorf("%s grants the right to %s, and nothing uses it: take it out, or play a scenario that needs it", manifest, r)
	}
	for r := range b.missing {
		t.Errorf("%s does not grant the right to %s, and it was used", manifest, r)
	}
}

// TestTheRolesGrantExactlyWhatIsUsed plays scenarios with an API server that goes by the roles in deploy, and then one process as it runs
// in a cluster, with its lease, Events and status: each right is used, and nothing is done without one.
func TestTheRolesGrantExactlyWhatIsUsed(t *testing.T) {
	product, gate, agents := newRulebook(t, deploy.RBAC), newRulebook(t, deploy.CapacityGate), newRulebook(t, deploy.Agent)
	carry := func(next http.RoundTripper) http.RoundTripper {
		ofProduct, ofGate, ofAgents := product.carry(next), gate.carry(next), agents.carry(next)
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			switch {
			case strings.HasPrefix(r.UserAgent(), "sluice-agent/"):
				return ofAgents.RoundTrip(r)
			case r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/pods/"):
				return ofGate.RoundTrip(r)
			}
			return ofProduct.RoundTrip(r)
		})
	}
	for _, name := range livesOn {
		text := read(t, filepath.Join("..", "..", "testdata", name+".txtar"))
		r, err := world.Run(t.Context(), text, io.Discard, world.Options{NoJournal: true, Kubernetes: carry})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := world.Diff(r.Expected, r.Transcript); diff != "" {
			t.Errorf("%s does not go as it goes with all rights (-want +got):\n%s", name, diff)
		}
	}
	for _, script := range besides {
		if r, err := world.Run(t.Context(), []byte(script), io.Discard, world.Options{NoJournal: true, Kubernetes: carry}); err != nil {
			t.Errorf("%v\n%s", err, r.Transcript)
		}
	}
	serve(t, product)
	product.judge(t, "deploy/rbac.yaml")
	gate.judge(t, "deploy/capacity-gate.yaml")
	agents.judge(t, "deploy/agent.yaml")
}

// serve looks as sluice plan does, and runs one process on the wall clock until its lease, Events and status have used every right that is left.
func serve(t *testing.T, b *rulebook) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	const subscription, farm = "00000000-0000-0000-0000-000000000001", "farm"
	cloud := &azuresim.Server{AnyToken: true}
	for _, err := range []error{
		cloud.AddMachine(azuresim.Machine{Subscription: subscription, ResourceGroup: farm, Name: "server-0", Location: "westeurope", SystemAssigned: true}),
		cloud.AddScaleSet(azuresim.ScaleSet{
			Subscription: subscription, ResourceGroup: farm, Name: "agents", Location: "westeurope", Size: "Standard_D4s_v5", VCPUs: 4, Family: "standardDSv5Family",
		}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cluster := &kubesim.Cluster{}
	_, err := cluster.Create(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for cluster.Step() {
	}
	group, err := azure.ParseGroup("0:3:agents")
	if err != nil {
		t.Fatal(err)
	}
	for _, api := range []kubesim.API{kubesim.Gangs, kubesim.Coscheduling, kubesim.CapacityBuffers, kubesim.ProvisioningRequests} {
		cluster.Install(api)
	}
	buffer := &kubesim.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "spare"}, Spec: map[string]any{"podTemplateRef": map[string]any{"name": "spare"}}}
	if _, err := cluster.Create(buffer); err != nil {
		t.Fatal(err)
	}
	config := cluster.RESTConfig()
	config.Transport = b.carry(config.Transport)
	ranked := policy.Default()
	ranked.Growth.Expanders = []policy.Expander{policy.Priority}
	o := app.Options{
		Kube: config, Azure: azure.Options{Groups: []azure.GroupSpec{group}, Transport: &azuresim.Transport{Server: cloud, Machine: "server-0"}},
		Policy: ranked, Log: slog.New(slog.DiscardHandler), Timing: app.Timing{Resync: time.Second}, Namespace: deploy.Namespace,
		Election: app.Election{
			Enabled: true, Namespace: deploy.Namespace, Name: "cluster-autoscaler", Identity: "server-0", Lease: 15 * time.Second, Renew: 10 * time.Second, Retry: 100 * time.Millisecond,
		},
		WriteStatus: true, StatusName: "cluster-autoscaler-status",
	}
	if _, err := app.Look(ctx, o); err != nil {
		t.Error(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx, o) }()
	for len(b.unused()) > 0 {
		select {
		case <-b.asked:
		case err := <-ended:
			t.Fatalf("the process ended: %v", err)
		case <-ctx.Done():
			return // the judge says what is left
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(fmt.Errorf("the process ended with: %w", err))
	}
}
