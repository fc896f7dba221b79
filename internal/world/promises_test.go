package world

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/kubesim"
	"sluice.dev/sluice/internal/observer"
)

// played is a world at the end of a script, whose sluice had no reason to do anything.
func played(t *testing.T, script string) *world {
	t.Helper()
	statements, err := parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(Options{}, nil, io.Discard)
	t.Cleanup(w.close)
	if err := w.play(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
	return w
}

// send makes a request to Azure as sluice would, past everything that keeps sluice from it.
func (w *world) send(t *testing.T, method, path, body, ifMatch string) {
	t.Helper()
	w.ask(t, method, "virtualMachineScaleSets/agents"+path, body, ifMatch)
}

// ask makes a request about anything that Compute has.
func (w *world) ask(t *testing.T, method, path, body, ifMatch string) {
	t.Helper()
	const compute = "https://management.azure.com/subscriptions/" + subscription + "/resourceGroups/" + resourceGroup + "/providers/Microsoft.Compute/"
	r, err := http.NewRequestWithContext(t.Context(), method, compute+path+"?api-version=2025-04-01", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer any")
	r.Header.Set("Content-Type", "application/json")
	if ifMatch != "" {
		r.Header.Set("If-Match", ifMatch)
	}
	resp, err := w.wire.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
}

// growTwice asks for a machine, and for another one after that.
func (w *world) growTwice(t *testing.T, between func()) {
	t.Helper()
	w.send(t, http.MethodPatch, "", `{"sku":{"capacity":3}}`, "*")
	between()
	w.send(t, http.MethodPatch, "", `{"sku":{"capacity":4}}`, "*")
}

func patchNode(t *testing.T, client kubernetes.Interface, node, patch string) {
	t.Helper()
	if _, err := client.CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func evict(t *testing.T, w *world, pod string) {
	t.Helper()
	e := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: "default"}}
	if err := kubernetes.NewForConfigOrDie(w.cluster.RESTConfig()).CoreV1().Pods("default").EvictV1(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

// TestBrokenPromisesAreSeen does by hand what sluice must never do: the simulators' witnesses tell each by its property.
func TestBrokenPromisesAreSeen(t *testing.T) {
	const parking = "group agents mode=flexible removal=deallocate size=Standard_D4s_v5 min=1 max=3 machines=2\npod base-0 cpu=3 on=agents_0\npod render-0 cpu=3 on=agents_1 owner=job\n"
	const two = "group agents size=Standard_D4s_v5 min=0 max=5 machines=2\npod base-0 cpu=3 on=agents_0\npod render-0 cpu=3 on=agents_1 owner=job\n"
	const daemon = "group agents size=Standard_D4s_v5 min=1 max=5 machines=1\npod agent cpu=100m owner=job annotation=cluster-autoscaler.kubernetes.io/daemonset-pod=true on=agents_0\nadvance 1m\n"
	api := func(w *world) kubernetes.Interface { return kubernetes.NewForConfigOrDie(w.cluster.RESTConfig()) }
	for name, c := range map[string]struct {
		script string
		do     func(*testing.T, *world)
		want   string
	}{
		"nothing": {two + "advance 1m\n", func(*testing.T, *world) {}, ""},
		"a node deleted in time by an API server that is slow and silent": {
			"policy scale-down-unneeded-time=4m\nfault late of=delete group=render times=1 after=32s\ngroup render mode=flexible size=Standard_D4s_v5 min=1 max=4 machines=2\n" +
				"advance 275s\nsilent-api for=132s\nslow-api after=25s for=261s\nadvance 215s\n", func(*testing.T, *world) {}, "",
		},
		"a node deleted while the API server is silent": {two + "advance 1m\nsilent-api for=5m\nadvance 70s\n", func(t *testing.T, w *world) {
			if err := api(w).CoreV1().Nodes().Delete(t.Context(), "agents000000", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}, "S-20"},
		"a machine deleted while the API server is silent": {two + "advance 1m\nsilent-api for=5m\nadvance 70s\n", func(t *testing.T, w *world) {
			w.send(t, http.MethodPost, "/delete", `{"instanceIds":["0"]}`, "")
		}, "S-20"},
		"a pod evicted again from the node to which it came back": {
			"group agents size=Standard_D4s_v5 min=0 max=5 machines=1\ndeployment monitor replicas=1 cpu=1 toleration=*\nadvance 1m\n", func(t *testing.T, w *world) {
				for range 3 { // one in the place of another may be there before that has gone
					for _, p := range kubesim.All[*corev1.Pod](w.cluster, "default") {
						if p.DeletionTimestamp != nil || p.Spec.NodeName == "" {
							continue
						}
						evict(t, w, p.Name)
					}
					more, err := parse([]byte("advance 1m\n"))
					if err == nil {
						err = w.play(t.Context(), more)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
			}, "S-15",
		},
		"a capacity below the machines that live": {two + "advance 1m\n", func(t *testing.T, w *world) {
			w.send(t, http.MethodPatch, "", `{"sku":{"capacity":1}}`, "*")
		}, "S-01"},
		"a capacity below the machines of a flexible set": {parking + "advance 1m\n", func(t *testing.T, w *world) {
			w.send(t, http.MethodPatch, "", `{"sku":{"capacity":1}}`, "*")
		}, "S-01"},
		"a capacity above the max": {two + "advance 1m\n", func(t *testing.T, w *world) {
			w.send(t, http.MethodPatch, "", `{"sku":{"capacity":6}}`, "*")
		}, "S-06"},
		"a capacity above the max of the hour": {"policy schedule=\"agents: Mon-Sun 00:00-01:00 UTC max=3\"\n" + two + "advance 1m\n", func(t *testing.T, w *world) {
			w.send(t, http.MethodPatch, "", `{"sku":{"capacity":4}}`, "*")
		}, "S-06"},
		"a capacity that only the hour allows": {"policy schedule=\"agents: Mon-Sun 00:00-01:00 UTC max=7\"\n" + two + "advance 1m\n", func(t *testing.T, w *world) {
			w.send(t, http.MethodPatch, "", `{"sku":{"capacity":6}}`, "*")
		}, ""},
		"a deletion below the min": {strings.Replace(two, "min=0", "min=2", 1) + "advance 1m\n", func(t *testing.T, w *world) {
			w.send(t, http.MethodPost, "/delete", `{"instanceIds":["0"]}`, "")
		}, "S-06"},
		"a growth without an entity tag": {two + "advance 1m\n", func(t *testing.T, w *world) {
			w.send(t, http.MethodPatch, "", `{"sku":{"capacity":3}}`, "")
		}, "S-04"},
		"a deletion that names nobody": {two + "advance 1m\n", func(t *testing.T, w *world) {
			w.send(t, http.MethodPost, "/delete", `{"instanceIds":[]}`, "")
		}, "S-10"},
		"a machine deleted under a Job": {two + "advance 1m\n", func(t *testing.T, w *world) {
			w.send(t, http.MethodPost, "/delete", `{"instanceIds":["1"]}`, "")
		}, "S-15"},
		"a machine deleted under a pod that is annotated, and not as a daemon's": {strings.Replace(daemon, "=true", "=false", 1), func(t *testing.T, w *world) {
			w.send(t, http.MethodPost, "/delete", `{"instanceIds":["0"]}`, "")
		}, "S-15"},
		"a machine deleted under a pod that is annotated as a daemon's and works": {"policy daemon-work=default/app=agent\n" + daemon, func(t *testing.T, w *world) {
			w.send(t, http.MethodPost, "/delete", `{"instanceIds":["0"]}`, "")
		}, "S-15"},
		"a pod evicted that is annotated as a daemon's": {daemon, func(t *testing.T, w *world) { evict(t, w, "agent") }, ""},
		"a pod evicted that is annotated as a daemon's and works": {"policy daemon-work=default/app=agent\n" + daemon, func(t *testing.T, w *world) {
			evict(t, w, "agent")
		}, "S-15"},
		"a machine deleted whose node is not on its way out": {two + "advance 1m\n", func(t *testing.T, w *world) {
			w.send(t, http.MethodPost, "/delete", `{"instanceIds":["0"]}`, "")
		}, "S-16"},
		"a machine parked under a Job, by its name": {parking + "advance 1m\n", func(t *testing.T, w *world) {
			w.send(t, http.MethodPost, "/deallocate", `{"instanceIds":["`+w.machines.named("agents_1").Name+`"]}`, "")
		}, "S-15"},
		"a machine parked whose node is not on its way out": {parking + "advance 1m\n", func(t *testing.T, w *world) {
			w.send(t, http.MethodPost, "/deallocate", `{"instanceIds":["`+w.machines.named("agents_0").Name+`"]}`, "")
		}, "S-16"},
		"a parking that names nobody": {parking + "advance 1m\n", func(t *testing.T, w *world) {
			w.send(t, http.MethodPost, "/deallocate", `{"instanceIds":[]}`, "")
		}, "S-10"},
		"a parking below the min": {strings.Replace(parking, "min=1", "min=2", 1) + "advance 1m\n", func(t *testing.T, w *world) {
			w.send(t, http.MethodPost, "/deallocate", `{"instanceIds":["`+w.machines.named("agents_0").Name+`"]}`, "")
		}, "S-06"},
		"a start above the max": {strings.Replace(parking, "max=3", "max=1", 1) + "advance 1m\n", func(t *testing.T, w *world) {
			if err := w.azure.Deallocate(w.machines.named("agents_1").ID); err != nil {
				t.Fatal(err)
			}
			w.send(t, http.MethodPost, "/start", `{"instanceIds":["`+w.machines.named("agents_1").Name+`"]}`, "")
		}, "S-06"},
		"a capacity above the max and the parked": {parking + "advance 1m\n", func(t *testing.T, w *world) {
			w.send(t, http.MethodPatch, "", `{"sku":{"capacity":4}}`, "*")
		}, "S-06"},
		"a node deleted whose machine lives": {two + "advance 1m\n", func(t *testing.T, w *world) {
			if err := api(w).CoreV1().Nodes().Delete(t.Context(), "agents000000", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}, "S-14"},
		"a pod deleted past the eviction API": {two + "advance 1m\n", func(t *testing.T, w *world) {
			if err := api(w).CoreV1().Pods("default").Delete(t.Context(), "base-0", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}, "S-15"},
		"a growth that makes nothing larger": {two + "advance 1m\n", func(t *testing.T, w *world) {
			w.send(t, http.MethodPatch, "", `{"sku":{"capacity":2}}`, "*")
		}, "S-05"},
		"a growth that writes more than the capacity": {two + "advance 1m\n", func(t *testing.T, w *world) {
			w.send(t, http.MethodPatch, "", `{"sku":{"capacity":3},"properties":{"overprovision":false}}`, "*")
		}, "S-04"},
		"a write that no list came before": {two + "advance 1m\n", func(t *testing.T, w *world) {
			w.send(t, http.MethodPatch, "", `{"sku":{"capacity":3}}`, "*")
			w.send(t, http.MethodPost, "/delete", `{"instanceIds":["0"]}`, "")
		}, "S-02"},
		"a write on a list made for it": {two + "advance 1m\n", func(t *testing.T, w *world) {
			w.growTwice(t, func() { w.send(t, http.MethodGet, "/virtualMachines", "", "") })
		}, ""},
		"a write on the first page of a list": {two + "advance 1m\n", func(t *testing.T, w *world) {
			w.azure.PageSize = 1
			w.growTwice(t, func() { w.send(t, http.MethodGet, "/virtualMachines", "", "") })
		}, "S-02"},
		"a write on the last page of a list that began before the write before it": {two + "advance 1m\n", func(t *testing.T, w *world) {
			w.growTwice(t, func() {
				w.azure.Observe(azuresim.Request{Time: w.now(), Method: http.MethodGet, Kind: "LIST virtualMachineScaleSets/virtualMachines", ScaleSet: "agents", Status: 200, Lists: []string{"agents"}, Last: true}, nil)
			})
		}, "S-02"},
		"a write on a list that was cut": {two + "advance 1m\nfault half-answer of=list\n", func(t *testing.T, w *world) {
			w.growTwice(t, func() { w.send(t, http.MethodGet, "/virtualMachines", "", "") })
		}, "S-02"},
		"a write on a list that has not come yet": {two + "advance 1m\n", func(t *testing.T, w *world) {
			w.growTwice(t, func() {
				w.azure.Observe(azuresim.Request{Time: w.now(), Method: http.MethodGet, Kind: "LIST virtualMachineScaleSets/virtualMachines", ScaleSet: "agents", Status: 200, Lists: []string{"agents"}, First: true, Last: true, Held: 9 * time.Second}, nil)
			})
		}, "S-02"},
		"a write to a uniform set on a list of all virtual machines, which has none of its own": {two + "advance 1m\n", func(t *testing.T, w *world) {
			w.growTwice(t, func() { w.ask(t, http.MethodGet, "virtualMachines", "", "") })
		}, "S-02"},
		"a write to a flexible set on that list": {strings.Replace(two, "size=", "mode=flexible size=", 1) + "advance 1m\n", func(t *testing.T, w *world) {
			w.growTwice(t, func() { w.ask(t, http.MethodGet, "virtualMachines", "", "") })
		}, ""},
		"a start above the max, while another process leads, too": {strings.Replace(parking, "max=3", "max=1", 1) + "advance 1m\n", func(t *testing.T, w *world) {
			if err := w.azure.Deallocate(w.machines.named("agents_1").ID); err != nil {
				t.Fatal(err)
			}
			w.judges.rule.Several = true
			w.send(t, http.MethodPost, "/start", `{"instanceIds":["`+w.machines.named("agents_1").Name+`"]}`, "")
		}, "S-06"},
		"a machine named twice": {two + "advance 1m\n", func(t *testing.T, w *world) {
			w.send(t, http.MethodPost, "/delete", `{"instanceIds":["0","0"]}`, "")
		}, "S-11"},
		"a machine deleted that another Ready node could be": {
			two + "advance 1m\nfault same-name name=agents000000 times=1\nresize agents 3\nadvance 1s\n", func(t *testing.T, w *world) {
				w.send(t, http.MethodPost, "/delete", `{"instanceIds":["2"]}`, "")
			}, "S-12"},
		"a machine deleted whose node has just registered": {two + "advance 1m\nresize agents 3\nuntil node agents_2 ready\n", func(t *testing.T, w *world) {
			w.send(t, http.MethodPost, "/delete", `{"instanceIds":["2"]}`, "")
		}, "S-13"},
		"a machine of the control plane deleted": {
			"group agents size=Standard_D4s_v5 min=0 max=5 machines=2 node-label=node-role.kubernetes.io/control-plane=\nadvance 1m\n", func(t *testing.T, w *world) {
				w.send(t, http.MethodPost, "/delete", `{"instanceIds":["0"]}`, "")
			}, "S-17"},
		"a protected machine deleted": {two + "protect agents_0\nadvance 1m\n", func(t *testing.T, w *world) {
			w.send(t, http.MethodPost, "/delete", `{"instanceIds":["0"]}`, "")
		}, "S-18"},
		"a machine deleted whose node is annotated to stay": {
			two + "annotate agents_0 cluster-autoscaler.kubernetes.io/scale-down-disabled=true\nadvance 1m\n", func(t *testing.T, w *world) {
				w.send(t, http.MethodPost, "/delete", `{"instanceIds":["0"]}`, "")
			}, "S-18"},
		"a node that a person has cordoned, cordoned for removal": {two + "cordon agents_0\nadvance 1m\n", func(t *testing.T, w *world) {
			patchNode(t, api(w), "agents000000", `{"spec":{"taints":[{"key":"sluice.dev/removing","effect":"NoSchedule"}]}}`)
		}, "S-18"},
		"a label of somebody else written": {two + "advance 1m\n", func(t *testing.T, w *world) {
			patchNode(t, api(w), "agents000000", `{"metadata":{"labels":{"team":"a"}}}`)
		}, "S-04"},
		"a taint of somebody else taken off": {two + "taint agents_0 team=a:NoSchedule\nadvance 1m\n", func(t *testing.T, w *world) {
			patchNode(t, api(w), "agents000000", `{"spec":{"taints":null}}`)
		}, "S-04"},
		"a node of the control plane cordoned": {
			"group agents size=Standard_D4s_v5 min=0 max=5 machines=2 node-label=node-role.kubernetes.io/control-plane=\nadvance 1m\n", func(t *testing.T, w *world) {
				patchNode(t, api(w), "agents000000", `{"spec":{"taints":[{"key":"sluice.dev/removing","effect":"NoSchedule"}]}}`)
			}, "S-17"},
		"a gate opened while no node takes pods": {
			"group agents size=Standard_D4s_v5 min=0 max=1 machines=1\nannotate agents_0 cluster-autoscaler.kubernetes.io/scale-down-disabled=true\n" +
				"cordon agents_0\npod job-0 cpu=1 gate=sluice.dev/capacity\nadvance 1s\n", func(t *testing.T, w *world) {
				patch := []byte(`{"spec":{"schedulingGates":null}}`)
				if _, err := api(w).CoreV1().Pods("default").Patch(t.Context(), "job-0", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
			}, "S-41"},
		"an agent that writes to another node": {two + "advance 1m\n", func(t *testing.T, w *world) {
			config := w.cluster.RESTConfig()
			config.UserAgent = agentName + "/agents000000"
			patchNode(t, kubernetes.NewForConfigOrDie(config), "agents000001", `{"spec":{"unschedulable":true}}`)
		}, "S-42"},
		"a wait that Azure had asked for": {two + "fault throttled of=list times=1 retry-after=1h skip=9\nadvance 2m\n", func(t *testing.T, w *world) {
			r := azuresim.Request{Time: w.now(), Method: http.MethodGet, Kind: "LIST virtualMachineScaleSets/virtualMachines", ScaleSet: "agents", Status: 429, RetryAfter: time.Minute}
			w.azure.Observe(r, nil)
			r.Status, r.RetryAfter = 200, 0
			w.azure.Observe(r, nil)
		}, "S-32"},
		"a write that fails for ever": {two + "advance 1m\n", func(t *testing.T, w *world) {
			for range 100 {
				_ = api(w).CoreV1().Nodes().Delete(t.Context(), "nobody", metav1.DeleteOptions{})
			}
		}, "S-31"},
		"a dry run that writes to Azure": {"dry-run\n" + two + "advance 1m\n", func(t *testing.T, w *world) {
			w.send(t, http.MethodPatch, "", `{"sku":{"capacity":3}}`, "*")
		}, "S-24"},
		"a dry run that writes to Kubernetes": {"dry-run\n" + two + "advance 1m\n", func(t *testing.T, w *world) {
			if _, err := api(w).CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}, "S-24"},
	} {
		t.Run(name, func(t *testing.T) {
			w := played(t, c.script)
			c.do(t, w)
			broken, err := w.promises()
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Join(broken, "\n")
			if c.want == "" && all != "" || c.want != "" && !strings.Contains(all, c.want+" was broken") {
				t.Errorf("broken promises are %q, want %q", all, c.want)
			}
		})
	}
}

// TestTheNodeObjectOfAParkedMachineIsMissed deletes the Node object of a machine that is parked, and of one that runs (S-14).
func TestTheNodeObjectOfAParkedMachineIsMissed(t *testing.T) {
	for _, name := range []string{"agents_0", "agents_1"} {
		w := played(t, "group agents mode=flexible removal=deallocate size=Standard_D4s_v5 min=1 max=3 machines=2\npod base-0 cpu=3 on=agents_0\nuntil node agents_1 parked\n")
		if err := kubernetes.NewForConfigOrDie(w.cluster.RESTConfig()).CoreV1().Nodes().Delete(t.Context(), w.machines.named(name).ComputerName, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.judges.observer.Turn()
		if !slices.ContainsFunc(w.judges.observer.Violations(), func(v observer.Violation) bool { return v.Property == "S-14" }) {
			t.Errorf("the Node object of machine %s is not missed: %v", name, w.judges.observer.Violations())
		}
	}
}

// TestADifferentDecisionIsSeenOnReplay changes one number in a journal: the cycle is told to be decided differently.
func TestADifferentDecisionIsSeenOnReplay(t *testing.T) {
	w := played(t, "group agents size=Standard_D4s_v5 min=0 max=5 machines=1\npod base-0 cpu=4 on=agents_0\npod web-0 cpu=3\nadvance 1m\n")
	forged := strings.Replace(w.recording.journal.String(), `"from":1,"to":2,`, `"from":1,"to":3,`, 1)
	if forged == w.recording.journal.String() {
		t.Fatal("the journal has no growth from 1 to 2")
	}
	w.recording.journal.Reset()
	w.recording.journal.WriteString(forged)
	broken, err := w.promises()
	if err != nil {
		t.Fatal(err)
	}
	if len(broken) != 1 || !strings.Contains(broken[0], "decided differently on replay") {
		t.Errorf("broken promises are %q", broken)
	}
}

// TestPodsAreCalledAfterTheirController holds what transcripts call things.
func TestPodsAreCalledAfterTheirController(t *testing.T) {
	w := played(t, "group agents size=Standard_D4s_v5 min=0 max=5 machines=1\ndeployment web replicas=2 cpu=1\nadvance 10s\n")
	for _, p := range kubesim.All[*corev1.Pod](w.cluster, "default") {
		if got := w.out.names.in(p.Namespace + "/" + p.Name); got != "default/web-1" && got != "default/web-2" {
			t.Errorf("pod %s is called %s", p.Name, got)
		}
	}
	if got := w.out.names.in("fits node agents000000, waits"); got != "fits node agents_0, waits" {
		t.Errorf("a node is called otherwise: %s", got)
	}
}

// TestAnAnswerIsWaitedForAsLongAsSluiceDoes asks what is never answered: as long as the client waits for it the world's clock goes on.
func TestAnAnswerIsWaitedForAsLongAsSluiceDoes(t *testing.T) {
	for name, c := range map[string]struct {
		kind, url string
		want      time.Duration
	}{
		"Resource Manager":     {"LIST virtualMachines", "https://management.azure.com/subscriptions/" + subscription + "/resourceGroups/" + resourceGroup + "/providers/Microsoft.Compute/virtualMachines?api-version=2025-04-01", 30 * time.Second},
		"who gives tokens":     {"POST token", "https://login.microsoftonline.com/" + tenant + "/oauth2/v2.0/token", 20 * time.Second},
		"a machine's identity": {"GET metadata/identity", "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https://management.azure.com", 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			w := played(t, "group agents size=Standard_D4s_v5 min=0 max=5 machines=1\nadvance 1m\n")
			w.azure.Inject(azuresim.Fault{Kind: c.kind, Delay: time.Hour})
			method, _, _ := strings.Cut(strings.Replace(c.kind, "LIST", "GET", 1), " ")
			r, err := http.NewRequestWithContext(t.Context(), method, c.url, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer any")
			r.Header.Set("Metadata", "true")
			began := w.now()
			resp, err := w.wire.RoundTrip(r)
			if err == nil {
				_ = resp.Body.Close()
				t.Error("it was answered")
			}
			if took := w.now().Sub(began); took != c.want {
				t.Errorf("it was waited for for %s, want %s", took, c.want)
			}
		})
	}
}
