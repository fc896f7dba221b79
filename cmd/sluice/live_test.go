package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/kubesim"
)

func TestPlanSaysWhatWouldBeDoneAndDoesNothing(t *testing.T) {
	f := newFarm(t)
	f.pod("web")
	sluice(t.Context(), f.args("plan")...).expect(t, exitActs, "1 action", "planned", "grow group agents 1 -> 2", "pending pods: 1", "grows: 1")
	got := sluice(t.Context(), f.args("plan", "-o", "json")...)
	got.expect(t, exitActs)
	var o struct {
		Actions []json.RawMessage
		Groups  []struct{ Group, Outcome string }
	}
	if err := json.Unmarshal([]byte(got.out), &o); err != nil || len(o.Actions) != 1 || len(o.Groups) != 1 || o.Groups[0].Outcome != "grow" {
		t.Errorf("as JSON: %v; want one action, and a group that grows:\n%s", err, got.out)
	}
	f.untouched()
}

func TestPlanOfAFarmInWhichAllFitsIsNothing(t *testing.T) {
	f := newFarm(t)
	sluice(t.Context(), f.args("plan")...).expect(t, exitNothing, "nothing to do", "agents", "steady")
	f.untouched()
}

func TestPlanOfWhatCannotBeReadIsNoAllClear(t *testing.T) {
	f := newFarm(t)
	must(t, f.azure.Deny(client, "Microsoft.Compute/*"))
	got := sluice(t.Context(), f.args("plan")...)
	got.expect(t, exitError, "agents", "cannot be managed")
	if want := "sluice: no node group can be read: "; !strings.HasPrefix(got.complaint, want) || strings.Count(got.complaint, "\n") != 1 {
		t.Errorf("standard error is not one sentence that begins %q:\n%s", want, got.complaint)
	}
	must(t, f.azure.Allow(client))
	sluice(t.Context(), f.args("plan", "--nodes=0:3:agnts")...).expect(t, exitNothing, "agnts", "correct --nodes", "agents", "steady")
	f.untouched()
}

func TestPlanWithoutAGroupSaysSo(t *testing.T) {
	f := newFarm(t)
	f.pod("web")
	got := sluice(t.Context(), append(slices.DeleteFunc(f.args("plan"), func(arg string) bool { return arg == "--nodes=0:3:agents" }), "--server=none")...)
	got.expect(t, exitActs, "none is managed", "NoGroupFound")
	if want := "sluice: no node group is found: give a scale set the tags cluster-autoscaler-enabled=true, min and max"; !strings.HasPrefix(got.complaint, want) {
		t.Errorf("standard error does not begin %q:\n%s", want, got.complaint)
	}
	f.untouched()
}

// TestPlanKnowsWhatTheRunningSluiceHasLearned has a running sluice know of a younger node, which is gone and had fewer cores than the one that is there.
func TestPlanKnowsWhatTheRunningSluiceHasLearned(t *testing.T) {
	f := newFarm(t)
	f.pod("web")
	const without = "decided without what a running sluice has learned of its groups"
	sluice(t.Context(), f.args("plan")...).expect(t, exitActs, "grow group agents 1 -> 2", without, "there is no ConfigMap kube-system/cluster-autoscaler-status")
	sluice(t.Context(), f.args("explain", "pod", "web")...).expect(t, exitNothing, "pod default/web: grows", without)

	small := &corev1.Node{Status: corev1.NodeStatus{Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("110")}}}
	small.Status.Allocatable = small.Status.Capacity
	lessons, err := json.Marshal(cluster.Lessons{"agents": {Node: small, Size: "Standard_D4s_v5", Of: "gone", Born: time.Now().Add(time.Hour)}})
	must(t, err)
	record := func(namespace, name, text string) {
		_, err := f.cluster.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{"templates": text}})
		must(t, err)
	}
	record("kube-system", "cluster-autoscaler-status", string(lessons))
	record("kube-system", "garbled", "{")
	for name, got := range map[string]said{
		"plan": sluice(t.Context(), f.args("plan")...), "explain": sluice(t.Context(), f.args("explain", "pod", "web")...),
		"explain by name": sluice(t.Context(), f.args("explain", "pod", "web", "--status-namespace=kube-system", "--status-config-map-name=cluster-autoscaler-status")...),
	} {
		got.expect(t, exitNothing, "stuck", "Insufficient cpu (needs 3, free 2)")
		if strings.Contains(got.out, without) {
			t.Errorf("%s says that it did without:\n%s", name, got.out)
		}
	}
	sluice(t.Context(), f.args("plan", "--status-config-map-name=garbled")...).expect(t, exitActs, "grow group agents 1 -> 2", without, "key templates of the status ConfigMap")
	sluice(t.Context(), f.args("plan", "-o", "json", "--namespace=elsewhere")...).expect(t, exitActs, `"without": "there is no ConfigMap elsewhere/cluster-autoscaler-status"`)

	guarded := f.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/configmaps/cluster-autoscaler-status") {
			fromProtobuf(f.cluster).ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: "jane may not"})
	}))
	sluice(t.Context(), f.args("plan", "--kubeconfig="+kubeconfig(t, guarded))...).expect(t, exitActs, without, "read ConfigMap kube-system/cluster-autoscaler-status: jane may not")
	f.untouched()
}

func TestExplainLooksAtTheCluster(t *testing.T) {
	f := newFarm(t)
	f.pod("web")
	sluice(t.Context(), f.args("explain", "pod", "web")...).expect(t, exitNothing, "pod default/web: grows", "agents")
	sluice(t.Context(), f.args("explain", "node", "agents000000")...).expect(t, exitNothing, "node agents000000: keep")
	sluice(t.Context(), f.args("explain", "group", "agents", "-o", "json")...).expect(t, exitNothing, `"outcome": "grow"`)
	sluice(t.Context(), f.args("explain", "instance", "agents/0")...).expect(t, exitNothing, "instance agents/0")
	sluice(t.Context(), f.args("explain", "pod", "wep")...).complains(t, "default/wep", "did you mean default/web")
	f.untouched()
}

// running is a sluice that runs in the background.
type running struct {
	t       *testing.T
	address string
	log     *pen
	stop    context.CancelFunc
	ended   chan int
}

func (f *farm) run(line ...string) *running {
	f.t.Helper()
	address := freeAddress(f.t)
	ctx, stop := context.WithCancel(f.t.Context())
	r := &running{t: f.t, address: "http://" + address, log: &pen{}, stop: stop, ended: make(chan int, 1)}
	cmd := root()
	cmd.SetOut(r.log)
	cmd.SetErr(r.log)
	go func() {
		r.ended <- execute(ctx, cmd, f.args(append([]string{"run", "--address=" + address}, line...)...))
	}()
	f.t.Cleanup(stop)
	return r
}

// until asks again and again until so, and fails the test when it does not come about.
func (r *running) until(what string, so func() bool) {
	r.t.Helper()
	deadline := time.After(10 * time.Second)
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for !so() {
		select {
		case <-again.C:
		case code := <-r.ended:
			r.t.Fatalf("sluice ended with %d before %s:\n%s", code, what, r.log)
		case <-deadline:
			r.t.Fatalf("%s did not come about:\n%s", what, r.log)
		}
	}
}

// answers says whether a page answers 200.
func (r *running) answers(page string) bool {
	resp, err := http.Get(r.address + page)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode == http.StatusOK
}

// end tells sluice to stop and holds that it calls that a good end.
func (r *running) end() {
	r.t.Helper()
	r.stop()
	select {
	case code := <-r.ended:
		if code != exitNothing {
			r.t.Errorf("told to stop, sluice ended with %d, want %d:\n%s", code, exitNothing, r.log)
		}
	case <-time.After(10 * time.Second):
		r.t.Fatalf("told to stop, sluice goes on:\n%s", r.log)
	}
}

func TestADryRunTellsAndTouchesNothing(t *testing.T) {
	f := newFarm(t)
	f.pod("web")
	journal := file(t, "journal", "")
	r := f.run("--dry-run", "--journal="+journal)
	r.until("/readyz", func() bool { return r.answers("/readyz") })
	r.until("a word of what it would do", func() bool {
		return strings.Contains(r.log.String(), "dry run: would grow group agents 1 -> 2")
	})
	sluice(t.Context(), "explain", "group", "agents", "--server="+r.address).expect(t, exitNothing, "group agents: grow", "dry run")
	sluice(t.Context(), "explain", "pod", "wep", "--server="+r.address).complains(t, "did you mean default/web")
	r.end()
	sluice(t.Context(), "explain", "pod", "web", "--journal="+journal).expect(t, exitNothing, "pod default/web: grows")
	sluice(t.Context(), "replay", journal).expect(t, exitNothing, "0 differently")
	f.untouched()
}

func TestWithoutRightsSluiceRunsOnAndSaysWhichAreMissing(t *testing.T) {
	status := func(f *farm) string {
		m, ok := kubesim.Find[*corev1.ConfigMap](f.cluster, "kube-system", "cluster-autoscaler-status")
		if !ok {
			return ""
		}
		return m.Data["status"]
	}
	for name, c := range map[string]struct {
		denied, missing string
		said            func(*farm, *running) string
		ready           bool
	}{
		"to write": {
			"Microsoft.Compute/virtualMachineScaleSets/write", "Microsoft.Compute/virtualMachineScaleSets/write",
			func(f *farm, _ *running) string { return status(f) }, true,
		},
		"to read": {
			"Microsoft.Compute/*", "Microsoft.Compute/virtualMachineScaleSets/read",
			func(_ *farm, r *running) string {
				return sluice(t.Context(), "explain", "group", "agents", "--server="+r.address).out
			}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFarm(t)
			f.pod("web")
			must(t, f.azure.Deny(client, c.denied))
			r := f.run("--scan-interval=1s")
			r.until("a word of the right to "+c.missing, func() bool { return strings.Contains(c.said(f, r), c.missing) })
			r.until("a status", func() bool { return strings.Contains(status(f), "name: agents") })
			r.until("/healthz", func() bool { return r.answers("/healthz") })
			if got := r.answers("/readyz"); got != c.ready {
				t.Errorf("/readyz is good: %v, want %v", got, c.ready)
			}
			r.end()
		})
	}
}
